"""A piece of a geo pipeline: stages fused at one site that run as one streaming query, and the topics between pieces."""

from dataclasses import dataclass

from headway.model.time import EventMs


@dataclass(frozen=True, slots=True)
class Channel:
    """A topic between two pieces, at the broker of the site that writes it."""

    site: str
    topic: str


@dataclass(frozen=True, slots=True)
class Piece:
    """What one streaming query of one site does. Who starts it needs no more than this, and the job."""

    pipeline: str
    plan: str  # one of the logical plans of the job's query
    generation: int  # of the pipeline: each deployment that replaces whole plans has its own pieces and topics
    name: str  # of the streaming query
    site: str
    stages: tuple[str, ...]  # in the order in which rows pass them
    reads: tuple[Channel, ...] = ()  # empty: it begins with a source, and reads that source's own topic at its site
    writes: tuple[Channel, ...] = ()  # one for each part of the stage that follows; empty: it puts results into the sink
    part: int = 0  # of the keys,
    parts: int = 1  # which are divided into so many
    tasks: int = 1  # partitions of its state
    since: EventMs | None = None  # rows before that are none of its business
