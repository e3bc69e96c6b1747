"""Level, trend and season of many series, smoothed exponentially: the arrays, one step, and what comes."""

from dataclasses import astuple, dataclass

import numpy as np

from headway.errors import SettingError
from headway.model.arrays import Floats, Places

NO_SEASON = 1  # as the length of a season


@dataclass(frozen=True, slots=True)
class Smoothing:
    """How much the newest step counts for the level, the trend and the season of a series; `damping` 1 lets a trend last."""

    level: float = 0.2
    trend: float = 0.01
    season: float = 0.2
    damping: float = 1.0

    def __post_init__(self) -> None:
        for name in ("level", "trend", "season", "damping"):
            if not 0 <= getattr(self, name) <= 1:
                raise SettingError(f"forecast.{name}", getattr(self, name), "a share from 0 to 1")


BEFORE_A_FIT = Smoothing()


class SmoothingTable:
    """Level, trend and season of many series. A series without a season has a level only."""

    def __init__(self, lengths: Places, smoothing: Smoothing, longest: int = NO_SEASON) -> None:
        n = len(lengths)
        self.lengths = lengths.copy()  # of their seasons
        self._level, self._trend = np.zeros(n), np.zeros(n)
        self._season = np.zeros((n, int(lengths.max(initial=longest))))
        self._next: Places = np.zeros(n, dtype=np.int64)  # the place in its season that the next step has
        self._with = np.tile(np.array([astuple(smoothing)]), (n, 1))

    def smoothing(self, row: int) -> Smoothing:
        return Smoothing(*self._with[row].tolist())

    def change(self, row: int, length: int, smoothing: Smoothing) -> None:
        """Another season, other constants. The model of this series has to begin anew."""
        self.lengths[row] = length
        self._with[row] = astuple(smoothing)

    def take(self, other: "SmoothingTable", rows: Places) -> None:
        """The first rows of this are rows of another."""
        n, width = len(rows), min(self._season.shape[1], other._season.shape[1])
        self.lengths[:n], self._with[:n], self._next[:n] = other.lengths[rows], other._with[rows], other._next[rows]
        self._level[:n], self._trend[:n] = other._level[rows], other._trend[rows]
        self._season[:n, :width] = other._season[rows, :width]

    def begin(self, rows: Places, past: Floats) -> None:
        """Series with seasons of one length, out of their first two seasons."""
        length = int(self.lengths[rows[0]])
        level, trend, season = beginning(past, length)
        # So far that was the line's beginning; the model stands at its end.
        self._level[rows], self._trend[rows] = level + trend * past.shape[1], trend
        self._season[rows, :length] = season
        self._next[rows] = 0

    def step(self, values: Floats, rows: Places) -> None:
        """One more step of these series."""
        if not len(rows):
            return
        a, b, c, damping = self._with[rows].T
        level, trend, at = self._level[rows], damping * self._trend[rows], self._next[rows]
        season, seasonal = self._season[rows, at], self.lengths[rows] > NO_SEASON
        risen = a * (values - season) + (1 - a) * (level + trend)
        self._level[rows] = risen
        self._trend[rows] = np.where(seasonal, b * (risen - level) + (1 - b) * trend, 0.0)
        self._season[rows, at] = np.where(seasonal, c * (values - level - trend) + (1 - c) * season, 0.0)
        self._next[rows] = (at + 1) % self.lengths[rows]

    def ahead(self, steps: int, rows: Places) -> Floats:
        """What each of the coming steps is expected to be."""
        coming = np.arange(steps)
        places = self._next[rows][:, None] + coming
        places %= self.lengths[rows][:, None]
        dampings, which = np.unique(self._with[rows, 3], return_inverse=True)
        risen = np.cumsum(dampings[:, None] ** (coming + 1), axis=1)  # few constants, many series
        lines = self._level[rows][:, None] + self._trend[rows][:, None] * (risen if len(risen) == 1 else risen[which])
        return np.asarray(lines + self._season[rows[:, None], places])


def beginning(past: Floats, length: int) -> tuple[Floats, Floats, Floats]:
    """Level one step before the first, trend and season, as the first two seasons of each series show them.

    The line goes through the means of both seasons; the season is what each place is above the line on average. A series
    without a season has its mean.
    """
    if length == NO_SEASON:
        return past.mean(axis=1), np.zeros(len(past)), np.zeros((len(past), 1))
    first, second = past[:, :length].mean(axis=1), past[:, length:].mean(axis=1)
    trend = (second - first) / length
    level = (first + second) / 2 - trend * (length + 0.5)
    above = past - level[:, None] - trend[:, None] * np.arange(1, 2 * length + 1)
    return level, trend, (above[:, :length] + above[:, length:]) / 2


def moving_mean(past: Floats, seen: Places) -> Floats:
    """The mean of the last columns, as many as each row has seen; 0 where it has seen none."""
    width = past.shape[1]
    own = np.arange(width)[::-1] < seen[:, None]
    return np.asarray(np.where(own, past, 0.0).sum(axis=1) / np.maximum(1, np.minimum(seen, width)))
