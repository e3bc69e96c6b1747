"""What really happened in a script: every row, every look at the sources, every batch. The laws read this and nothing else.

Moments are in true time (`BASE` + what the monotonic clock says); what the wall clock said is beside them where it matters.
"""

from dataclasses import dataclass, field

from headway.model.offset import ControlOffset
from headway_lab.experiments.scripts.virtual.engine import BatchResult, SparkQuery
from headway_lab.experiments.scripts.virtual.script import Script, ScriptQuery


@dataclass(frozen=True, slots=True, eq=False)
class ArrivedRow:
    """A row of the script."""

    key: int
    query: str
    input: str
    at: int  # when the source had it
    event: int | None
    kind: str  # of the action that it came from


@dataclass(slots=True, eq=False)
class SourceLook:
    """A query was let through and asked its sources: a batch followed, or there was nothing to do."""

    query: ScriptQuery  # its settings then
    run: int  # counts from 1 with every start of the query
    at: int  # when the sources were asked
    granted_at: int  # the same but for sources that are asked before the gate
    wall: int  # the batch's timestamp
    read: dict[str, list[ArrivedRow]]
    taken: dict[str, list[ArrivedRow]]  # of those, the ones that were not set aside as future
    start: ControlOffset
    end: ControlOffset
    gated: bool
    left: bool = False  # a source had more
    batch: int | None = None
    ran: BatchResult | None = None
    done_at: int | None = None  # committed
    done_run: int = 0  # by which run: another than `run` if it died before
    told_at: int | None = None  # reported to a controller that lived

    @property
    def announced(self) -> int | None:
        return self.end.wm if self.end.wm > self.start.wm else None


@dataclass
class QueryTrace:
    """What is written down of one query."""

    spark: SparkQuery
    rows: dict[str, list[ArrivedRow]]  # by input, in the order in which its source has them
    looks: list[SourceLook] = field(default_factory=list)
    away: list[tuple[int, int]] = field(default_factory=list)  # down, or without a controller: from, to
    anew: list[int] = field(default_factory=list)  # when a controller was told of it that knew nothing of its rows
    ended: bool = False  # a bounded run is over
    last: ScriptQuery = field(default_factory=ScriptQuery)  # its settings at the end
    starts: list[int] = field(default_factory=list)

    @property
    def batches(self) -> list[SourceLook]:
        """In the order of the log, those that were committed."""
        return [look for look in self.looks if look.done_at is not None]

    @property
    def reported(self) -> list[SourceLook]:
        """Those of the batches that a controller was told of."""
        return [look for look in self.batches if look.told_at is not None]


@dataclass
class ScriptTrace:
    """Everything about one script."""

    script: Script
    queries: dict[str, QueryTrace]
    steps: list[tuple[int, int]] = field(default_factory=list)  # when the wall clock was set, and how far off it was then
    counted: dict[tuple[str, str], dict[str, int]] = field(default_factory=dict)  # by query and input: reason -> rows
    raised: list[str] = field(default_factory=list)
    end: int = 0

    def wall_off(self, at: int) -> int:
        """How far the wall clock was ahead of true time."""
        return next((off for since, off in reversed(self.steps) if since <= at), 0)
