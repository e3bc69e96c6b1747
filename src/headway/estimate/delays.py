"""When the next sweeping watermark will come: the network delay of the last epochs (Klink, Eqs. 2-7)."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from headway.model.view import DelayView

Floats = NDArray[np.float64]
_NONE: Floats = np.empty(0)


@dataclass(frozen=True, slots=True)
class Epochs:
    """Mean and mean square of the network delay in each of the last `horizon` epochs, and a histogram of the delays.

    The histogram is the list of (delay, rows) that each epoch reported; it serves the empirical quantiles, which a
    normal curve misses when delays are skewed.
    """

    horizon: int = 400
    means: Floats = field(default_factory=lambda: _NONE)
    squares: Floats = field(default_factory=lambda: _NONE)
    histogram: tuple[tuple[tuple[float, float], ...], ...] = ()

    def add(self, mean_ms: float, square: float, histogram: tuple[tuple[float, float], ...] = ()) -> "Epochs":
        """The history after one more epoch, whose rows had this mean delay and mean squared delay."""
        keep = self.horizon - 1
        return Epochs(
            self.horizon,
            np.append(self.means[-keep:] if keep else _NONE, mean_ms),
            np.append(self.squares[-keep:] if keep else _NONE, square),
            (*self.histogram[-keep:], histogram) if histogram else self.histogram,
        )

    def view(self, confidence: float = 0.95) -> DelayView | None:
        if not len(self.means):
            return None
        mean = float(self.means.mean())
        low, high = self._quantiles(confidence)
        return DelayView(
            len(self.means), mean, mean_of_epochs_sd(self.means, self.squares), draw_sd(self.means, self.squares), low, high
        )

    def _quantiles(self, confidence: float) -> tuple[float, float]:
        if not self.histogram:
            half = normal_half_width(confidence) * draw_sd(self.means, self.squares)
            return float(self.means.mean()) - half, float(self.means.mean()) + half
        # The last 50 epochs are plenty for a quantile, and sorting 400 of them on every batch is not free.
        delay, rows = np.array([pair for epoch in self.histogram[-50:] for pair in epoch]).T
        order = np.argsort(delay, kind="stable")
        share = np.cumsum(rows[order]) / rows.sum()
        tail = (1 - confidence) / 2
        low, high = np.searchsorted(share, [tail, 1 - tail])
        last = len(delay) - 1
        return float(delay[order[min(low, last)]]), float(delay[order[min(high, last)]])


def mean_of_epochs_sd(means: Floats, squares: Floats) -> float:
    """The square root of Eq. 6 as printed: how far the mean of the epochs' delays may be from its expectation.

    Var = 1/m [chi + 1/m sum_{i != j} mu_i mu_j] - mu^2. This shrinks with the number of epochs, so as an interval
    for one watermark it is far too narrow; it is kept to show just that.
    """
    m = len(means)
    cross = means.sum() ** 2 - (means**2).sum()
    variance = (squares.mean() + cross / m) / m - means.mean() ** 2
    return float(np.sqrt(max(0.0, variance)))


def draw_sd(means: Floats, squares: Floats) -> float:
    """How far the next single delay may be from the mean: the variance of one draw plus that of the mean."""
    one = squares.mean() - means.mean() ** 2
    return float(np.sqrt(max(0.0, one) + mean_of_epochs_sd(means, squares) ** 2))


def normal_half_width(confidence: float) -> float:
    """How many standard deviations on either side of the mean hold `confidence` of a normal curve."""
    from scipy.special import ndtri

    return float(ndtri(0.5 + confidence / 2))
