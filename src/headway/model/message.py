"""What the world tells the controller."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from headway.model.deadline import Deadlines
from headway.model.decision import Guard, OrderPolicy
from headway.model.experience import Experience
from headway.model.offset import ControlOffset
from headway.model.patience import PatiencePolicy
from headway.model.punctuation import Punctuation
from headway.model.sampling import GroupSeen, SamplingPolicy, SubStreamSeen
from headway.model.slack import Curve, Report
from headway.model.status import RuntimeStatus
from headway.model.time import EventMs, WallMs

Part = tuple[str, int]  # a partition of a log: topic and number


@dataclass(frozen=True, slots=True)
class InputSpec:
    """A watermarked input as the user declared it."""

    name: str
    patience_ms: int
    idle_after_ms: int | None = 10_000  # None: never idle; rows alone move the watermark, as in stock Spark
    limited: bool = False  # the source hands out its backlog in portions, so a batch may leave arrived rows behind
    source: str | None = None  # the log it reads, if that can be asked how far it has come: see `Reached`
    policy: PatiencePolicy | None = None  # patience that adapts; what is above is then where it starts
    parts: int = 0  # partitions that will speak, where their frontiers are kept apart and their number is known
    slt_ms: int | None = None  # a slack gate: frontiers, not the clock, tell how far it has come
    sampling: SamplingPolicy | None = None  # how much of it is taken, and so how long it is waited for
    arrives: bool = False  # its rows say when they came, so their delays owe nothing to this machine's clock
    relayed: str | None = None  # the topic in which stages of ours say how far it is complete: see `Heard`
    stages: tuple[str, ...] = ()  # that are waited for there; none: all that were ever heard
    strict: bool = False  # its query goes by the time of rows itself, and not by windows alone


@dataclass(frozen=True, slots=True)
class QuerySpec:
    """A query as it was started."""

    name: str
    inputs: tuple[InputSpec, ...]
    deadlines: Deadlines
    ahead: bool  # every source is asked after the gate
    window_ms: int = 0  # the longest of its windows, where that is known
    trigger_ms: int = 0  # the user's own processing-time trigger: batches begin on its ticks
    bounded: bool = False  # availableNow: a run that ends when all that is there has been read
    fresh_ms: int | None = None  # how soon new rows are wanted in the output, before any window ends; None: windows decide
    past: tuple["BatchSeen", ...] = ()  # what was told of sampled inputs before a restart
    experience: Experience | None = None  # of another driver, which ran it before
    proves: bool = False  # its first batch runs, be there rows or none: a move is over when one is committed


@dataclass(frozen=True, slots=True)
class Started:
    spec: QuerySpec


@dataclass(frozen=True, slots=True)
class Asked:
    """A query stands at the gate; its last batch, if any, is done."""

    query: str
    start: ControlOffset


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
    timeless: int = 0  # rows without an event time: unreadable ones, mostly
    future: int = 0  # rows beyond the horizon: set aside, they are in none of the other figures but `rows`
    foremost: EventMs | None = None  # the newest event time of all; `newest` leaves out rows that are ahead of the clock
    parts: tuple["PartSeen", ...] = ()  # partition by partition, where the user named them
    substreams: tuple[SubStreamSeen, ...] = ()  # of an input that is sampled; indices count cells, see `loop.sampler`
    groups: tuple[GroupSeen, ...] = ()


@dataclass(frozen=True, slots=True)
class PartSeen:
    """What one batch read from some partitions of an input."""

    part: int
    newest: EventMs
    fastest_ms: float  # the shortest delay
    delays: tuple[tuple[float, float], ...] = ()  # histogram, where patience asks for it


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
    left: bool = False  # some source had more than it handed out
    read: tuple[tuple[str, dict[Part, int]], ...] = ()  # per log: up to where its partitions have been read


@dataclass(frozen=True, slots=True)
class PartEnd:
    """How far one partition of a log has come."""

    end: int  # the offset of the next row
    newest: WallMs | None  # the newest timestamp of its rows


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a log has come, by its broker."""

    source: str
    at: WallMs
    # All partitions that there are, with None for one that cannot be asked; None when the broker does not answer.
    parts: dict[Part, PartEnd | None] | None


@dataclass(frozen=True, slots=True)
class Heard:
    """Punctuations that were read in a topic since the last time; none: there were none, and the time goes on."""

    topic: str
    at: WallMs
    said: tuple[tuple[int, Punctuation], ...] = ()  # partition, and what stands there


@dataclass(frozen=True, slots=True)
class Relaying:
    """A query writes its results to a topic, and this is what the stages behind it cost, as was told at `at`."""

    query: str
    topic: str
    below_ms: float | None = None  # None: nothing new is known of that
    at: WallMs | None = None


@dataclass(frozen=True, slots=True)
class Stalled:
    """A running batch keeps no core busy, say because the user's own code in it waits: its slot is lent to others."""

    query: str
    granted_at: WallMs | None = None  # which of its batches: by now another may run


@dataclass(frozen=True, slots=True)
class Resumed:
    """A batch that was stalled has a job again."""

    query: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A query has died."""

    query: str
    error: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """What a query reports cannot be understood, so it cannot be gated."""

    query: str
    why: str


@dataclass(frozen=True, slots=True)
class Look:
    """A caller wants to know how things stand."""

    reply: Callable[[RuntimeStatus], None]


@dataclass(frozen=True, slots=True)
class Stood:
    """How a query stood at its gate when it was decided that no further batch of it runs."""

    at: WallMs
    batch: int | None  # the last that is done; None: none in this run
    announced: EventMs
    swept: EventMs
    experience: Experience


@dataclass(frozen=True, slots=True)
class Drain:
    """No further batch of this query, or of any (None); `done` is called once none of them runs.

    Of a query that stands at its gate then, `stood` is told first; one that is gone stands nowhere.
    """

    query: str | None
    done: Callable[[], None]
    stood: Callable[[Stood], None] | None = None


@dataclass(frozen=True, slots=True)
class Learnt:
    """What was learnt aside, from windows that have come out, about a query's slack threshold."""

    query: str
    by: object  # whose lesson it was: a query that was started anew has another
    reports: tuple[Report, ...]
    curves: Mapping[str, Curve] | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Use:
    """Another policy decides from now on, or so many batches may run at once, or these guards watch; None: as before."""

    order: OrderPolicy | None = None
    slots: int | Literal["auto"] | None = None
    guards: tuple[Guard, ...] | None = None


Message = (
    Started | Asked | Gone | Failed | Unreadable | BatchSeen | Stalled | Resumed | Reached | Heard | Relaying | Learnt | Use
    | Look | Drain
)  # fmt: skip
