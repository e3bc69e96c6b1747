"""What a policy sees: one immutable view per input and query, and the snapshot that holds them. Unknown is None."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headway.model.columns import Columns
from headway.model.deadline import Deadlines
from headway.model.time import EventMs, WallMs

# Batches that share cores take longer or shorter for reasons that drown so small a slope: it is believed no further down,
# as long as all rows of a window make no more of it than this share of a batch's fixed part.
LEAST_PER_ROW_MS, DROWNED = 0.005, 0.2
# A query without rows and without open windows is asked no more and no less often than this.
SILENT_LEAST_MS, SILENT_MOST_MS = 6_000, 10_000
SILENT_FRESH_MS = 1_000  # where rows are wanted as soon as they come
# Whatever its windows, a query is read this often: a window of a day must not find a day's rows at its end. And a watermark
# is announced no further ahead: until it is swept no batch may run, also not after a restart.
READ_MOST_MS = 10_000
# Behind a slack gate rows are read no more and no less often than this.
GATE_LEAST_MS, GATE_MOST_MS = 100, 1_000


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
class InputView:
    """One watermarked input of a query."""

    name: str
    patience_ms: int  # how long after a window's end its stragglers are waited for
    live: bool = False  # rows carry recent event times, so the wall clock tells how far the stream has come
    idle: bool = False  # silent for longer than `idle_after`: it holds nobody back
    frontier: EventMs | None = None  # the newest event time read
    rows_per_s: float = 0.0
    late_rows: int = 0
    delay: DelayView | None = None
    held_until: WallMs | None = None  # a partition has fallen silent: no window is swept before this, or before it speaks
    held_most_ms: int | None = None  # and none waits longer than this, whoever falls silent meanwhile; None: for ever
    backlog: int | None = None  # rows in the log that were not read yet, as the broker said
    backlog_at: WallMs | None = None  # when it said so
    timeless: int = 0  # rows without an event time, so far
    future: int = 0  # rows beyond the horizon, so far
    caught_at: WallMs | None = None  # where a source hands out portions: when all had been read; None: at any look
    slt_ms: int | None = None  # behind a slack gate: see `ripe_at_gate`
    slowest: EventMs | None = None  # the newest event time of that partition which is furthest behind; None: one is unheard
    source_sends: bool = False  # its watermarks come from the source, delayed as its rows are; else we send them ourselves

    def held(self, due: int, end: int) -> int:
        """When a window that ends there may be swept, which would be due then if nobody were behind."""
        if self.held_until is None or self.held_until <= due:
            return due
        if self.slowest is not None and self.slowest - self.patience_ms >= end:
            return due  # whoever is silent now has spoken for that window, and stock Spark would not wait either
        return self.held_until if self.held_most_ms is None else min(self.held_until, due + self.held_most_ms)

    def ripe(self, now: WallMs) -> int | None:
        """The watermark that patience allows now. A stream of old rows is measured by its own frontier."""
        if self.live:
            if self.held_until is not None and self.held_until > now:
                return None if self.held_most_ms is None else now - self.patience_ms - self.held_most_ms
            return (now if self.caught_at is None else self.caught_at) - self.patience_ms
        return None if self.frontier is None else self.frontier - self.patience_ms


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

    # Worked out once when the view is made, because every decision reads them for every query.
    pending: bool = field(init=False)  # the next batch will sweep a watermark that is announced already
    live: bool = field(init=False)
    leads: bool = field(init=False)  # a watermark may be announced before it is ripe
    deadline: EventMs = field(init=False)  # the end of the window that the next sweep is for
    due: WallMs | None = field(init=False)  # when the next batch is wanted; None before the first: nothing is known yet
    patience_ms: int = field(init=False)
    rows_per_s: float = field(init=False)
    window_ms: float = field(init=False)  # what the rows of one window cost, without the fixed part of a batch
    backlog: int = field(init=False)  # rows that wait, as brokers said
    counted_at: WallMs | None = field(init=False)  # when they did, or else when the last batch took all there was
    split_load: float = field(init=False)  # the share of a slot that it takes if each of its windows has two batches
    reads_every_ms: int = field(init=False)  # if its next batch is only to read, since no window is due: how often; else 0

    def __post_init__(self) -> None:
        active = [i for i in self.inputs if not i.idle] or self.inputs  # an idle input holds nobody back
        known: dict[str, Any] = {
            "pending": self.announced > self.swept,
            "live": (live := bool(self.inputs) and all(i.live for i in active)),
            # What an idle input will bring when it speaks again, nobody knows: it is let go only for what is over.
            "leads": self.ahead and live and not all(i.idle for i in self.inputs),
            "patience_ms": max((i.patience_ms for i in self.inputs), default=0),
            "rows_per_s": sum(i.rows_per_s for i in self.inputs),
            "backlog": sum(i.backlog or 0 for i in self.inputs),
            "counted_at": max((i.backlog_at for i in self.inputs if i.backlog_at is not None), default=self.granted_at),
        }
        period_ms = min(self.deadlines.period_ms, READ_MOST_MS)  # longer windows are read before they end
        rows = known["rows_per_s"] * period_ms / 1000
        known["window_ms"] = max(self.per_row_ms * rows, min(LEAST_PER_ROW_MS * rows, DROWNED * self.fixed_ms))
        known["split_load"] = (2 * self.fixed_ms + known["window_ms"]) / period_ms
        for name, value in known.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "deadline", self._deadline())
        object.__setattr__(self, "due", self._due())

    def _deadline(self) -> EventMs:
        if self.pending:
            return self.announced
        if self.swept == 0 and self.granted_at is not None:  # nothing announced yet: the coming deadline is the first
            return self.deadlines.after(self.granted_at - self.patience_ms)
        return self.deadlines.after(self.swept)

    def _due(self) -> WallMs | None:
        object.__setattr__(self, "reads_every_ms", 0)
        if self.pending:
            return self._sweeps_at()
        if self.granted_at is None:
            return None
        if self.bounded:
            return self.granted_at
        if self.trigger_ms:
            return self.tick_after(self.granted_at)
        # Every input is silent and no window is open: there is nothing to emit, so it is only asked now and then.
        silent = self.state_rows == 0 and all(i.idle for i in self.inputs)
        if self.live and not silent:
            return self._read_by(self._held(self.deadline + self.patience_ms))
        if self.pace_ms == 0 and not silent and any(i.slt_ms is not None for i in self.inputs):
            return WallMs(self.granted_at + self._rows_missing_ms(self.granted_at))
        if not (silent and self.inputs):
            return WallMs(self.granted_at + self.pace_ms)
        if self.fresh_ms is not None:
            return WallMs(self.granted_at + max(self.fresh_ms, SILENT_FRESH_MS))
        # Should rows have come, this is when their first window is due; asking sooner would only cost. But a window of an
        # hour must not find an hour's rows at its end.
        due = self.deadlines.after(self.granted_at + SILENT_LEAST_MS - self.patience_ms - 1) + self.patience_ms
        return WallMs(min(due, self.granted_at + SILENT_MOST_MS))

    def _held(self, due: int) -> WallMs:
        """When the coming window may be swept, which would be due then if no input were behind."""
        return WallMs(max((i.held(due, self.deadline) for i in self.inputs), default=due))

    def _sweeps_at(self) -> WallMs | None:
        """When the watermark that is announced may be acted upon; at once, if it was ripe by its rows when it was."""
        ripens = self.ripens if self.ripens is not None else self.announced + self.patience_ms if self.live else 0
        if ripens == 0:
            return self.granted_at
        if self.trigger_ms and self.granted_at is not None and ripens > self.granted_at:
            ripens = max(ripens, self.tick_after(self.granted_at))
        return self._held(ripens)

    def _read_by(self, due: WallMs) -> WallMs:
        """When a window is due, or sooner if rows would wait too long to be read, or to be seen in the output."""
        assert self.granted_at is not None
        every_ms = READ_MOST_MS if self.fresh_ms is None else max(self.fresh_ms, self.pace_ms)
        if self.granted_at + every_ms >= due:
            return due
        object.__setattr__(self, "reads_every_ms", every_ms)
        return WallMs(self.granted_at + every_ms)

    def tick_after(self, moment: int) -> WallMs:
        """When the user's own trigger fires next."""
        return WallMs((moment // self.trigger_ms + 1) * self.trigger_ms)

    def reaches(self, now: WallMs) -> WallMs:
        """When the next batch after one that begins now runs at the latest: no watermark is announced beyond that."""
        if self.trigger_ms:
            tick = self.tick_after(now)
            return tick if tick - now <= READ_MOST_MS else now
        return WallMs(now + (READ_MOST_MS if self.fresh_ms is None else self.fresh_ms))

    def _rows_missing_ms(self, read_at: WallMs) -> int:
        """Rows decide when a window may close, so they must be read first: how soon it can pay to look for them again."""
        limit = self.ripe(read_at)
        if limit is None:
            return GATE_LEAST_MS
        if self.pending or self.deadlines.upto(limit) > self.announced:
            return 0
        # Sources go on as fast as time does, unless they catch up: then the next look finds them further than that.
        return min(GATE_MOST_MS, max(GATE_LEAST_MS, self.deadlines.after(self.announced) - limit))

    @property
    def running(self) -> bool:
        """It takes a slot."""
        return self.waiting_since is None and self.granted_at is not None and not self.stalled

    def ripe(self, now: WallMs) -> int | None:
        """The watermark that the slowest input allows now."""
        active = [i for i in self.inputs if not i.idle] or self.inputs
        limits = [i.ripe(now) for i in active if i.slt_ms is None]
        if gates := [i for i in active if i.slt_ms is not None]:
            limits.append(ripe_at_gate(gates))
        return None if not limits or None in limits else min(x for x in limits if x is not None)

    def queued(self, now: WallMs) -> float:
        """Rows that wait to be read: what a broker said, and since then, or since the last grant, as many as came before."""
        since = now if self.counted_at is None else self.counted_at
        return self.backlog + self.rows_per_s * max(0, now - since) / 1000

    def cost_ms(self, now: WallMs) -> float:
        """How long the batch would take that ran now."""
        return self.fixed_ms + self.per_row_ms * self.queued(now)


def ripe_at_gate(inputs: Sequence[InputView]) -> int | None:
    """max(min_j frontier_j, max_j frontier_j - SLT): the foremost waits for the hindmost, but no longer than SLT.

    An input, or a partition, that has not spoken yet holds the merge back, not the slack.
    """
    reached = [i.frontier for i in inputs if i.frontier is not None]
    if not reached:
        return None
    slack = max(reached) - min(i.slt_ms or 0 for i in inputs)
    merged = [i.slowest for i in inputs if i.slowest is not None]
    return slack if len(merged) < len(inputs) else max(slack, min(merged))


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
    _columns: Columns | None = field(default=None, init=False, compare=False, repr=False)
    _rows: Mapping[str, int] | None = field(default=None, init=False, compare=False, repr=False)

    @classmethod
    def kept(
        cls,
        now: WallMs,
        queries: Sequence[QueryView],
        slots: int,
        memory: MemoryView,
        columns: Columns,
        rows: Mapping[str, int],
    ) -> "Snapshot":
        """One whose columns and rows the maker keeps up to date, instead of working them out from every view every time."""
        made = cls(now, tuple(queries), slots, memory)
        object.__setattr__(made, "_columns", columns)
        object.__setattr__(made, "_rows", rows)
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
        return int(self.columns.running.sum())
