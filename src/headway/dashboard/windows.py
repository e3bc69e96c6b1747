"""Which windows came out with which batch, and how long after they were due.

A batch emits every window that ends between the watermark of the batch before and its own. A window is due when it has ended
and the patience for stragglers is over; its latency counts from there.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from headway.dashboard.lines import BatchLine, WindowOut
from headway.model.deadline import Deadlines
from headway.model.time import EventMs, WallMs

MOST_AT_ONCE = 50  # windows of one batch that are told apart: the oldest, which are the latest
# Spark's own watermark is years back until something is announced, and a row of 1970 is no window that is waited for.
JUMP_MS = OLD_MS = 86_400_000


def windows_of(before: EventMs | None, batch: BatchLine, deadlines: Deadlines, patience_ms: int) -> tuple[WindowOut, ...]:
    """The windows of one batch; `before` is the watermark of the batch before it, 0 where that had none. Where it is not
    known, there is no saying which windows came out with this one."""
    if before is None or batch.watermark is None or batch.watermark <= before:
        return ()
    made = (WindowOut(end, WallMs(end + patience_ms), batch.at, batch.batch) for end in _ends(before, batch, deadlines))
    return tuple(window for window in made if abs(window.latency_ms) < OLD_MS)


def _ends(before: EventMs, batch: BatchLine, deadlines: Deadlines) -> Iterator[EventMs]:
    after = batch.watermark or 0
    if after - before > JUMP_MS:  # where the stream begins: how many windows there were is not known
        yield deadlines.upto(after)
        return
    end, told = deadlines.after(before), 0
    while end <= after and told < MOST_AT_ONCE:
        yield end
        end, told = deadlines.after(end), told + 1


def windows_in(
    batches: Iterable[BatchLine], deadlines: Deadlines, patience_ms: Callable[[int], int], before: EventMs | None = None
) -> list[WindowOut]:
    """All windows of one query's batches, which come in their order; `patience_ms` is that of a moment."""
    found = list[WindowOut]()
    for batch in batches:
        found += windows_of(before, batch, deadlines, patience_ms(batch.began))
        before = further(before, batch.watermark)
    return found


def further(before: EventMs | None, watermark: EventMs | None) -> EventMs:
    """The watermark after a batch with this one."""
    return max(before or EventMs(0), watermark or EventMs(0))


def quantiles(latencies: Sequence[int], shares: Sequence[float]) -> list[float | None]:
    """The latencies that these shares of the windows kept to; None where there are no windows."""
    if not latencies:
        return [None for _ in shares]
    return [float(value) for value in np.quantile(np.array(latencies, dtype=float), list(shares))]


def cumulated(latencies: Sequence[int], most: int = 100) -> list[tuple[float, float]]:
    """(latency, share of windows that were out by then), at `most` places or fewer."""
    if not latencies:
        return []
    ordered = np.sort(np.array(latencies, dtype=float))
    places = np.unique(np.linspace(0, len(ordered) - 1, min(most, len(ordered))).round().astype(int))
    return [(float(ordered[i]), float((i + 1) / len(ordered))) for i in places.tolist()]
