"""`headway bench chaos`: faults of all kinds, mixed, at random moments; no row may be lost or counted twice."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from headway.cli import arguments
from headway.errors import SettingError
from headway_lab.experiments.chaos.faults import KINDS
from headway_lab.experiments.chaos.plan import ChaosPlan
from headway_lab.experiments.chaos.run import EXPERIMENT, FINISH_S, ChaosOutcome, FaultRecord
from headway_lab.experiments.chaos.run import chaos as play
from headway_lab.harness import screen
from headway_lab.harness.children import recovery_figures
from headway_lab.harness.ledger import LEDGER, Ledger
from headway_lab.harness.options import FolderOption, LedgerOption


def chaos(
    faults: Annotated[int, typer.Option(help="How many faults.")] = 300,
    seed: Annotated[int, typer.Option(help="Decides which, and when.")] = 1,
    kinds: Annotated[str, typer.Option(help="Which kinds, with commas between them; all unless told.")] = "",
    folder: FolderOption = None,
    ledger: LedgerOption = LEDGER,
) -> None:
    """Break one thing after the other under running queries, and compare what came out with the truth."""
    arguments.at_least("faults", faults, 1)
    wanted = [kind.strip() for kind in kinds.split(",") if kind.strip()] or list(KINDS)
    for kind in wanted:
        if kind not in KINDS:
            raise SettingError("kinds", kind, f"some of {', '.join(KINDS)}")
    with screen.ProgressBar([30.0] + [8.0] * faults + [10.0 + FINISH_S]) as bar:
        bar.begin("first run")

        def happened(number: int, last: FaultRecord | None) -> None:
            bar.end()
            bar.begin(f"{number} of {faults} faults" + ("" if last is None else f", {in_words(last)}"))

        outcome = play(faults, seed, wanted, bar.say, happened, folder)
    setting = {"faults": faults, "queries": 5, "rate": ChaosPlan.rate, "kinds": sorted(set(wanted) - set(outcome.left_out))}
    figures = asdict(outcome.tally) | {
        "stuck": outcome.stuck,
        "late": outcome.late,
        "unkept": outcome.unkept,
        "wrong": outcome.wrong,
    }
    figures |= {"left_out": outcome.left_out, "by_kind": {kind: figures_of(of) for kind, of in by_kind(outcome).items()}}
    Ledger(ledger).append(EXPERIMENT, "klink", setting, seed, figures)
    screen.out.print(_table(outcome))
    screen.out.print(
        f"{faults} faults, {outcome.tally.words}, {outcome.stuck} times stuck; {outcome.late:,} late rows kept,"
        f" {outcome.unkept:,} counted as not kept",
        highlight=False,
    )
    if outcome.left_out:
        screen.out.print(f"not done on this machine: {', '.join(outcome.left_out)}", highlight=False)
    if outcome.wrong:
        raise typer.Exit(1)


def in_words(last: FaultRecord) -> str:
    went_on = "stuck" if last.recovered_s is None else f"on again after {last.recovered_s:.1f} s"
    return f"{last.kind} for {last.lasted_s:.1f} s, {went_on}"


def by_kind(outcome: ChaosOutcome) -> dict[str, list[FaultRecord]]:
    return {kind: of for kind in KINDS if (of := [h for h in outcome.happened if h.kind == kind])}


def figures_of(of: Sequence[FaultRecord]) -> dict[str, float]:
    """The figures of one kind."""
    went_on = [h.recovered_s for h in of if h.recovered_s is not None]
    return {
        "times": len(of),
        "windows": sum(h.windows for h in of),
        **recovery_figures(went_on),
        "stuck": len(of) - len(went_on),
    }


def _table(outcome: ChaosOutcome) -> Table:
    made = Table(box=box.SIMPLE_HEAD)
    made.add_column("fault")
    for head in ("times", "windows meanwhile", "recovery s", "worst", "stuck"):
        made.add_column(head, justify="right")
    for kind, of in by_kind(outcome).items():
        f = figures_of(of)
        cells = (f"{f['times']}", f"{f['windows']:,}", f"{f['recovery_s']:.1f}", f"{f['worst_s']:.1f}", f"{f['stuck']}")
        made.add_row(kind, *cells)
    return made
