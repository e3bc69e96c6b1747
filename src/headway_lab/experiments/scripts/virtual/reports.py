"""What a batch reports of its rows, worked out from the rows themselves as `spark/watermark.py` has Spark measure it."""

from collections import Counter
from collections.abc import Sequence

from headway.loop.sampler import CELL_MS
from headway.model.message import InputSeen
from headway.model.time import EventMs

AHEAD_MS = 60_000  # rows further ahead of the clock than this say nothing of how far a stream is
BINS, OLD_BINS = 32, 128


def beyond_horizon(event: int | None, timestamp: int, horizon_ms: int | None) -> bool:
    """Whether a row is set aside because it is from the future, by the clock of its batch."""
    return event is not None and horizon_ms is not None and event > timestamp + horizon_ms


def input_seen(
    name: str, events: Sequence[int | None], timestamp: int, patience_ms: int, horizon_ms: int | None
) -> InputSeen:
    """The figures of one input in a batch with this timestamp, by the wall clock."""
    timed = [e for e in events if e is not None and not beyond_horizon(e, timestamp, horizon_ms)]
    future = sum(beyond_horizon(e, timestamp, horizon_ms) for e in events)
    near = [e for e in timed if e <= timestamp + AHEAD_MS]
    return InputSeen(
        name,
        rows=len(events),
        newest=EventMs(max(near)) if near else None,
        foremost=EventMs(max(timed)) if timed else None,
        oldest=EventMs(min(timed)) if timed else None,
        delays=tuple((float(at), n) for at, n in histogram(Counter(float(timestamp - e) for e in timed), BINS)),
        old=tuple(
            (int(cell * CELL_MS), n)
            for cell, n in histogram(Counter(float(e // CELL_MS) for e in timed if e < timestamp - patience_ms), OLD_BINS)
        ),
        timeless=sum(e is None for e in events),
        future=future,
    )


def histogram(counts: Counter[float], bins: int) -> list[tuple[float, float]]:
    """Spark's `histogram_numeric`: the two bins that are closest become one, until there are few enough."""
    found = sorted((at, float(n)) for at, n in counts.items())
    while len(found) > bins:
        k = min(range(len(found) - 1), key=lambda i: found[i + 1][0] - found[i][0])
        (x, n), (y, m) = found[k], found[k + 1]
        found[k : k + 2] = [((x * n + y * m) / (n + m), n + m)]
    return found
