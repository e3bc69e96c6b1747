"""`headway sim moves`: random schedules of moves and faults in virtual time, judged by what users were promised."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from headway.cli import arguments
from headway.errors import SettingError
from headway.sim.fleet_faults import fault_laws
from headway.sim.fleet_faults.fault_laws import judged
from headway.sim.fleet_faults.making import fleet_schedule
from headway.sim.fleet_faults.schedule import from_json
from headway_lab.experiments.moves.run import CHUNK, ScheduleTally, plainest, play_many
from headway_lab.harness import screen
from headway_lab.harness.ledger import LEDGER, Ledger
from headway_lab.harness.options import LedgerOption

EXPERIMENT = "moves"
SHOWN = 3  # broken laws in words
STEPS = 20  # of the bar
A_SCHEDULE_S = 0.05


def moves(
    count: Annotated[int, typer.Option(help="How many schedules.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Another seed, other schedules.")] = 1,
    first: Annotated[int, typer.Option(help="The number of the first.")] = 0,
    jobs: Annotated[int | None, typer.Option(help="Processes; as many as there are cores unless told.")] = None,
    replay: Annotated[Path | None, typer.Option(help="Play this schedule instead, and say what was wrong.")] = None,
    out: Annotated[Path, typer.Option(help="Where the plainest schedule that breaks a law goes.")] = Path(
        "headway-schedule.json"
    ),
    ledger: LedgerOption = LEDGER,
) -> None:
    """The real orchestrator and protocol of moves around models of nodes, store, network and disks, which fail.

    Nodes and orchestrators die, stand still past their leases, are cut off; the store is away; messages are lost, doubled
    and late; targets cannot run what they are given.
    In every schedule: no batch lost or doubled, one incarnation and one leader
    count, every query runs again, every move ends, no folder goes too soon. Exit code 1 if one of these was broken.
    """
    if replay is not None:
        _replay(replay)
        return
    arguments.at_least("count", count, 1)
    arguments.at_least("first", first, 0)
    arguments.new_file("out", out)
    tally, last = ScheduleTally(), first + count
    starts = range(first, last, max(CHUNK, -(-count // STEPS)))
    with screen.ProgressBar([A_SCHEDULE_S * starts.step] * len(starts)) as bar:
        for start in starts:
            bar.begin(f"seed {seed}, schedule {start:,}, {len(tally.bad):,} have broken a law")
            for part in play_many(seed, range(start, min(last, start + starts.step)), arguments.cores(jobs)):
                tally.join(part)
            bar.end()
    screen.out.print(_table(tally))
    figures = {
        "schedules": tally.schedules, "batches": tally.batches, "violations": len(tally.bad), "laws": dict(tally.laws),
        "outcomes": dict(tally.outcomes), **tally.sums,
    }  # fmt: skip
    Ledger(ledger).append(EXPERIMENT, "all", {"count": count, "first": first}, seed, figures, kind="sim")
    if tally.bad:
        _keep(tally, seed, out)
        raise typer.Exit(1)
    screen.out.print(f"{tally.schedules:,} schedules, {tally.batches:,} batches: none lost, none doubled", highlight=False)


def _replay(path: Path) -> None:
    if not path.is_file():
        raise SettingError("replay", str(path), "a file with a schedule")
    world, broken = judged(from_json(path.read_text("utf-8")))
    for write in world.store.applied:
        screen.out.print(f"{write.at:>7,} leader {write.leader}: {write.record}", highlight=False, soft_wrap=True)
    for one in broken:
        screen.out.print(f"{one.law}: {one.says}", style="bold red", soft_wrap=True)
    if broken:
        raise typer.Exit(1)
    screen.out.print("no law was broken")


def _keep(tally: ScheduleTally, seed: int, out: Path) -> None:
    """Make the first bad schedule as plain as it gets, and write it down with the reason."""
    number, broken = tally.bad[0]
    small = plainest(fleet_schedule(seed, number), broken[0].law)
    out.write_text(small.as_json(), "utf-8")
    for n, found in tally.bad[:SHOWN]:
        screen.out.print(f"schedule {n}: {found[0].law}: {found[0].says}", highlight=False, soft_wrap=True)
    after = next((one.says for one in judged(small)[1] if one.law == broken[0].law), "")
    screen.out.print(f"\n{small.as_json()}{broken[0].law}: {after}", highlight=False, soft_wrap=True)
    screen.out.print(f"Schedule {number}, made plain: {out}; `headway sim moves --replay {out}` plays it", soft_wrap=True)


def _table(tally: ScheduleTally) -> Table:
    made = Table(title=f"{tally.schedules:,} schedules, {tally.batches:,} batches", title_justify="left")
    for head in ("what happens", "times", "schedules with it", "of them broke a law"):
        made.add_column(head, justify="left" if head == "what happens" else "right")
    for kind, times in sorted(tally.actions.items()):
        made.add_row(kind, f"{times:,}", f"{tally.touched[kind]:,}", f"{tally.broke[kind]:,}")
    made.add_section()
    for name, times in sorted(tally.outcomes.items()):
        made.add_row(f"moves: {name}", f"{times:,}")
    for name, times in sorted(tally.sums.items()):
        made.add_row(name.replace("_", " "), f"{times:,}")
    made.add_section()
    for law in fault_laws.NAMES:
        made.add_row(law.replace("_", " "), "", "", f"{tally.laws[law]:,}")
    return made
