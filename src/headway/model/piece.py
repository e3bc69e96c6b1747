"""A piece of a geo pipeline: stages fused at one site that run as one streaming query, and the topics between pieces."""

from dataclasses import dataclass

from headway.model.time import EventMs


@dataclass(frozen=True, slots=True)
class Channel:
    """A topic between two pieces, and the site whose broker has it."""

    topic: str
    site: str
    writer: str  # the piece that writes it

    @property
    def progress(self) -> str:
        """The topic beside it that says how far it is complete."""
        return f"{self.topic}.progress"


@dataclass(frozen=True, slots=True)
class Piece:
    """What one streaming query of one site does. To start it takes no more than this, and the job."""

    name: str  # of the streaming query
    plan: str  # one of the logical plans of the job's query
    generation: int  # of the pipeline: a change of the plan begins with new pieces and topics
    site: str
    stages: tuple[str, ...]  # in the order in which rows pass them
    reads: tuple[Channel, ...] = ()  # empty: it begins with a source, and reads that source's own topic at its site
    writes: tuple[Channel, ...] = ()  # one for each part of the keys; empty: it puts results into the sink
    part: int = 0  # of the tasks of its last stage
    since: EventMs | None = None  # rows before that are none of its business
