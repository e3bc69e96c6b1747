"""How much a computation is disturbed on a node: the interference score (Buddhika et al., Fig. 5).

For each window, with r the node's use without the computation and c the computation's, both smoothed over their neighbours:

    ((r + c)^n - r^n) / (cpu x bandwidth)^n / resolution x (1 - distance / span)

and the sum over all windows. The paper does not say what is next to the first and the last window of a ring; here it is that
window itself. Its neighbour in the next ring is not taken, since the innermost ring is weighed by the measured load and the
others are not.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np

from headway.errors import SettingError
from headway.model.arrays import Floats
from headway.model.ring import RingShape


@dataclass(frozen=True, slots=True)
class Interference:
    """The settings of the score, and the score of many computations at once. In all arrays a column is a window."""

    amplifier: int = 3  # n
    cpu: float = 0.666  # cpuFrac: how much of the cores should be in use at most
    bandwidth: float = 0.70  # bwFrac

    def __post_init__(self) -> None:
        if self.amplifier < 1:
            raise SettingError("placement.n", self.amplifier, "a whole number of 1 or more, e.g. 3")
        if not 0 < self.cpu <= 1:
            raise SettingError("placement.cpu", self.cpu, "a share above 0 and up to 1, e.g. 0.666")
        if not 0 < self.bandwidth <= 1:
            raise SettingError("placement.bandwidth", self.bandwidth, "a share above 0 and up to 1, e.g. 0.7")

    def each(self, shape: RingShape, without: Floats, computations: Floats) -> Floats:
        """The score of the computation in each row on the node in the same row; one row on either side goes with all."""
        r, c = smoothed(shape, np.maximum(without, 0.0)), smoothed(shape, computations)
        # (r + c)^n - r^n without the subtraction, which loses digits where c is small: c ((r + c)^(n-1) + ... + r^(n-1)).
        both = r + c
        power, series = np.ones_like(both), np.ones_like(both)
        for _ in range(self.amplifier - 1):
            power = power * both
            series = series * r + power
        return np.asarray((c * series) @ self._weights(shape))

    def all(self, shape: RingShape, without: Floats, computations: Floats) -> Floats:
        """The score of every computation (row) on every node (column).

        By the binomial theorem (r + c)^n - r^n is a sum of products of a power of r and a power of c, so that the sum over
        windows is a product of two matrices for each power: a thousand computations on a thousand nodes take milliseconds.
        """
        n = self.amplifier
        r, c = smoothed(shape, np.maximum(without, 0.0)), smoothed(shape, computations)
        weights, found = self._weights(shape), np.zeros((len(c), len(r)))
        rising, falling = c.copy(), [np.ones_like(r)]
        for _ in range(n - 1):
            falling.append(falling[-1] * r)
        for power in range(1, n + 1):
            found += comb(n, power) * (rising * weights) @ falling[n - power].T
            rising *= c
        return found

    def _weights(self, shape: RingShape) -> Floats:
        return window_weights(shape) / (self.cpu * self.bandwidth) ** self.amplifier


def smoothed(shape: RingShape, values: Floats) -> Floats:
    """Each window, and half of either neighbour in its ring."""
    rings = np.asarray(values, dtype=np.float64).reshape(*np.shape(values)[:-1], shape.count, shape.windows)
    half = 0.5 * rings
    out = rings.copy()
    out[..., 1:] += half[..., :-1]
    out[..., :1] += half[..., :1]
    out[..., :-1] += half[..., 1:]
    out[..., -1:] += half[..., -1:]
    return out.reshape(np.shape(values))


@lru_cache(maxsize=64)
def window_weights(shape: RingShape) -> Floats:
    """What is far off counts for less, and so does what is known coarsely: (1 - distance / span) / resolution."""
    weights = (1 - shape.starts_ms / shape.span_ms) / shape.widths_ms
    weights.setflags(write=False)
    return np.asarray(weights)
