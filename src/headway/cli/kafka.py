"""`headway kafka`: a real broker on this machine, for trying things out."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated

import typer

from headway.cli import arguments, screen
from headway.errors import HeadwayError, SettingError
from headway.kafka import broker, jars, topics
from headway.loop.journal_file import state_folder
from headway.servers.process import alone

app = typer.Typer(help="A real Kafka broker on this machine.", no_args_is_help=True)


def _note() -> Path:
    """Where `up` writes down what it has started."""
    return state_folder() / "kafka.json"


def _alone() -> AbstractContextManager[None]:
    """One `up` or `down` at a time."""
    return alone(_note().with_suffix(".lock"))


@app.command()
def up(
    port: Annotated[int, typer.Option(help="Where it listens, on loopback.")] = 9092,
    heap: Annotated[str, typer.Option(help="Memory of its JVM.")] = "256m",
    folder: Annotated[
        Path | None, typer.Option(help="For its data, kept by `down --keep`; a temporary one unless told.")
    ] = None,
) -> None:
    """Start a broker (Kafka 4, KRaft, one JVM) and leave it running."""
    arguments.memory(heap)
    with _alone():
        other = broker.Broker.load(_note())
        if other is not None and other.alive:
            raise HeadwayError(f"a broker runs already, on {other.address}: `headway kafka down` stops it")
        if not jars.cached(jars.BROKER):
            screen.err.print("fetching Kafka once, 45 MB", highlight=False)
        started = broker.start(folder, port=port, heap=heap, ends_with_parent=False)
        started.save(_note())
    screen.out.print(f"Kafka listens on {started.address}, its data and log are in {started.folder}", highlight=False)


@app.command()
def down(keep: Annotated[bool, typer.Option("--keep", help="Leave its data where they are.")] = False) -> None:
    """Stop the broker, and remove its data."""
    with _alone():
        running = broker.Broker.load(_note())
        if running is None:
            raise HeadwayError("no broker of `headway kafka up` is known: there is nothing to stop")
        was = running.alive
        running.stop(keep=keep)
        _note().unlink(missing_ok=True)
    kept = f", its data are in {running.folder}" if keep else ""
    screen.out.print(f"{'stopped' if was else 'it had ended already'}{kept}", highlight=False)


@app.command()
def status() -> None:
    """Is the broker running, and what does it hold?"""
    running = broker.Broker.load(_note())
    if running is None or not running.alive:
        screen.out.print("no broker runs: `headway kafka up` starts one", highlight=False)
        raise typer.Exit(1)
    size = sum(f.stat().st_size for f in Path(running.folder).rglob("*") if f.is_file())
    screen.out.print(f"Kafka listens on {running.address} (process {running.pid}), {size / 2**20:.0f} MB", highlight=False)
    for topic, parts in topics.listed(running.address).items():
        ends = topics.ends(running.address, topic)
        screen.out.print(f"  {topic}: {parts} partitions, {sum(ends.values()):,} rows", highlight=False)


def address() -> str:
    """Where the broker of `kafka up` listens."""
    running = broker.Broker.load(_note())
    if running is None or not running.alive:
        raise SettingError("to", None, "host:port of a broker, or one started with `headway kafka up`")
    return running.address
