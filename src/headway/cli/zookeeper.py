"""`headway zookeeper`: a real server on this machine, for trying out a fleet."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated

import typer

from headway.cli import arguments, screen
from headway.errors import HeadwayError, SettingError
from headway.fleet.zookeeper import server
from headway.fleet.zookeeper.server import ZooKeeperServer
from headway.loop.journal_file import state_folder
from headway.servers.process import alone

app = typer.Typer(help="A real ZooKeeper on this machine.", no_args_is_help=True)


def _note() -> Path:
    """Where `up` writes down what it has started."""
    return state_folder() / "zookeeper.json"


def _alone() -> AbstractContextManager[None]:
    """One `up` or `down` at a time."""
    return alone(_note().with_suffix(".lock"))


@app.command()
def up(
    port: Annotated[int, typer.Option(help="Where it listens, on loopback.")] = 2181,
    heap: Annotated[str, typer.Option(help="Memory of its JVM.")] = "128m",
    tick: Annotated[int, typer.Option(help="Its unit of time in milliseconds; no session is shorter than two.")] = 2_000,
    folder: Annotated[
        Path | None, typer.Option(help="For its data, kept by `down --keep`; a temporary one unless told.")
    ] = None,
) -> None:
    """Start a ZooKeeper (a single server, one JVM) and leave it running."""
    arguments.memory(heap)
    with _alone():
        other = ZooKeeperServer.load(_note())
        if other is not None and other.alive:
            raise HeadwayError(f"a ZooKeeper runs already, on {other.address}: `headway zookeeper down` stops it")
        started = server.start(folder, port=port, heap=heap, tick_ms=tick, ends_with_parent=False)
        started.save(_note())
    screen.out.print(f"ZooKeeper listens on {started.address}, its data and log are in {started.folder}", highlight=False)


@app.command()
def down(keep: Annotated[bool, typer.Option("--keep", help="Leave its data where they are.")] = False) -> None:
    """Stop the server, and remove its data."""
    with _alone():
        running = ZooKeeperServer.load(_note())
        if running is None:
            raise HeadwayError("no server of `headway zookeeper up` is known: there is nothing to stop")
        was = running.alive
        running.stop(keep=keep)
        _note().unlink(missing_ok=True)
    kept = f", its data are in {running.folder}" if keep else ""
    screen.out.print(f"{'stopped' if was else 'it had ended already'}{kept}", highlight=False)


@app.command()
def status() -> None:
    """Is the server running, and what does it hold?"""
    running = ZooKeeperServer.load(_note())
    if running is None or not running.alive:
        screen.out.print("no ZooKeeper runs: `headway zookeeper up` starts one", highlight=False)
        raise typer.Exit(1)
    said = running.told()
    if not said:
        screen.out.print(f"ZooKeeper is on {running.address} (process {running.pid}), but does not serve", highlight=False)
        raise typer.Exit(1)
    screen.out.print(
        f"ZooKeeper {said.get('Zookeeper version', '').partition('-')[0]} listens on {running.address} "
        f"(process {running.pid}): {said.get('Node count', '?')} nodes, {said.get('Connections', '?')} connections",
        highlight=False,
    )


def address() -> str:
    """Where the server of `zookeeper up` listens."""
    running = ZooKeeperServer.load(_note())
    if running is None or not running.alive:
        raise SettingError("zookeeper", None, "host:port of a ZooKeeper, or one started with `headway zookeeper up`")
    return running.address
