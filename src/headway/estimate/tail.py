"""The tail of a stream's delays: a histogram in which old rows count less and less."""

from dataclasses import dataclass, field
from math import exp, inf

import numpy as np

from headway.estimate.delays import spans
from headway.model.arrays import Floats

STEP = 1.04  # from bucket to bucket: as fine as a few per cent of the delay, from a millisecond to more than a day
POINT_MS = 1e-6  # as wide as a row alone is taken to be
EDGES: Floats = np.concatenate([[0.0], STEP ** np.arange(0, 480)])


@dataclass(frozen=True, slots=True, eq=False)
class Tail:
    """Rows per bucket of delay; a row's weight fades as `memory_rows` others come after it."""

    memory_rows: float = inf
    weights: Floats = field(default_factory=lambda: np.zeros(len(EDGES)))  # up to each edge from the one before
    longest_ms: float = 0.0

    def add(self, histogram: tuple[tuple[float, float], ...]) -> "Tail":
        """After a batch with these (delay, rows)."""
        if not histogram:
            return self
        lower, upper, rows = spans((histogram,))
        place = np.sort([delay for delay, _ in histogram])
        lower, upper = (np.where(rows <= 1, place, edge) for edge in (lower, upper))  # a row alone is where it is
        fades = exp(-float(rows.sum()) / self.memory_rows) if self.memory_rows < inf else 1.0
        # A bin of Spark's stands for rows on either side of it, spread evenly; what came early counts as without delay.
        within = np.clip((EDGES[:, None] - lower + POINT_MS) / (upper - lower + POINT_MS), 0.0, 1.0)
        reached = (within * rows).sum(axis=1)
        reached[-1] = rows.sum()
        longest = max(self.longest_ms, float(upper.max()))
        return Tail(self.memory_rows, self.weights * fades + np.diff(reached, prepend=0.0), longest)

    @property
    def rows(self) -> float:
        return float(self.weights.sum())

    def within(self, share: float) -> float:
        """The delay that this share of the rows kept to; within a bucket rows are taken to lie evenly."""
        reached = np.cumsum(self.weights)
        if reached[-1] <= 0:
            return 0.0
        at = share * reached[-1] * (1 - 1e-12)
        bucket = int(np.searchsorted(reached, at))
        below, edge = (EDGES[bucket - 1], EDGES[bucket]) if bucket else (0.0, 0.0)
        before = reached[bucket] - self.weights[bucket]
        return float(min(self.longest_ms, below + (edge - below) * (at - before) / max(self.weights[bucket], 1e-12)))
