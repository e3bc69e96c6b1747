"""When the next sweeping watermark will come: the network delay of the last epochs (Klink, Eqs. 2-7)."""

from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import sqrt

import numpy as np

from headway.model.arrays import Floats
from headway.model.view import DelayView

_NONE: Floats = np.empty(0)
MOST_BINS = 32  # of an epoch that several batches have read: as many as one of Spark's histograms has

Histogram = tuple[tuple[float, float], ...]  # delay in ms, rows


@dataclass(frozen=True, slots=True)
class Unswept:
    """What was read since the last sweep: the epoch that is not over yet, however many batches it takes."""

    rows: float = 0.0
    total: float = 0.0
    squares: float = 0.0
    histogram: Histogram = ()

    def read(self, histogram: Histogram) -> "Unswept":
        rows = sum(n for _, n in histogram)
        mean, square = moments(histogram)
        return Unswept(
            self.rows + rows, self.total + rows * mean, self.squares + rows * square, joined(self.histogram, histogram)
        )


@dataclass(frozen=True, slots=True)
class Epochs:
    """Mean and mean square of the network delay in each of the last `horizon` epochs, and a histogram of the delays.

    An epoch ends with a sweep. The histogram is the list of (delay, rows) that was read in each; it serves the empirical
    quantiles, which a normal curve misses when delays are skewed.
    """

    horizon: int = 400
    means: Floats = field(default_factory=lambda: _NONE)
    squares: Floats = field(default_factory=lambda: _NONE)
    histogram: tuple[Histogram, ...] = ()
    unswept: Unswept = Unswept()

    def read(self, histogram: Histogram) -> "Epochs":
        """After a batch with these (delay, rows); they count once their epoch is over."""
        return replace(self, unswept=self.unswept.read(histogram)) if histogram else self

    def swept(self) -> "Epochs":
        """After a sweep: what was read since the last one is an epoch, unless nothing was."""
        last = self.unswept
        return self.add(last.total / last.rows, last.squares / last.rows, last.histogram) if last.rows > 0 else self

    def add(self, mean_ms: float, square: float, histogram: Histogram = ()) -> "Epochs":
        """The history after one more epoch, whose rows had this mean delay and mean squared delay."""
        return Epochs(
            self.horizon,
            np.append(self.means, mean_ms)[-self.horizon :],
            np.append(self.squares, square)[-self.horizon :],
            (*self.histogram, histogram)[-self.horizon :] if histogram else self.histogram,
        )

    def view(self, confidence: float = 0.95) -> DelayView | None:
        if not len(self.means):
            return None
        mean, mean_sd, draw = spreads(self.means, self.squares)
        if self.histogram:
            low, high = self._quantiles(confidence)
        else:
            half = normal_half_width(confidence) * draw
            low, high = mean - half, mean + half
        return DelayView(len(self.means), mean, mean_sd, draw, low, high)

    def _quantiles(self, confidence: float) -> tuple[float, float]:
        # The last 50 epochs are plenty for a quantile, and sorting 400 of them on every batch is not free.
        last = self.histogram[-50:]
        if all(len(bins) == 1 for bins in last):  # points: nothing to spread
            lower, rows = np.array([bins[0] for bins in last]).T
            upper = lower
        else:
            lower, upper, rows = spans(last)
        tail = (1 - confidence) / 2
        return weighted_quantile(lower, rows, tail), weighted_quantile(upper, rows, 1 - tail)


def joined(one: Histogram, other: Histogram) -> Histogram:
    """Two histograms as one; where it has too many bins, the two closest become one, again and again."""
    if not one or not other:
        return one or other
    bins = sorted((*one, *other))
    gaps = [after[0] - before[0] for before, after in pairwise(bins)]
    while len(bins) > MOST_BINS:
        n = min(range(len(gaps)), key=gaps.__getitem__)
        (at, rows), (next_at, more) = bins[n : n + 2]
        bins[n : n + 2] = [((at * rows + next_at * more) / (rows + more), rows + more)]
        del gaps[n]
        for gap in (n - 1, n):
            if 0 <= gap < len(gaps):
                gaps[gap] = bins[gap + 1][0] - bins[gap][0]
    return tuple(bins)


def moments(histogram: Histogram) -> tuple[float, float]:
    """Mean and mean square of the delays in a histogram; 0 of an empty one.

    Spark's histogram stands for rows by their mean, bin by bin: the mean is exact, and the mean square short of the
    variance within bins, a thousandth of the whole with 32 of them.
    """
    delay, rows = np.array(histogram or ((0.0, 1.0),)).T
    return float(delay @ rows / rows.sum()), float(delay**2 @ rows / rows.sum())


def spans(histograms: tuple[Histogram, ...]) -> tuple[Floats, Floats, Floats]:
    """From where to where the rows of each bin may have been, halfway to its neighbours in the same epoch, and how many.

    A bin stands for rows on either side of it. Taken for a point, the first bin of a Zipf's delays lies above the shortest
    and most frequent one, and an interval of 95 % held 79.
    """
    epoch = np.repeat(np.arange(len(histograms)), [len(h) for h in histograms])
    delay, rows = np.array([pair for h in histograms for pair in h], dtype=float).T
    order = np.lexsort((delay, epoch))
    epoch, delay, rows = epoch[order], delay[order], rows[order]
    half = np.where(epoch[1:] == epoch[:-1], np.diff(delay) / 2, np.nan)
    before, after = np.concatenate([[np.nan], half]), np.concatenate([half, [np.nan]])
    # An epoch's first bin has no neighbour below it: it reaches as far down as up. A bin alone is a point.
    below = np.nan_to_num(np.where(np.isnan(before), after, before))
    above = np.nan_to_num(np.where(np.isnan(after), before, after))
    return delay - below, delay + above, rows


def weighted_quantile(values: Floats, weights: Floats, share: float) -> float:
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    # Sums of shares are a hair off: without the margin the hundredth of a hundred rows may not be found.
    at = np.searchsorted(reached, share * reached[-1] * (1 - 1e-12))
    return float(values[order[min(at, len(values) - 1)]])


def spreads(means: Floats, squares: Floats) -> tuple[float, float, float]:
    """The mean of the epochs' delays, how far it may be from its expectation, and how far the next single delay may be.

    The second is the square root of Eq. 6 as printed: Var = 1/m [chi + 1/m sum_{i != j} mu_i mu_j] - mu^2. It shrinks with
    the number of epochs, so as an interval for one watermark it is far too narrow; it is kept to show just that. The third
    is the variance of one draw plus that of the mean.
    """
    m, total, chi = len(means), float(means.sum()), float(squares.mean())
    mean = total / m
    cross = total**2 - float(means @ means)
    of_mean = max(0.0, (chi + cross / m) / m - mean**2)
    return mean, sqrt(of_mean), sqrt(max(0.0, chi - mean**2) + of_mean)


def normal_half_width(confidence: float) -> float:
    """How many standard deviations on either side of the mean hold `confidence` of a normal curve."""
    from scipy.special import ndtri

    return float(ndtri(0.5 + confidence / 2))
