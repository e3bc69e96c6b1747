"""Rows by the step in which they came into being. Counts are whole numbers, and nothing here makes or loses one.

A table has a row for each queue and a column for each step of birth; the oldest leave a queue first.
"""

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]


def oldest(queues: Rows, most: Rows) -> Rows:
    """Of each queue its oldest rows, so many at most."""
    before = np.cumsum(queues, axis=1) - queues
    return np.clip(most[:, None] - before, 0, queues)


def split(rows: Rows, shares: NDArray[np.float64]) -> Rows:
    """Rows of one queue over several, by shares that add up to 1: a table with a row for each share.

    What rounding leaves over goes to another share in each column, so that small numbers are spread too.
    """
    edges = np.concatenate([[0.0], np.cumsum(shares)])
    edges[-1] = 1.0
    turn = (np.arange(len(rows)) * 0.618033988749895) % 1.0  # shifts where the rounding falls
    marks = np.floor(edges[:, None] * rows[None, :] + turn[None, :] * (edges[:, None] > 0)).astype(np.int64)
    marks = np.minimum(marks, rows[None, :])
    marks[-1] = rows
    return np.asarray(np.diff(marks, axis=0))


def thinned(processed: Rows, ratio: float, cap: Rows | None) -> Rows:
    """Rows out, by birth, once so many of each birth have been processed in all."""
    out = np.floor(processed * ratio + 1e-9).astype(np.int64)
    return out if cap is None else np.asarray(np.minimum(out, cap))


def shared(amount: int, waiting: Rows) -> Rows:
    """A capacity over queues in proportion to what waits in them; never more than waits."""
    total = int(waiting.sum())
    if amount >= total:
        return waiting.copy()
    marks = np.floor(np.cumsum(waiting) * (amount / total) + 1e-9).astype(np.int64)
    marks[-1] = amount
    return np.asarray(np.minimum(np.diff(marks, prepend=0), waiting))
