"""When a query's next batch is wanted, and what its rows will cost then: worked out once, when its view is made."""

from headway.estimate.ripe import ripe
from headway.model.time import EventMs, WallMs
from headway.model.view import InputView, QueryView, UpstreamView

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
# Where stages in front tell when a window is complete, and are late with that, its rows are read no more often than this.
TOLD_LEAST_MS = 1_000
NEVER = 1 << 52  # a number that JSON and floats keep as it is


def worked_out(view: QueryView) -> QueryView:
    """The same view, with all that follows from what it was made of. For its maker, before anything else has read it."""
    period_ms = min(view.deadlines.period_ms, READ_MOST_MS)  # longer windows are read before they end
    rows = view.rows_per_s * period_ms / 1000
    window_ms = max(view.per_row_ms * rows, min(LEAST_PER_ROW_MS * rows, DROWNED * view.fixed_ms))
    put = object.__setattr__
    put(view, "window_ms", window_ms)
    put(view, "split_load", (2 * view.fixed_ms + window_ms) / period_ms)
    put(view, "deadline", _deadline(view))
    due, reads_every_ms = _due(view)
    put(view, "due", due)
    put(view, "reads_every_ms", reads_every_ms)
    return view


def tick_after(query: QueryView, moment: int) -> WallMs:
    """When the user's own trigger fires next."""
    return WallMs((moment // query.trigger_ms + 1) * query.trigger_ms)


def reaches(query: QueryView, now: WallMs) -> WallMs:
    """When the next batch after one that begins now runs at the latest: no watermark is announced beyond that."""
    if query.trigger_ms:
        tick = tick_after(query, now)
        return tick if tick - now <= READ_MOST_MS else now
    return WallMs(now + (READ_MOST_MS if query.fresh_ms is None else query.fresh_ms))


def _deadline(query: QueryView) -> EventMs:
    if query.pending:
        return query.announced
    if query.swept == 0 and query.granted_at is not None:  # nothing announced yet: the coming deadline is the first
        told = [i.upstream.complete for i in query.inputs if i.upstream is not None and i.upstream.complete is not None]
        if told:  # by event time, however old that is
            return query.deadlines.upto(min(told))
        return query.deadlines.after(query.granted_at - query.patience_ms)
    return query.deadlines.after(query.swept)


def _due(query: QueryView) -> tuple[WallMs | None, int]:
    """When the next batch is wanted; and if it is only to read, since no window is due: how often, else 0."""
    granted_at = query.granted_at
    if query.pending:
        return _sweeps_at(query), 0
    if granted_at is None:
        return None, 0
    if query.bounded:
        return granted_at, 0
    if query.trigger_ms:
        return tick_after(query, granted_at), 0
    # Every input is silent and no window is open: there is nothing to emit, so it is only asked now and then.
    silent = query.state_rows == 0 and all(i.idle for i in query.inputs)
    if query.live and not silent:
        return _read_by(query, granted_at, _held(query, query.deadline + query.patience_ms))
    if query.pace_ms == 0 and not silent and any(i.slt_ms is not None for i in query.inputs):
        return WallMs(granted_at + _rows_missing_ms(query, granted_at)), 0
    if not (silent and query.inputs):
        return WallMs(granted_at + query.pace_ms), 0
    return _asked_now_and_then(query, granted_at), 0


def _asked_now_and_then(query: QueryView, granted_at: WallMs) -> WallMs:
    """When a silent query is asked again."""
    if query.fresh_ms is not None:
        return WallMs(granted_at + max(query.fresh_ms, SILENT_FRESH_MS))
    # Should rows have come, this is when their first window is due; asking sooner would only cost. But a window of an hour
    # must not find an hour's rows at its end.
    due = query.deadlines.after(granted_at + SILENT_LEAST_MS - query.patience_ms - 1) + query.patience_ms
    return WallMs(min(due, granted_at + SILENT_MOST_MS))


def _held(query: QueryView, due: int) -> WallMs:
    """When the coming window may be swept, which would be due then if no input were behind."""
    return WallMs(max((_held_by(query, i, due) for i in query.inputs), default=due))


def _told_by(query: QueryView, upstream: UpstreamView, due: int) -> int:
    """When stages in front have said, or may be expected to say, that the coming window is complete.

    A watermark that is announced is acted upon by the next batch, whatever it reads: their word alone lets that run.
    """
    if upstream.complete is not None and upstream.complete >= query.deadline:
        return due if query.trigger_ms or upstream.complete_at is None else min(due, upstream.complete_at)
    return NEVER if query.pending else max(due, (query.granted_at or 0) + TOLD_LEAST_MS)


def _held_by(query: QueryView, view: InputView, due: int) -> int:
    """When the coming window may be swept, which would be due then if no partition of this input were behind."""
    if view.upstream is not None:
        return _told_by(query, view.upstream, due)
    if view.held_until is None or view.held_until <= due:
        return due
    if view.slowest is not None and view.slowest - view.patience_ms >= query.deadline:
        return due  # a partition that is silent now has spoken for that window, and stock Spark would not wait either
    return view.held_until if view.held_most_ms is None else min(view.held_until, due + view.held_most_ms)


def _sweeps_at(query: QueryView) -> WallMs | None:
    """When the watermark that is announced may be acted upon; at once, if it was ripe by its rows when it was."""
    ripens = query.ripens if query.ripens is not None else query.announced + query.patience_ms if query.live else 0
    if ripens == 0:
        return query.granted_at
    if query.trigger_ms and query.granted_at is not None and ripens > query.granted_at:
        ripens = max(ripens, tick_after(query, query.granted_at))
    return _held(query, ripens)


def _read_by(query: QueryView, granted_at: WallMs, due: WallMs) -> tuple[WallMs, int]:
    """When a window is due, or sooner if rows would wait too long to be read, or to be seen in the output."""
    every_ms = READ_MOST_MS if query.fresh_ms is None else max(query.fresh_ms, query.pace_ms)
    return (due, 0) if granted_at + every_ms >= due else (WallMs(granted_at + every_ms), every_ms)


def _rows_missing_ms(query: QueryView, read_at: WallMs) -> int:
    """Rows decide when a window may close, so they must be read first: how soon it can pay to look for them again."""
    limit = ripe(query, read_at)
    if limit is None:
        return GATE_LEAST_MS
    if query.pending or query.deadlines.upto(limit) > query.announced:
        return 0
    # Sources go on as fast as time does, unless they catch up: then the next look finds them further than that.
    return min(GATE_MOST_MS, max(GATE_LEAST_MS, query.deadlines.after(query.announced) - limit))
