"""What a runtime tells of itself: one immutable value, made by the thread that knows, for all to read."""

from dataclasses import dataclass, field, replace
from typing import Literal

from headway.model.sampling import Sampling
from headway.model.time import EventMs, WallMs
from headway.model.view import QueryView

State = Literal[
    "starting",  # has not come to the gate yet
    "at the gate",
    "in a batch",
    "between batches",  # waits for its own trigger
    "put aside",  # goes on ungated, because something about it could not be understood
    "restarting",  # has failed, and will be started again
    "failed",
    "ended",
]
OVER: tuple[State, ...] = ("failed", "ended")


@dataclass(frozen=True, slots=True)
class InputStatus:
    """One input of a query. Its counts are of rows that went into no result, over all runs of the query in this runtime."""

    name: str
    late: int = 0  # its windows were closed
    timeless: int = 0  # it had no event time
    future: int = 0  # it was stamped beyond the horizon
    sampling: Sampling | None = None  # how much of it is taken, as was decided last; None: all of it
    sampling_ms: float = 0.0  # processor time that its sampler has taken

    def plus(self, other: "InputStatus") -> "InputStatus":
        """With what was counted before."""
        late, timeless, future = self.late + other.late, self.timeless + other.timeless, self.future + other.future
        return replace(self, late=late, timeless=timeless, future=future)


@dataclass(frozen=True, slots=True)
class LastBatch:
    """The last batch of a query that is done."""

    number: int
    rows: int
    took_ms: int
    ended: WallMs
    watermark: EventMs | None = None  # by which it emitted


@dataclass(frozen=True, slots=True)
class QueryStatus:
    """One query, as it stands."""

    name: str
    state: State
    since: WallMs  # in this state since
    id: str | None = None
    run: str | None = None
    error: str | None = None  # why it failed, is restarted or was put aside
    last: LastBatch | None = None
    announced: EventMs | None = None  # the newest watermark announced
    swept: EventMs | None = None  # the newest that a batch has acted upon
    inputs: tuple[InputStatus, ...] = ()
    reason: str | None = None  # why its last batch was let through
    stalled: bool = False  # its batch keeps no core busy, and takes no slot
    hangs: str | None = None  # where its batch is, if that runs for longer than `hang_after`
    restarts: int = 0  # how often it was started again after a failure
    batches: int = 0  # that were told of, over all runs of the query in this runtime,
    rows: int = 0  # the rows that they read,
    busy_ms: int = 0  # and how long they took, without their waits at the gate
    view: QueryView | None = field(default=None, repr=False)  # as the policy sees it; None: no policy decides about it

    @property
    def over(self) -> bool:
        return self.state in OVER


@dataclass(frozen=True, slots=True)
class RuntimeStatus:
    """A runtime and its queries at one moment. A controller that was busy leaves an older one: see `at`."""

    at: WallMs
    policy: str
    slots: int | None = None  # None: no gate, Spark decides
    queries: tuple[QueryStatus, ...] = ()
    controller_restarts: int = 0
    controller_error: str | None = None  # the last
    clock: str | None = None  # what was said when the machine's clock was last set
    cores: int | None = None  # that batches share, as Spark says
    decisions: int = 0  # questions that were asked so far,
    decided_ms: float = 0.0  # and the processor time that they took: our own overhead

    def query(self, name: str) -> QueryStatus | None:
        """The query of this name."""
        return next((q for q in self.queries if q.name == name), None)
