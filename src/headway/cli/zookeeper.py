"""`headway zookeeper`: a real server on this machine, for trying out a fleet."""

from pathlib import Path
from typing import Annotated

import typer

from headway.cli import arguments, screen
from headway.cli.local_server import LocalServer
from headway.errors import SettingError
from headway.fleet.zookeeper import server
from headway.fleet.zookeeper.server import ZooKeeperServer

app = typer.Typer(help="A real ZooKeeper on this machine.", no_args_is_help=True)
SERVER = LocalServer(ZooKeeperServer, "zookeeper", "ZooKeeper")


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
    with SERVER.to_be_started():
        started = server.start(folder, port=port, heap=heap, tick_ms=tick, ends_with_parent=False)
        started.save(SERVER.note)
    screen.out.print(f"ZooKeeper listens on {started.address}, its data and log are in {started.folder}", highlight=False)


@app.command()
def down(keep: Annotated[bool, typer.Option("--keep", help="Leave its data where they are.")] = False) -> None:
    """Stop the server, and remove its data."""
    SERVER.stop(keep)


@app.command()
def status() -> None:
    """Is the server running, and what does it hold?"""
    running = SERVER.here()
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
    if (running := SERVER.running) is None:
        raise SettingError("zookeeper", None, "host:port of a ZooKeeper, or one started with `headway zookeeper up`")
    return running.address
