"""Micro-batches over time, slot by slot, with the moments at which their windows were due."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from headway.dashboard.lines import BatchLine, WindowOut


@dataclass(frozen=True, slots=True)
class BatchBar:
    """One batch, as it is drawn."""

    lane: int
    query: str
    batch: int
    began: int
    at: int
    took_ms: int
    rows: int
    ends: tuple[int, ...]  # windows that came out with it
    due: tuple[int, ...]  # when each of them was
    worst_ms: int | None  # the latency of the latest


def bars(batches: Sequence[BatchLine], windows: Mapping[tuple[str, int], Sequence[WindowOut]]) -> list[BatchBar]:
    """Batches that overlap lie in different lanes, and a lane that is free again is used first: so lanes are slots."""
    free, busy, made, lanes = list[int](), list[tuple[int, int]](), list[BatchBar](), 0
    for batch in sorted(batches, key=lambda b: (b.began, b.at, b.query)):
        while busy and busy[0][0] <= batch.began:
            heappush(free, heappop(busy)[1])
        if free:
            lane = heappop(free)
        else:
            lane, lanes = lanes, lanes + 1
        heappush(busy, (batch.at, lane))
        out = windows.get((batch.query, batch.batch), ())
        made.append(
            BatchBar(
                lane,
                batch.query,
                batch.batch,
                batch.began,
                batch.at,
                batch.took_ms,
                batch.rows,
                tuple(w.end for w in out),
                tuple(w.due for w in out),
                max((w.latency_ms for w in out), default=None),
            )
        )
    return made


def by_batch(windows: Iterable[tuple[str, WindowOut]]) -> dict[tuple[str, int], list[WindowOut]]:
    """Windows, by the query and the batch that they came out with."""
    found = defaultdict[tuple[str, int], list[WindowOut]](list)
    for query, window in windows:
        found[query, window.batch].append(window)
    return dict(found)


def by_query(batches: Iterable[BatchLine]) -> dict[str, list[BatchLine]]:
    """Batches of each query, in their order."""
    found = defaultdict[str, list[BatchLine]](list)
    for batch in sorted(batches, key=lambda b: b.id):
        found[batch.query].append(batch)
    return dict(found)
