"""Klink's second half: while memory is short, run the query whose batch frees most (section 3.4)."""

import numpy as np

from headway.model.arrays import Floats
from headway.model.decision import Decision, Grant, Hold
from headway.model.time import WallMs
from headway.model.view import QueryView, Snapshot
from headway.policy.order.emission import announce


def freed(gone: Floats, spent_ms: Floats, step_ms: float) -> Floats:
    """p: rows that leave memory in a step, of those that would if all were run, which takes `spent_ms`."""
    return np.asarray(gone * np.minimum(1.0, step_ms / np.maximum(spent_ms, 1e-9)))


def freed_rows(query: QueryView, now: WallMs, step_ms: int) -> float:
    """sz x (1 - selectivity), at most what fits into a step, of a query's next batch.

    On Spark a query's operators run together, so its selectivity is that of the whole chain. The fixed part of a batch is
    paid whatever the rows, so only the part per row counts against the step.
    """
    queued = query.queued(now)
    gone, spent_ms = queued * (1 - min(1.0, query.selectivity)), query.per_row_ms * queued
    return float(freed(np.array(gone), np.array(spent_ms), step_ms))


def most_relieving(ready: tuple[QueryView, ...], slack: Floats, snap: Snapshot, step_ms: int) -> Decision:
    """Grant the query that frees most; ties by least slack, then by name. Nothing is announced ahead meanwhile."""
    now = snap.now
    # A watermark announced ahead must not be swept before it is due, however short memory is.
    open_ = [i for i, q in enumerate(ready) if not (q.pending and q.due is not None and q.due > now)]
    freeing = [i for i in open_ if freed_rows(ready[i], now, step_ms) >= 1]
    due = [i for i in open_ if (at := ready[i].due) is None or at <= now]
    if not (freeing or due):
        soonest = min(q.due for q in ready if q.due is not None)
        why = "no batch would free any" if open_ else "every waiting query has a watermark announced ahead"
        return Hold(soonest, because=f"memory {snap.memory.used:.0%} in use, but {why}")
    best = min(freeing or due, key=lambda i: (-round(freed_rows(ready[i], now, step_ms)), slack[i], ready[i].name))
    chosen, freed = ready[best], freed_rows(ready[best], now, step_ms)
    return Grant(
        chosen.name,
        announce(chosen, now, ahead=False),
        because=f"memory {snap.memory.used:.0%} in use: frees most, {freed:.0f} rows of {chosen.queued(now):.0f} queued",
    )
