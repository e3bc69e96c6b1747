"""Spark's micro-batches as a pure model: which rows a batch takes, refuses and puts out. No time passes in here.

A query aggregates windows over one or more inputs. What is modelled was read in Spark 4.3's sources (MicroBatchExecution,
WatermarkTracker, WatermarkPropagator, StateStoreSaveExec) and is held against real Spark by tests/spark/test_spark_model.py:

- a batch's offsets, watermark and timestamp are logged before it runs; one that was logged and not committed is run again
  with the same of each. The commit holds the watermark of the next batch.
- a row is refused for a window if window end <= watermark of the *previous* batch; a window is put out and forgotten if its
  end <= watermark of *this* batch.
- each watermarked input remembers the newest event time - delay, in milliseconds rounded down, in memory only: after a
  restart it counts as 0 until it has rows again. A row without event time counts as 1970. The query's watermark is the least
  of its inputs', starts at 0, and never goes back.
- a batch runs if an offset has changed, or if the watermark has passed the one by which the last batch *of this run* swept.

The same model is stock Spark, with the user's patience as delay, and Spark under Headway, with ten years and control rows.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import floor
from typing import Any, Literal

Mode = Literal["append", "update"]
RowKey = int  # of a row, for good
Offsets = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A row as Spark reads it; its time in milliseconds, or None."""

    key: RowKey
    input: str
    event: float | None


@dataclass(frozen=True, slots=True)
class WindowShape:
    """Tumbling windows, or sliding ones."""

    size_ms: int
    slide_ms: int

    def ends(self, event: float) -> list[int]:
        """The ends of all windows that hold this moment, the last first."""
        last = floor(event / self.slide_ms) * self.slide_ms
        return [start + self.size_ms for start in range(last, floor(event) - self.size_ms, -self.slide_ms)]


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """One entry of the offset log."""

    batch: int
    end: Offsets
    watermark: int
    timestamp: int


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What a batch did, before it is committed."""

    batch: int
    late: int  # rows whose window ends no later were refused
    swept: int  # windows that end no later were put out
    kept: tuple[tuple[int, RowKey], ...]  # window end and row
    refused: tuple[tuple[int, RowKey], ...]
    out: Mapping[int, tuple[RowKey, ...]]  # by window end: what the sink is given
    newest: Mapping[str, int]  # by input with rows


@dataclass
class SparkQuery:
    """A query's logs and state. Restart it as often as you like: what is in memory only is forgotten then."""

    windows: WindowShape
    delays: Mapping[str, int]  # by watermarked input
    mode: Mode = "append"
    log: list[PlannedBatch] = field(default_factory=list)
    commits: list[int] = field(default_factory=list)  # the watermark after each batch
    state: dict[int, tuple[RowKey, ...]] = field(default_factory=dict)
    sink: dict[int, Mapping[int, tuple[RowKey, ...]]] = field(default_factory=dict)  # by batch, which makes it idempotent
    torn: list[int] = field(default_factory=list)  # batches whose repetition put out something else: must stay empty
    watermark: int = 0
    _operators: dict[str, int | None] = field(default_factory=dict)
    _swept: int | None = None  # by the last batch of this run

    def __post_init__(self) -> None:
        self.restart()

    def restart(self, delays: Mapping[str, int] | None = None) -> PlannedBatch | None:
        """Begin from the logs; returns the batch that has to be run again, if there is one."""
        self.delays = self.delays if delays is None else delays
        self._operators, self._swept = dict.fromkeys(self.delays), None
        again = self.log[-1] if len(self.log) > len(self.commits) else None
        self.watermark = max(self.log[-1].watermark if self.log else 0, 0 if again or not self.commits else self.commits[-1])
        return again

    @property
    def offsets(self) -> Offsets | None:
        """Where the next batch starts."""
        return self.log[-1].end if self.log else None

    def wants(self, end: Offsets) -> bool:
        """Whether Spark would run a batch up to these offsets."""
        return end != self.offsets or (self._swept is not None and self.watermark > self._swept)

    def begin(self, end: Offsets, timestamp: int) -> PlannedBatch:
        """Write the next batch to the offset log."""
        self.log.append(PlannedBatch(len(self.log), end, self.watermark, timestamp))
        return self.log[-1]

    def run(self, logged: PlannedBatch, rows: Iterable[ModelRow], control: Iterable[int] = ()) -> BatchResult:
        """What the batch does with these rows. Control rows move every input's watermark and are in no window."""
        late = self.log[logged.batch - 1].watermark if logged.batch else 0
        kept: list[tuple[int, RowKey]] = []
        refused: list[tuple[int, RowKey]] = []
        newest: dict[str, int] = {}
        for row in rows:
            moment = 0 if row.event is None else floor(row.event)
            newest[row.input] = max(newest.get(row.input, moment), moment)
            if row.event is not None:
                for end in self.windows.ends(row.event):
                    (refused if end <= late else kept).append((end, row.key))
        for moment in control:
            for name in self.delays:
                newest[name] = max(newest.get(name, moment), moment)
        out = self._out(kept, logged.watermark)
        return BatchResult(logged.batch, late, logged.watermark, tuple(kept), tuple(refused), out, newest)

    def _out(self, kept: list[tuple[int, RowKey]], swept: int) -> dict[int, tuple[RowKey, ...]]:
        touched: dict[int, tuple[RowKey, ...]] = {}
        for end, key in kept:
            touched[end] = (*touched.get(end, self.state.get(end, ())), key)
        if self.mode == "update":
            return touched
        closed = {end: keys for end, keys in self.state.items() if end <= swept}
        return closed | {end: keys for end, keys in touched.items() if end <= swept}

    def put_out(self, ran: BatchResult) -> None:
        """Give the batch to the sink, which takes a batch twice."""
        if self.sink.setdefault(ran.batch, ran.out) != ran.out:
            self.torn.append(ran.batch)

    def commit(self, ran: BatchResult) -> None:
        """The batch is done: state, watermark and commit log."""
        for end, key in ran.kept:
            self.state[end] = (*self.state.get(end, ()), key)
        for end in [end for end in self.state if end <= ran.swept]:
            del self.state[end]
        for name, moment in ran.newest.items():
            before, now = self._operators[name], moment - self.delays[name]
            self._operators[name] = now if before is None else max(before, now)
        self.watermark = max(self.watermark, min((x or 0 for x in self._operators.values()), default=0))
        self._swept = ran.swept
        self.commits.append(self.watermark)
