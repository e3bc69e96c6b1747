"""What a policy sees: one immutable view per input and query, and the snapshot that holds them. Unknown is None."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headway.model.columns import Columns
from headway.model.deadline import Deadlines
from headway.model.time import EventMs, WallMs

# Up to so many queries are looked at one by one, in plain Python: in a busy driver every call of numpy finds its code and
# its tables thrown out of the processor's caches, and costs several times what it costs by itself.
FEW = 100


@dataclass(frozen=True, slots=True)
class DelayView:
    """The network delay of one input over the last epochs (an epoch ends when a window is swept)."""

    epochs: int
    mean_ms: float
    mean_sd_ms: float  # of the mean of the epochs: Eq. 6 as printed
    draw_sd_ms: float  # of the next single delay
    low_ms: float  # empirical quantiles that enclose the confidence asked for
    high_ms: float


@dataclass(frozen=True, slots=True)
class UpstreamView:
    """What the stages in front of an input have said: it is complete up to there, by their word, not by a guess."""

    topic: str
    complete: EventMs | None = None  # every row that is still to come is of this time or later; None: not all have spoken
    complete_at: WallMs | None = None  # when that was heard
    waits_for: str | None = None  # the stage that is furthest behind,
    heard_at: WallMs | None = None  # and when it was last heard
    passed: str | None = None  # stages that are not waited for any more, since they were silent for too long,
    passes: int = 0  # and how often that has happened
    told_at: WallMs | None = None  # when the statistics were told by which the rest is expected


@dataclass(frozen=True, slots=True)
class InputView:
    """One watermarked input of a query."""

    name: str
    patience_ms: int  # how long after a window's end its stragglers are waited for
    live: bool = False  # rows carry recent event times, so the wall clock tells how far the stream has come
    idle: bool = False  # silent for longer than `idle_after`: no window waits for it
    frontier: EventMs | None = None  # the newest event time read
    rows_per_s: float = 0.0
    late_rows: int = 0
    delay: DelayView | None = None
    held_until: WallMs | None = None  # a partition has fallen silent: no window is swept before this, or before it speaks
    held_most_ms: int | None = None  # and none waits longer than this, whatever falls silent meanwhile; None: for ever
    backlog: int | None = None  # rows in the log that were not read yet, as the broker said
    backlog_at: WallMs | None = None  # when it said so
    timeless: int = 0  # rows without an event time, so far
    future: int = 0  # rows beyond the horizon, so far
    caught_at: WallMs | None = None  # where a source hands out portions: when all had been read; None: at any look
    slt_ms: int | None = None  # behind a slack gate: see `estimate.ripe`
    slowest: EventMs | None = None  # the newest event time of that partition which is furthest behind; None: one is unheard
    source_sends: bool = False  # its watermarks come from the source, delayed as its rows are; else we send them ourselves
    upstream: UpstreamView | None = None  # stages of ours write it, and say how far it is complete: nothing else does


@dataclass(frozen=True, slots=True)
class QueryView:
    """One query: what it waits for, what a batch of it costs, and how urgent its next result is."""

    name: str
    inputs: tuple[InputView, ...]
    deadlines: Deadlines
    waiting_since: WallMs | None = None  # at the gate since; None while a batch runs
    granted_at: WallMs | None = None  # last let through the gate; rows that came later are queued
    announced: EventMs = EventMs(0)  # the newest watermark announced
    swept: EventMs = EventMs(0)  # the newest watermark that a finished batch has acted upon
    ahead: bool = False  # its sources are asked after the gate, so a watermark may be announced before it is ripe
    fixed_ms: float = 300.0
    per_row_ms: float = 0.01
    selectivity: float = 1.0  # state or output rows per input row
    state_rows: int = 0
    state_bytes: int = 0
    pace_ms: int = 1000  # between batches while nothing is due, e.g. while old rows are replayed
    ripens: WallMs | None = None  # when the announced watermark may be swept; None: when patience is over, if live
    trigger_ms: int = 0  # the user's own trigger: batches begin on its ticks
    bounded: bool = False  # a run that ends when all is read
    fresh_ms: int | None = None  # how soon rows are wanted in the output, before any window ends
    stalled: bool = False  # its batch waits for something that is not a core of ours, and lends its slot
    writes: str | None = None  # the topic that it relays its results to,
    below_ms: float = 0.0  # what the stages behind that cost until the last of them has a result,
    below_at: WallMs | None = None  # and when that was told

    # What all inputs say together. It is added up when the view is made, because every decision reads it for every query.
    pending: bool = field(init=False)  # the next batch will sweep a watermark that is announced already
    live: bool = field(init=False)
    leads: bool = field(init=False)  # a watermark may be announced before it is ripe
    sent: bool = field(init=False)  # some source sends watermarks, and something is known of their delays
    patience_ms: int = field(init=False)
    rows_per_s: float = field(init=False)
    backlog: int = field(init=False)  # rows that wait, as brokers said
    counted_at: WallMs | None = field(init=False)  # when they did, or else when the last batch took all there was
    # What follows from that by rules, which are not a value's: the maker of a view has `estimate.due` work it out.
    deadline: EventMs = field(init=False)  # the end of the window that the next sweep is for
    due: WallMs | None = field(init=False)  # when the next batch is wanted; None before the first: nothing is known yet
    window_ms: float = field(init=False)  # what the rows of one window cost, without the fixed part of a batch
    split_load: float = field(init=False)  # the share of a slot that it takes if each of its windows has two batches
    reads_every_ms: int = field(init=False)  # if its next batch is only to read, since no window is due: how often; else 0

    def __post_init__(self) -> None:
        active = [i for i in self.inputs if not i.idle] or self.inputs  # no window waits for an idle input
        live = bool(self.inputs) and all(i.live for i in active)
        put = object.__setattr__
        put(self, "pending", self.announced > self.swept)
        put(self, "live", live)
        # What an idle input will bring when it speaks again is not known: no watermark is announced ahead of it.
        put(self, "leads", self.ahead and live and not all(i.idle for i in self.inputs))
        put(self, "sent", any(i.source_sends and i.delay is not None for i in self.inputs))
        put(self, "patience_ms", max((i.patience_ms for i in self.inputs), default=0))
        put(self, "rows_per_s", sum(i.rows_per_s for i in self.inputs))
        put(self, "backlog", sum(i.backlog or 0 for i in self.inputs))
        counted = [i.backlog_at for i in self.inputs if i.backlog_at is not None]
        put(self, "counted_at", max(counted, default=self.granted_at))

    @property
    def running(self) -> bool:
        """It takes a slot."""
        return self.waiting_since is None and self.granted_at is not None and not self.stalled

    @property
    def may_split(self) -> bool:
        """A batch may work for its next window before that is due."""
        return self.leads and not (self.pending or self.reads_every_ms or self.trigger_ms)

    def queued(self, now: WallMs) -> float:
        """Rows that wait to be read: what a broker said, and since then, or since the last grant, as many as came before."""
        since = now if self.counted_at is None else self.counted_at
        return self.backlog + self.rows_per_s * max(0, now - since) / 1000

    def cost_ms(self, now: WallMs) -> float:
        """How long the batch would take that ran now."""
        return self.fixed_ms + self.per_row_ms * self.queued(now)


@dataclass(frozen=True, slots=True)
class MemoryView:
    """The driver's memory, and since when its use has been over the bound."""

    used: float = 0.0  # share of the heap in use
    pressed_since: WallMs | None = None

    @property
    def pressed(self) -> bool:
        return self.pressed_since is not None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The whole world at one moment, built once per tick and never changed."""

    now: WallMs
    queries: tuple[QueryView, ...]
    slots: int = 1
    memory: MemoryView = MemoryView()
    _few: bool = field(init=False, compare=False, repr=False)
    _columns: Columns | None = field(default=None, init=False, compare=False, repr=False)
    _rows: Mapping[str, int] | None = field(default=None, init=False, compare=False, repr=False)
    _busy: int | None = field(default=None, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_few", len(self.queries) <= FEW and not any(q.sent for q in self.queries))

    @property
    def few(self) -> bool:
        """A policy does better to look at them one by one than by columns."""
        return self._few

    @classmethod
    def kept(
        cls,
        now: WallMs,
        queries: Sequence[QueryView],
        slots: int,
        memory: MemoryView,
        columns: Columns | None,
        rows: Mapping[str, int],
        busy: int,
    ) -> "Snapshot":
        """One whose columns, rows and count the maker keeps up to date, so that they are not worked out from all views anew.
        A maker that keeps no columns of its few queries says None: they are worked out where a policy asks for them."""
        made = cls(now, tuple(queries), slots, memory)
        object.__setattr__(made, "_columns", columns)
        object.__setattr__(made, "_rows", rows)
        object.__setattr__(made, "_busy", busy)
        return made

    def query(self, name: str) -> QueryView | None:
        """The query of this name."""
        if self._rows is None:
            object.__setattr__(self, "_rows", {q.name: row for row, q in enumerate(self.queries)})
        assert self._rows is not None
        row = self._rows.get(name, len(self.queries))
        return self.queries[row] if row < len(self.queries) else None

    @property
    def columns(self) -> Columns:
        if self._columns is None:
            object.__setattr__(self, "_columns", Columns.of(self.queries))
        assert self._columns is not None
        return self._columns

    @property
    def waiting(self) -> tuple[QueryView, ...]:
        return tuple(q for q in self.queries if q.waiting_since is not None)

    @property
    def busy(self) -> int:
        """Batches that run now. A query that is still starting, and has not come to the gate yet, runs none."""
        if self._busy is None:
            object.__setattr__(self, "_busy", sum(q.running for q in self.queries))
        assert self._busy is not None
        return self._busy
