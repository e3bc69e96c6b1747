"""Progress in band: what a stage of a pipeline says behind the rows of each of its batches, in the rows' own topic.

A pipeline is cut into stages that run on different nodes, with a topic between each two. A stage writes the rows of a batch,
and behind them, into every partition of the topic, a punctuation. A reader of one knows of this stage and this partition
that every row which is still to come there is later than `complete`.

Later means later, and not as late: Spark takes a row for late whose time is the watermark itself, but for rows in windows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from headway.model.deadline import Grid
from headway.model.time import EventMs, WallMs
from headway.model.view import DelayView

VERSION = 1

# What is to be done with a batch, given what its stage has in the topic.
WriteVerdict = Literal[
    "write",
    "written",  # this very batch is there already: its writer died before Spark had put that down
    "behind",  # a later batch is there: the checkpoint is older than the topic
    "another",  # a batch of this number is there which has read other rows
]


@dataclass(frozen=True, slots=True)
class UpstreamFlow:
    """What the next stage should know of this one to expect its punctuations: statistics that flow down with them."""

    lag: DelayView | None = None  # from a moment of the stream until the punctuation that is complete up to it is written
    grids: tuple[Grid, ...] = ()  # the moments that the stage sweeps
    delay: DelayView | None = None  # of its own input that is slowest: the network's

    def lag_at(self, moment: EventMs) -> DelayView | None:
        """How long after this moment a punctuation may be expected that is complete up to it.

        A stage with windows of two seconds is complete up to 3 s when it has swept the window that ends at 4 s.
        """
        if self.lag is None:
            return None
        swept = min((grid.after(moment - 1) for grid in self.grids), default=moment)
        return later_by(self.lag, swept - moment)


@dataclass(frozen=True, slots=True)
class Punctuation:
    """Everything of this batch, and of those before it, stands in front of this."""

    stage: str
    lineage: str  # of the stage's checkpoint: Spark's id of the query, which a move and a restart leave as it is
    incarnation: int  # grows whenever another process begins to write for the stage
    batch: int
    planned: str  # what the batch reads, as a digest of Spark's own log: the same batch has the same
    partitions: int  # into so many its rows are spread, and each of them has this punctuation
    at: WallMs  # when it was written, by the writer's clock
    complete: EventMs | None = (
        None  # every row that is still to come is of this time or later; None: nothing is promised yet
    )
    rows: int = 0  # of the batch, in all partitions
    late: int = 0  # of these, rows that break what was promised before them
    flow: UpstreamFlow = UpstreamFlow()

    @property
    def order(self) -> tuple[int, int]:
        """Punctuations of a stage by when they were written."""
        return self.incarnation, self.batch


def verdict(last: Punctuation | None, lineage: str, batch: int, planned: str) -> WriteVerdict:
    """What is to be done with a batch whose stage has written `last` before. The topic decides, and no process's memory.

    Rows and punctuations of a batch come into the topic whole or not at all. Spark runs a batch again whose end it could not
    put down, and then it reads the same. A checkpoint that begins from nothing is another lineage, and writes anew.
    """
    if last is None or last.lineage != lineage or batch > last.batch:
        return "write"
    if batch < last.batch:
        return "behind"
    return "written" if planned == last.planned else "another"


def later_by(delay: DelayView, ms: float) -> DelayView:
    """Everything so much later."""
    return replace(delay, mean_ms=delay.mean_ms + ms, low_ms=delay.low_ms + ms, high_ms=delay.high_ms + ms)


def slowest(delays: Sequence[DelayView | None]) -> DelayView | None:
    """The one that is waited for longest, of those that are known."""
    return max((d for d in delays if d is not None), key=lambda d: d.mean_ms, default=None)
