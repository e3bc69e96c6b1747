"""`headway top`: the queries of a journal in a terminal."""

from pathlib import Path
from typing import Annotated

import typer

from headway.cli import arguments
from headway.cli.dashboard import TargetOption
from headway.cli.extras import lacks
from headway.dashboard.glance import Glance
from headway.model.time import duration_ms


def top(
    journal: Annotated[Path | None, typer.Argument(help="The journal; the newest of this user unless told.")] = None,
    target: TargetOption = "1 second",
) -> None:
    """Show all queries in this terminal as they run, and why each ran when it did; `?` lists the keys."""
    try:
        from headway.dashboard.terminal import TopScreen
    except ModuleNotFoundError as error:
        raise lacks("top", error) from None
    glance = Glance(arguments.journal(journal), duration_ms("target", target))
    glance.look()
    TopScreen(glance).run()
