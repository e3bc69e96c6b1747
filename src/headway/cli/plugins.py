"""Commands that other packages add to `headway`: entry points of the group `headway.commands`, or of a command's own group.

An entry point names a function, which becomes a command, or a Typer application, which becomes a command with commands of
its own. One whose package lacks something says so when it is called, and not before; the extra that brings it stands behind
the entry point, as in `bench = "lab.bench:app [lab]"`.
"""

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points

import typer

from headway.errors import HeadwayError

GROUP = "headway.commands"


def add_to(app: typer.Typer, group: str = GROUP, only: str | None = None) -> None:
    """Add what is installed, in the order of its names; with `only`, no more than that: others take a second to load."""
    every = sorted(entry_points(group=group), key=lambda found: found.name)
    there = {one.name for one in app.registered_commands} | {one.name for one in app.registered_groups}
    for found in [one for one in every if one.name == only] or every:
        if found.name in there:
            continue
        try:
            command = found.load()
        except ModuleNotFoundError as error:
            lacks = error.name or str(error)
            app.command(
                found.name,
                help=f"Not to be had: there is no {lacks}.",
                context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
            )(_without(found, lacks))
            continue
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=found.name)
        else:
            app.command(found.name)(command)


def _without(found: EntryPoint, lacks: str) -> Callable[[], None]:
    def command() -> None:
        wanted = f"{found.dist.name}[{','.join(found.extras)}]" if found.dist is not None and found.extras else ""
        way_out = f": pip install '{wanted}' brings it" if wanted else ""
        raise HeadwayError(f"`{found.name}` needs the package {lacks}, which is not installed{way_out}")

    return command
