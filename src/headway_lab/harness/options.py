"""Options that many commands of the laboratory have, each described once."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from headway.cli import arguments
from headway.errors import SettingError

# ---- what is measured, and for how long
PoliciesOption = Annotated[str, typer.Option(help="Policies, with commas between them.")]
QueriesOption = Annotated[int, typer.Option(help="Number of queries.")]
RateOption = Annotated[int, typer.Option(help="Events per second and query.")]
DelayOption = Annotated[str, typer.Option(help="uniform:LOW:HIGH, zipf:EXPONENT:MAX, gamma:SHAPE:SCALE ...")]
PatienceOption = Annotated[int | None, typer.Option(help="Patience in ms; as long as the longest delay unless told.")]
SecondsOption = Annotated[int, typer.Option(help="Measured seconds per policy.")]
SettleOption = Annotated[int, typer.Option(help="Seconds before that, not measured.")]
WarmOption = Annotated[float, typer.Option("--warm", help="At most so many seconds of warm-up.")]
SeedsInTurnOption = Annotated[str, typer.Option(help="Seeds; for each one, all policies take their turn.")]
SeedOption = Annotated[int, typer.Option(help="Decides what is drawn by chance.")]

# ---- where results go
LedgerOption = Annotated[Path, typer.Option(help="The file that results are appended to.")]
ResumeOption = Annotated[bool, typer.Option(help="Pass over what this commit has in the ledger already.")]
FolderOption = Annotated[Path | None, typer.Option(help="Where to keep what the run leaves behind, logs and all.")]

# ---- the machine
MemoryOption = Annotated[str, typer.Option(help="Memory of the driver.")]
CoresOption = Annotated[int | None, typer.Option(help="Cores for Spark; all of them unless told.")]


def at_least(least: float, **options: float) -> None:
    """Raise unless each of these options is `least` or more."""
    for name, value in options.items():
        arguments.at_least(name, value, least)


def some_of(key: str, text: str, known: Sequence[str]) -> list[str]:
    """Names with commas between them, each once. Raises for none, and for one that nobody knows."""
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names or not set(names) <= set(known):
        raise SettingError(key, text, f"some of {', '.join(known)}")
    return list(dict.fromkeys(names))


def help_without_a_command(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
