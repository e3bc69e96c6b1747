"""What the world tells the controller."""

from dataclasses import dataclass

from headway.model.deadline import Deadlines
from headway.model.time import EventMs, WallMs


@dataclass(frozen=True, slots=True)
class InputSpec:
    """A watermarked input as the user declared it."""

    name: str
    patience_ms: int
    idle_after_ms: int = 10_000
    limited: bool = False  # the source hands out its backlog in portions, so a batch may leave arrived rows behind


@dataclass(frozen=True, slots=True)
class QuerySpec:
    """A query as it was started."""

    name: str
    inputs: tuple[InputSpec, ...]
    deadlines: Deadlines
    ahead: bool  # every source is asked after the gate


@dataclass(frozen=True, slots=True)
class Started:
    spec: QuerySpec


@dataclass(frozen=True, slots=True)
class Asked:
    """A query stands at the gate; its last batch, if any, is done."""

    query: str
    start: dict[str, int]


@dataclass(frozen=True, slots=True)
class Gone:
    """A query's control source has hung up: the query was stopped or has failed."""

    query: str


@dataclass(frozen=True, slots=True)
class InputSeen:
    """What one batch read from one input, before any aggregation."""

    name: str
    rows: int
    newest: EventMs | None = None
    oldest: EventMs | None = None
    delays: tuple[tuple[float, float], ...] = ()  # histogram: (delay in ms, rows)
    old: tuple[tuple[int, float], ...] = ()  # rows that may be late: (moment on the deadline grid, rows)


@dataclass(frozen=True, slots=True)
class BatchSeen:
    """One finished batch."""

    query: str
    batch: int
    began: WallMs  # when the gate let it through, or when its trigger fired
    ended: WallMs
    took_ms: int  # without the wait at the gate
    rows: int
    watermark: EventMs | None  # by which it emitted
    inputs: tuple[InputSeen, ...] = ()
    state_rows: int = 0
    state_updated: int = 0  # groups that the batch's rows went into
    state_bytes: int = 0
    dropped: int = 0  # rows or groups that Spark itself refused as late


Message = Started | Asked | Gone | BatchSeen
