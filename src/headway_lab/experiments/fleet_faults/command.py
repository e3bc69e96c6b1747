"""`headway bench fleet-faults`: parts of a live fleet die, freeze or are cut off; no window is lost, doubled or wrong."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from statistics import median
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table

from headway.cli import arguments
from headway.errors import SettingError
from headway_lab.experiments.fleet_faults.faults import FAULTS
from headway_lab.experiments.fleet_faults.queries import FleetFaultPlan
from headway_lab.experiments.fleet_faults.run import EXPERIMENT, LiveFault
from headway_lab.experiments.fleet_faults.run import fleet_faults as play
from headway_lab.experiments.fleet_faults.trial_fleet import NODES
from headway_lab.harness import screen
from headway_lab.harness.children import recovery_figures
from headway_lab.harness.file_sink import SinkTally
from headway_lab.harness.ledger import LEDGER, Ledger
from headway_lab.harness.options import FolderOption, LedgerOption, SeedOption

POLICY = "never-move"  # of placement: what moves is moved on purpose


def fleet_faults(
    times: Annotated[int, typer.Option(help="How often each.")] = 20,
    faults: Annotated[str, typer.Option(help="Which, with commas between them; all unless told.")] = "",
    seed: SeedOption = 1,
    folder: FolderOption = None,
    ledger: LedgerOption = LEDGER,
) -> None:
    """Kill, freeze and cut off parts of a real fleet under load, and compare what came out with the truth."""
    arguments.at_least("times", times, 1)
    kinds = [kind.strip() for kind in faults.split(",") if kind.strip()] or list(FAULTS)
    for kind in kinds:
        if kind not in FAULTS:
            raise SettingError("faults", kind, f"some of {', '.join(FAULTS)}")
    with screen.ProgressBar([60.0] + [25.0] * times * len(kinds)) as bar:
        bar.begin("a fleet, and the first windows")
        done = [0]

        def happened(last: LiveFault | None) -> None:
            bar.end()
            done[0] += last is not None
            bar.begin(f"{done[0]} of {times * len(kinds)} faults" + ("" if last is None else f", {in_words(last)}"))

        outcome = play(kinds, times, seed, bar.say, happened, folder)
    by_kind = {kind: of for kind in kinds if (of := [one for one in outcome.happened if one.kind == kind])}
    for kind, of in by_kind.items():
        load = {"queries": FleetFaultPlan.queries, "rate": FleetFaultPlan.rate, "nodes": len(NODES)}
        setting = {"fault": kind, "times": len(of), **load}
        Ledger(ledger).append(EXPERIMENT, POLICY, setting, seed, figures_of(of))
    screen.out.print(_table(by_kind))
    for kind in outcome.left_out:
        screen.out.print(f"{kind}: skipped, this user may have no network of its own", highlight=False)
    for one in outcome.happened:
        if one.trouble:
            screen.out.print(f"{one.kind}, {one.how}: {one.trouble}", highlight=False, markup=False)
    if outcome.wrong:
        raise typer.Exit(1)


def in_words(last: LiveFault) -> str:
    went_on = "stuck" if last.recovered_s is None else f"on again after {last.recovered_s:.1f} s"
    more = "" if last.takeover_s is None else f", a primary after {last.takeover_s:.1f} s"
    moved = f", the move: {last.outcome}" if last.outcome else ""
    wrong = f", {last.wrong} WRONG" if last.wrong else ""
    return f"{last.kind} ({last.how}), {went_on}{more}{moved}{wrong}"


def figures_of(of: Sequence[LiveFault]) -> dict[str, Any]:
    """The figures of one kind, for the ledger."""
    took = [one.takeover_s for one in of if one.takeover_s is not None]
    return {
        "wrong": sum(one.wrong for one in of),
        **asdict(sum((one.tally for one in of), SinkTally())),
        "stuck": sum(one.recovered_s is None for one in of),
        "zombie_writes": sum(one.zombie_writes for one in of),
        "refused": sum(one.refused for one in of),
        **recovery_figures([one.recovered_s for one in of if one.recovered_s is not None]),
        **({"takeover_s": round(median(took), 2), "takeover_worst_s": round(max(took), 2)} if took else {}),
        "recoveries_s": [one.recovered_s for one in of],
        "how": dict(Counter(one.how for one in of)),
        "outcomes": dict(Counter(one.outcome.partition(":")[0] for one in of if one.outcome)),
        "troubles": [one.trouble for one in of if one.trouble],
    }


def _table(by_kind: dict[str, list[LiveFault]]) -> Table:
    made = Table(box=box.SIMPLE_HEAD)
    made.add_column("fault")
    for head in ("times", "windows", "missing", "twice", "wrong", "zombies", "refused", "stuck", "recovery s", "worst"):
        made.add_column(head, justify="right")
    made.add_column("new primary s", justify="right")
    for kind, of in by_kind.items():
        f = figures_of(of)
        counts = [f[name] for name in ("windows", "missing", "twice", "miscounted", "zombie_writes", "refused", "stuck")]
        took = f"{f['takeover_s']:.1f}, {f['takeover_worst_s']:.1f}" if "takeover_s" in f else ""
        made.add_row(kind, *(f"{n:,}" for n in (len(of), *counts)), f"{f['recovery_s']:.1f}", f"{f['worst_s']:.1f}", took)
    return made
