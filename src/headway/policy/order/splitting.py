"""A window's rows in several batches: whether that pays, how many there should be, and when the first should start.

The batch that emits finds what came in during the one before, so that should be short. It is, if it finds little itself:
with `load` the time that the rows of a moment cost, a batch takes fixed + load x the one before, and ever smaller ones
approach fixed / (1 - load). The first of k must start as long before the window is due as all of them take. Each spares
the window a part of its rows, and costs every query that waits meanwhile a fixed part: one of them at most, since later
ones have later deadlines. Where cores lie idle, to spare a tenth of a batch is enough to be worth the processor time.
"""

from collections.abc import Iterator
from math import fsum, inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.model.arrays import Floats
from headway.model.columns import Columns
from headway.model.time import WallMs
from headway.model.view import QueryView, Snapshot

LEAST_SPARED = 0.1  # of the fixed part of a batch


def price(snap: Snapshot, split: float) -> float:
    """What one batch more must spare its window, in fixed parts of a batch."""
    return split * min(1.0, max(LEAST_SPARED, crowd_if_split(snap)))


def crowd_if_split(snap: Snapshot) -> float:
    """How many batches would wait for a slot, on average, if every query worked its windows off in two of them.

    Sakasegawa's approximation for a queue with several servers: busy^sqrt(2 (slots + 1)) / (1 - busy).
    """
    loads = [q.split_load for q in snap.queries] if snap.few else snap.columns.split_load.tolist()
    busy = fsum(loads) / snap.slots
    return inf if busy >= 1 else busy ** sqrt(2 * (snap.slots + 1)) / (1 - busy)


def plans(fixed: Any, cost: Any, load: Any, slack: Any, most: int, spare: float) -> Iterator[tuple[int, Any, Any, Any]]:
    """For each number of batches: that number, how long from now the first of them may wait, the time that is kept in hand
    of that, and what the batch that emits will cost. Of one query, in numbers, or of many, in arrays."""
    # All of them take `ours` x the first + `theirs` x fixed; the one that emits, `share` x the first + `rest` x fixed.
    ours, theirs, rest, share = 1.0, 0.0, 1.0, load
    for k in range(1, most + 1):
        # Slack shrinks faster than time passes, because the queue, and with it the cost, grows meanwhile.
        in_hand = fixed / 2 + spare * (ours * cost + theirs * fixed)
        lead = (slack - (ours - 1) * cost - theirs * fixed - in_hand) / (1 + (1 + spare) * ours * load)
        yield k, lead, in_hand, rest * fixed + share * (cost + load * (lead * (lead > 0)))
        ours, theirs, rest, share = ours + share, theirs + rest, rest + share, share * load


def batches_before(
    seen: Columns, slack: Floats, now: WallMs, price: float, most: int, spare: float
) -> tuple[Floats, NDArray[np.intp]]:
    """When the next batch of each query should start that works for a window which is not due yet, and how many there
    should be."""
    fixed, cost = seen.fixed_ms, seen.cost_ms(now)
    load = seen.per_row_ms * seen.rows_per_s / 1000
    best, best_at, best_k = np.full(len(cost), inf), np.zeros(len(cost)), np.ones(len(cost), dtype=np.intp)
    for k, lead, in_hand, last in plans(fixed, cost, load, slack, most, spare):
        score = last + price * fixed * k
        better = (score < best) & ((lead >= -in_hand) | (k == 1))  # too late for as many as that
        best, best_at, best_k = (
            np.where(better, score, best),
            np.where(better, now + lead, best_at),
            np.where(better, k, best_k),
        )
    return best_at, best_k


def batches_before_one(
    query: QueryView, slack: float, now: WallMs, price: float, most: int, spare: float
) -> tuple[float, int]:
    """The same of one query."""
    best, best_at, best_k = inf, 0.0, 1
    for k, lead, in_hand, last in _plans_of(query, slack, now, most, spare):
        score = last + price * query.fixed_ms * k
        if score < best and (lead >= -in_hand or k == 1):
            best, best_at, best_k = score, now + lead, k
    return best_at, best_k


def never_before(query: QueryView, slack: float, now: WallMs, most: int, spare: float) -> float:
    """The moment before which none of its batches starts, whatever the price: how long the first may wait does not depend
    on when that is asked, since the queue grows as time passes."""
    return now + float(min(lead for _, lead, _, _ in _plans_of(query, slack, now, most, spare)))


def _plans_of(query: QueryView, slack: float, now: WallMs, most: int, spare: float) -> Iterator[tuple[int, Any, Any, Any]]:
    load = query.per_row_ms * query.rows_per_s / 1000
    return plans(query.fixed_ms, query.cost_ms(now), load, slack, most, spare)
