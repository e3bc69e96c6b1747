"""What is told of queries to the outside, also of those that have left: a tracker goes with its query, counts must not."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from headway.loop.inputs import InputTracker
from headway.loop.tracker import QueryTracker
from headway.model.message import BatchSeen
from headway.model.status import InputStatus, LastBatch, QueryStatus, State
from headway.model.time import WallMs
from headway.model.view import QueryView

MOST_LEFT = 1_000  # queries that have left are remembered up to this many


@dataclass
class _Kept:
    """What outlives a query's tracker."""

    since: WallMs  # it was started, or has left
    counts: dict[str, InputStatus] = field(default_factory=dict)  # of trackers that are gone
    last: LastBatch | None = None
    reason: str | None = None
    left: QueryStatus | None = None
    batches: int = 0
    rows: int = 0
    busy_ms: int = 0


class Roll:
    """Every query that the controller has heard of, and how it stands."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}

    def started(self, now: WallMs, name: str) -> None:
        kept = self._kept.pop(name, None) or _Kept(now)
        kept.since, kept.left = now, None
        self._kept[name] = kept  # at the end: the longest gone are forgotten first
        gone = [n for n, k in self._kept.items() if k.left is not None]
        for old in gone[: max(0, len(gone) - MOST_LEFT)]:
            del self._kept[old]

    def granted(self, name: str, because: str) -> None:
        if name in self._kept:
            self._kept[name].reason = because

    def batch(self, seen: BatchSeen) -> None:
        if (kept := self._kept.get(seen.query)) is not None:
            rows = sum(i.rows for i in seen.inputs) if seen.inputs else seen.rows
            kept.last = LastBatch(seen.batch, rows, seen.took_ms, seen.ended, seen.watermark)
            kept.batches, kept.rows, kept.busy_ms = kept.batches + 1, kept.rows + rows, kept.busy_ms + seen.took_ms

    def keep_counts(self, tracker: QueryTracker) -> None:
        """Before a tracker is thrown away."""
        if (kept := self._kept.get(tracker.spec.name)) is not None:
            kept.counts |= {i.name: i for i in self._inputs(kept, tracker)}

    def left(self, now: WallMs, tracker: QueryTracker, state: State, error: str | None = None) -> None:
        """Its tracker is thrown away, and this is how it stands from now on."""
        name = tracker.spec.name
        if (kept := self._kept.get(name)) is not None:
            status = self.status(name, tracker)
            self.keep_counts(tracker)
            kept.left = replace(status, state=state, since=now, error=error, stalled=False, view=None)

    def failed(self, now: WallMs, name: str, error: str) -> None:
        """It was recorded as ended, because its line ends before Spark reports the failure."""
        kept = self._kept.get(name)
        if kept is not None and kept.left is not None:
            kept.left = replace(kept.left, state="failed", since=now, error=error)

    def all(self, queries: Mapping[str, QueryTracker], afloat: Mapping[str, WallMs]) -> tuple[QueryStatus, ...]:
        """`afloat` are the queries in a batch that was granted before the controller began anew, and since when."""
        told = (self.status(name, queries.get(name)) for name in self._kept)
        return tuple(replace(q, state="in a batch", since=afloat[q.name]) if q.name in afloat else q for q in told)

    def status(self, name: str, tracker: QueryTracker | None) -> QueryStatus:
        kept = self._kept[name]
        if tracker is None:
            return kept.left or QueryStatus(name, "ended", kept.since)
        state, since = _state(tracker, kept.since)
        return QueryStatus(
            name, state, since, last=kept.last, announced=tracker.announced or None, swept=tracker.swept or None,
            inputs=self._inputs(kept, tracker), reason=kept.reason, stalled=tracker.stalled, batches=kept.batches,
            rows=kept.rows, busy_ms=kept.busy_ms, view=_view(tracker),
        )  # fmt: skip

    @staticmethod
    def _inputs(kept: _Kept, tracker: QueryTracker) -> tuple[InputStatus, ...]:
        counted = kept.counts
        seen = [_input(i) for i in tracker.inputs.values()]
        return tuple(i.plus(counted[i.name]) if i.name in counted else i for i in seen)


def _input(tracker: InputTracker) -> InputStatus:
    view, sampler = tracker.view, tracker.sampler
    counted = InputStatus(view.name, view.late_rows, view.timeless, view.future)
    return counted if sampler is None else replace(counted, sampling=sampler.sampling, sampling_ms=sampler.watch.total_ms)


def _view(tracker: QueryTracker) -> QueryView | None:
    """None if the view cannot be made: the next decision, which needs it, puts the query aside; a look does not."""
    try:
        return tracker.view()
    except Exception:
        return None


def _state(tracker: QueryTracker, started: WallMs) -> tuple[State, WallMs]:
    if tracker.waiting_since is not None:
        return "at the gate", tracker.waiting_since
    if tracker.granted_at is not None:
        return "in a batch", tracker.granted_at
    return "starting", started
