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
from headway_lab.experiments.moves.run import ScheduleTally, plainest, play_many
from headway_lab.harness import law_sweep, screen
from headway_lab.harness.ledger import LEDGER, Ledger
from headway_lab.harness.options import LedgerOption

EXPERIMENT = "moves"
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
    tally = ScheduleTally()
    cores = arguments.cores(jobs)
    law_sweep.with_bar(
        tally, f"seed {seed}, schedule", range(first, first + count), A_SCHEDULE_S,
        lambda numbers: play_many(seed, numbers, cores),
    )  # fmt: skip
    screen.out.print(_table(tally))
    figures = {
        "schedules": tally.plays, "batches": tally.batches, "violations": len(tally.bad), "laws": dict(tally.laws),
        "outcomes": dict(tally.outcomes), **tally.sums,
    }  # fmt: skip
    Ledger(ledger).append(EXPERIMENT, "all", {"count": count, "first": first}, seed, figures, kind="sim")
    if tally.bad:
        _keep(tally, seed, out)
        raise typer.Exit(1)
    screen.out.print(f"{tally.plays:,} schedules, {tally.batches:,} batches: none lost, none doubled", highlight=False)


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
    law_sweep.keep(small, tally, judged(small)[1], out, EXPERIMENT, "schedule", lambda one: f"{one.law}: {one.says}")


def _table(tally: ScheduleTally) -> Table:
    counted = [(f"moves: {name}", times) for name, times in sorted(tally.outcomes.items())]
    counted += [(name.replace("_", " "), times) for name, times in sorted(tally.sums.items())]
    title = f"{tally.plays:,} schedules, {tally.batches:,} batches"
    return law_sweep.table(tally, title, "schedule", fault_laws.NAMES, counted)
