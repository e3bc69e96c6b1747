"""`headway kafka replay`: producers that replay streams into a broker."""

from typing import Annotated

import typer

from headway.cli import kafka
from headway.kafka import topics
from headway.sim import delays
from headway_lab.harness import screen
from headway_lab.harness.options import SeedOption
from headway_lab.workloads import feeds
from headway_lab.workloads.replay import ReplayProgress, replay
from headway_lab.workloads.wall_clock import now_ms

LEAD_MS = 1_000  # a stream begins so long after now: the producer must be ready


def send(  # an argument for each option of the command
    feed: Annotated[str, typer.Argument(help=f"Which stream: {', '.join(feeds.FEEDS)}.")],
    topic: Annotated[str | None, typer.Option(help="Named as the stream unless told; made if it is not there.")] = None,
    to: Annotated[str | None, typer.Option("--to", help="host:port of a broker; the one of `kafka up` unless told.")] = None,
    seconds: Annotated[int, typer.Option(help="How long.")] = 60,
    rate: Annotated[int, typer.Option(help="Rows a second, of a generated stream.")] = 1_000,
    speed: Annotated[float, typer.Option(help="Of a recorded stream, compared with how it happened.")] = 1.0,
    delay: Annotated[str, typer.Option(help="How long rows are held back, beyond what was recorded.")] = "constant:0",
    partitions: Annotated[int, typer.Option(help="Of the topic, if it is made.")] = 1,
    seed: SeedOption = 1,
    base: Annotated[
        int | None, typer.Option(help="When its first event happens, in epoch ms; in a second unless told.")
    ] = None,
) -> None:
    """Replay a stream into a topic, row by row at its own time, as if it happened now."""
    address = to or kafka.address()
    wanted = feeds.ReplayRequest(
        base if base is not None else now_ms() + LEAD_MS, seconds, rate, speed, delays.parse(delay), seed
    )
    pieces = feeds.feed_named(feed, wanted)
    name = topic or feed
    if name not in topics.listed(address):
        topics.create(address, name, partitions)
    with screen.ProgressBar([seconds]) as bar:
        bar.begin(f"{feed} into {name}")

        def show_progress(sent: ReplayProgress) -> None:
            bar.say(f"{sent.rows:,} rows", 0.0)

        sent = replay(pieces, address, name, show_progress)
    screen.out.print(f"{sent.rows:,} rows into {name}, at most {sent.most_behind_ms} ms behind their time", highlight=False)
