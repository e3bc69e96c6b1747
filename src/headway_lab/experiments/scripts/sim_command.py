"""`headway sim scripts`: random bad days in virtual time, judged by what users were promised."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from headway.cli import arguments
from headway.errors import SettingError
from headway_lab.experiments.scripts.virtual import laws, making, script
from headway_lab.experiments.scripts.virtual.run import SweepTally, judged, smallest, sweep
from headway_lab.experiments.scripts.virtual.script import moment
from headway_lab.experiments.scripts.virtual.trace import SourceLook
from headway_lab.harness import law_sweep, screen
from headway_lab.harness.ledger import LEDGER, Ledger
from headway_lab.harness.options import LedgerOption

EXPERIMENT = "scripts"
A_SCRIPT_S = 0.1


def scripts(
    count: Annotated[int, typer.Option(help="How many scripts.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Another seed, other scripts.")] = 1,
    first: Annotated[int, typer.Option(help="The number of the first.")] = 0,
    jobs: Annotated[int | None, typer.Option(help="Processes; as many as there are cores unless told.")] = None,
    replay: Annotated[Path | None, typer.Option(help="Play this script instead, and say what was wrong.")] = None,
    out: Annotated[Path, typer.Option(help="Where the smallest script that breaks a law goes.")] = Path(
        "headway-script.json"
    ),
    ledger: LedgerOption = LEDGER,
) -> None:
    """The real controller and control source around a model of Spark, through crashes, stalls, clock steps and bad rows.

    After every script the laws of `docs/semantics.md` are checked: no row lost that the contract does not name, none
    doubled, none uncounted, nothing swept too soon, no query stuck. Exit code 1 if one of them was broken.
    """
    if replay is not None:
        _replay(replay)
        return
    arguments.at_least("count", count, 1)
    arguments.at_least("first", first, 0)
    arguments.new_file("out", out)
    tally = SweepTally()
    cores = arguments.cores(jobs)
    law_sweep.with_bar(
        tally, f"seed {seed}, script", range(first, first + count), A_SCRIPT_S,
        lambda numbers: sweep(seed, numbers, cores),
    )  # fmt: skip
    screen.out.print(_table(tally))
    figures = {
        "scripts": tally.plays, "rows": tally.rows, "batches": tally.batches, "refused": tally.refused,
        "violations": len(tally.bad), "laws": dict(tally.laws),
    }  # fmt: skip
    Ledger(ledger).append(EXPERIMENT, "all", {"count": count, "first": first}, seed, figures, kind="sim")
    if tally.bad:
        _keep(tally, seed, out)
        raise typer.Exit(1)
    screen.out.print(f"{tally.plays:,} scripts, {tally.refused:,} rows refused: all as the contract says", highlight=False)


def _replay(path: Path) -> None:
    if not path.is_file():
        raise SettingError("replay", str(path), "a file with a script")
    trace, found = judged(script.from_json(path.read_text("utf-8")))
    for name, history in trace.queries.items():
        for look in history.looks:
            screen.out.print(_line(name, look), highlight=False, soft_wrap=True)
    for violation in found:
        screen.out.print(f"{violation.law}: {violation.query}: {violation.says}", style="bold red", soft_wrap=True)
    if found:
        raise typer.Exit(1)
    screen.out.print("no law was broken")


def _line(name: str, look: SourceLook) -> str:
    """One look in words."""
    rows = ", ".join(f"{len(rows)} of {label}" for label, rows in look.read.items())
    words = [
        f"{moment(look.granted_at):>9} {name}",
        f"batch {look.batch}" if look.batch is not None else "nothing to do",
        rows,
    ]
    if look.announced is not None:
        words.append(f"announces {moment(look.announced)}")
    if look.ran is not None:
        words.append(
            f"refuses to {moment(max(look.ran.late, script.BASE))}, sweeps {moment(max(look.ran.swept, script.BASE))}"
        )
        words += [f"refused {len(look.ran.refused)}"] if look.ran.refused else []
    return "; ".join(words + ([] if look.gated else ["without a gate"]))


def _keep(tally: SweepTally, seed: int, out: Path) -> None:
    """Make the first bad script as small as it gets, and write it down with the reason."""
    number, found = tally.bad[0]
    small = smallest(making.script(seed, number), found[0].law)
    law_sweep.keep(
        small, tally, judged(small)[1], out, EXPERIMENT, "script", lambda one: f"{one.law}: {one.query}: {one.says}"
    )


def _table(tally: SweepTally) -> Table:
    title = f"{tally.plays:,} scripts, {tally.batches:,} batches, {tally.rows:,} rows"
    return law_sweep.table(tally, title, "script", laws.NAMES)
