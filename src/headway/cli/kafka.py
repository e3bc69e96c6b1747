"""`headway kafka`: a real broker on this machine, for trying things out."""

from pathlib import Path
from typing import Annotated

import typer

from headway.cli import arguments, screen
from headway.cli.local_server import LocalServer
from headway.errors import SettingError
from headway.kafka import broker, jars, topics

app = typer.Typer(help="A real Kafka broker on this machine.", no_args_is_help=True)
BROKER = LocalServer(broker.Broker, "kafka", "broker")


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
    with BROKER.to_be_started():
        if not jars.cached(jars.BROKER):
            screen.err.print("fetching Kafka once, 45 MB", highlight=False)
        started = broker.start(folder, port=port, heap=heap, ends_with_parent=False)
        started.save(BROKER.note)
    screen.out.print(f"Kafka listens on {started.address}, its data and log are in {started.folder}", highlight=False)


@app.command()
def down(keep: Annotated[bool, typer.Option("--keep", help="Leave its data where they are.")] = False) -> None:
    """Stop the broker, and remove its data."""
    BROKER.stop(keep)


@app.command()
def status() -> None:
    """Is the broker running, and what does it hold?"""
    running = BROKER.here()
    size = sum(f.stat().st_size for f in Path(running.folder).rglob("*") if f.is_file())
    screen.out.print(f"Kafka listens on {running.address} (process {running.pid}), {size / 2**20:.0f} MB", highlight=False)
    for topic, parts in topics.listed(running.address).items():
        ends = topics.ends(running.address, topic)
        screen.out.print(f"  {topic}: {parts} partitions, {sum(ends.values()):,} rows", highlight=False)


def address() -> str:
    """Where the broker of `kafka up` listens."""
    if (running := BROKER.running) is None:
        raise SettingError("to", None, "host:port of a broker, or one started with `headway kafka up`")
    return running.address
