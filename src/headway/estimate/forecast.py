"""Arrival rates of thousands of computations, forecast by triple exponential smoothing (Holt-Winters, additive seasons).

    level_t  = a (x_t - season_(t-m)) + (1 - a) (level_(t-1) + d trend_(t-1))
    trend_t  = b (level_t - level_(t-1)) + (1 - b) d trend_(t-1)
    season_t = c (x_t - level_(t-1) - d trend_(t-1)) + (1 - c) season_(t-m)

A row of each array is one series; all of them take a step together. Until two seasons are seen a moving average stands in,
and for a series without a season until `average` steps are. What is smoothed is the mean rate over a sliding window.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headway.errors import SettingError
from headway.estimate.fitting import Fit
from headway.estimate.smoothing import BEFORE_A_FIT, NO_SEASON, Smoothing, SmoothingTable, moving_mean
from headway.model.arrays import Floats, Places
from headway.model.ring import RingShape

AGAIN = 2  # a season is looked for again once a series is so many times as long


@dataclass(frozen=True, slots=True)
class ForecastSettings:
    """How series are read and when a model is fitted anew. All lengths but that of a step are in steps."""

    step_ms: int = 1000
    window: int = 5  # the sliding window over which a rate is averaged
    average: int = 30  # the moving average that stands in, over so many
    error: float = 0.25  # a step that is missed by more than this share of the mean rate is a miss
    misses: int = 5  # in a row, before the model is fitted anew
    fit_seasons: int = 4  # it is fitted on the latest of so many seasons
    fit_least: int = 60  # and on no fewer steps than this
    longest: int = 0  # season that is looked for where none is given; 0: none is
    smoothing: Smoothing = BEFORE_A_FIT  # before the first fit

    def __post_init__(self) -> None:
        for name in ("step_ms", "window", "average", "misses", "fit_least"):
            if getattr(self, name) < 1:
                raise SettingError(f"forecast.{name}", getattr(self, name), "a whole number of 1 or more")
        if self.fit_seasons < 2:
            raise SettingError("forecast.fit_seasons", self.fit_seasons, "2 seasons or more")
        if not self.error > 0:
            raise SettingError("forecast.error", self.error, "a share above 0, e.g. 0.25")
        if self.longest < 0:
            raise SettingError("forecast.longest", self.longest, "0 steps or more")


AS_THEY_COME = ForecastSettings()


class RecentSteps:
    """The last steps of many series, as many as are kept."""

    def __init__(self, series: int, kept: int) -> None:
        self.kept, self.count = kept, 0
        self._ring = np.zeros((series, kept))

    def append(self, values: Floats) -> None:
        self._ring[:, self.count % self.kept] = values
        self.count += 1

    def last(self, steps: int, rows: Places | slice = slice(None)) -> Floats:
        """Oldest first; fewer where fewer were seen."""
        steps = min(steps, self.count, self.kept)
        return np.asarray(self._ring[rows][:, np.arange(self.count - steps, self.count) % self.kept])

    def take(self, other: "RecentSteps", rows: Places) -> None:
        """The first rows of this are rows of another."""
        past = other.last(min(self.kept, other.kept), rows)
        self.count = other.count
        self._ring[: len(rows), np.arange(self.count - past.shape[1], self.count) % self.kept] = past


class Forecaster:
    """Models of many series, updated in one vectorised step. It fits nothing itself.

    `due` names the series whose model should be fitted and `latest` is what to fit it on. `adopt` takes what was found,
    however much later that is: the model is then run anew over what is kept of the series.
    """

    def __init__(self, seasons: Sequence[int | None], settings: ForecastSettings = AS_THEY_COME) -> None:
        self.settings = settings
        self.declared: Places = np.array([_length(season) for season in seasons], dtype=np.int64)
        longest = max(settings.longest, int(self.declared.max(initial=NO_SEASON)))
        n = len(self.declared)
        self.seen: Places = np.zeros(n, dtype=np.int64)
        self.model = SmoothingTable(self.declared, settings.smoothing, longest)
        self._rates = RecentSteps(n, settings.window)  # as they came; the sliding window
        self._means = RecentSteps(n, max(settings.fit_seasons * longest, settings.fit_least, settings.average))
        self._missed: Places = np.zeros(n, dtype=np.int64)  # in a row
        self._fitted: Places = np.zeros(n, dtype=np.int64)  # of how many steps the last fit knew; 0: there was none

    def __len__(self) -> int:
        return len(self.declared)

    @property
    def ready(self) -> NDArray[np.bool_]:
        """Series that have a model; a moving average stands in for the others."""
        return np.asarray(self.seen >= self._first())

    def observe(self, rates: Floats) -> None:
        """The rate of each series in the step that has ended; NaN where nothing is known of it."""
        self._rates.append(rates)
        window = self._rates.last(self.settings.window)
        known = ~np.isnan(window) & (np.arange(window.shape[1])[::-1] <= self.seen[:, None])
        count, average = known.sum(axis=1), self._average()
        expected = self._next(average)
        # A gap is taken to be what was expected, so that time goes on in the model.
        values = np.where(count > 0, np.where(known, window, 0.0).sum(axis=1) / np.maximum(count, 1), expected)
        was_ready = self.ready
        self._judge(values, expected, average)
        self._means.append(values)
        self.seen += 1
        self.model.step(values[was_ready], np.flatnonzero(was_ready))
        self._run_anew(np.flatnonzero(self.ready & ~was_ready))

    def forecast(self, steps: int) -> Floats:
        """The mean rate of each series in each of the coming steps; never below 0."""
        ready = self.ready
        if ready.all():
            return np.maximum(self.model.ahead(steps, np.arange(len(self))), 0.0)
        found = np.repeat(self._average()[:, None], steps, axis=1)
        if ready.any():
            found[ready] = self.model.ahead(steps, np.flatnonzero(ready))
        return np.maximum(found, 0.0)

    def rates(self, shape: RingShape) -> Floats:
        """The same by the windows of a ring whose first window begins where the last step ended."""
        # A series without a season is expected to stay as it is: it has one rate in all windows.
        found = np.repeat(self._next(self._average())[:, None], shape.size, axis=1)
        seasonal = np.flatnonzero(self.ready & (self.model.lengths > NO_SEASON))
        if len(seasonal):
            steps = -(-shape.span_ms // self.settings.step_ms)
            coming = np.maximum(self.model.ahead(steps, seasonal), 0.0)
            found[seasonal] = _by_windows(coming, shape, self.settings.step_ms)
        return found

    def _next(self, average: Floats) -> Floats:
        """What the coming step is expected to be."""
        found, rows = average.copy(), np.flatnonzero(self.ready)
        if len(rows):
            found[rows] = self.model.ahead(1, rows)[:, 0]
        return np.maximum(found, 0.0)

    def due(self) -> Places:
        """Series with a new model, with one that has missed too often in a row, or that may show a season by now."""
        looks = (self.declared == NO_SEASON) & (self.settings.longest > 0) & (self.seen <= AGAIN * self._means.kept)
        anew = (self._missed >= self.settings.misses) | (looks & (self.seen >= AGAIN * self._fitted))
        return np.flatnonzero(self.ready & ((self._fitted == 0) | anew))

    def latest(self, row: int) -> Floats:
        """The latest of a series, oldest first: what its model is to be fitted on."""
        longest = max(int(self.model.lengths[row]), self.settings.longest if self.declared[row] == NO_SEASON else 0)
        wanted = max(self.settings.fit_seasons * longest, self.settings.fit_least)
        found: Floats = self._means.last(min(wanted, int(self.seen[row])), np.array([row]))[0]
        return found

    def adopt(self, fits: Mapping[int, Fit]) -> None:
        """What fits have found, by series: each is modelled so from now on."""
        for row, found in fits.items():
            self.model.change(row, _length(found.season), found.smoothing)
        rows = np.array(sorted(fits), dtype=np.int64)
        self._missed[rows] = 0
        self._fitted[rows] = self.seen[rows]
        self._run_anew(rows[self.ready[rows]])

    def keep(self, rows: Places, joining: Sequence[int | None] = ()) -> "Forecaster":
        """One that goes on with these series, in this order, and with new ones of these seasons behind them."""
        kept = [None if length == NO_SEASON else length for length in self.declared[rows].tolist()]
        made, n = Forecaster([*kept, *joining], self.settings), len(rows)
        made._rates.take(self._rates, rows)
        made._means.take(self._means, rows)
        made.model.take(self.model, rows)
        made.seen[:n], made._missed[:n], made._fitted[:n] = self.seen[rows], self._missed[rows], self._fitted[rows]
        return made

    def _judge(self, values: Floats, expected: Floats, average: Floats) -> None:
        size = np.maximum(np.abs(average), 1e-9)
        missed = self.ready & (np.abs(values - expected) > self.settings.error * size)
        self._missed = np.where(missed, self._missed + 1, 0)

    def _first(self) -> Places:
        """How many steps a series takes to get a model."""
        lengths = self.model.lengths
        first: Places = np.where(lengths > NO_SEASON, 2 * lengths, self.settings.average)
        return first

    def _average(self) -> Floats:
        return moving_mean(self._means.last(self.settings.average), self.seen)

    def _run_anew(self, rows: Places) -> None:
        """The models of these series, begun with the oldest steps that are kept of them and run up to now."""
        if not len(rows):
            return
        seen = np.minimum(self.seen, self._means.kept)
        groups = np.stack([self._first()[rows], seen[rows], self.model.lengths[rows]], axis=1)
        for group in np.unique(groups, axis=0):
            alike, (first, steps, _) = rows[(groups == group).all(axis=1)], group.tolist()
            past = self._means.last(steps, alike)
            self.model.begin(alike, past[:, :first])
            for at in range(first, steps):
                self.model.step(past[:, at], alike)


def _length(season: int | None) -> int:
    if season is None:
        return NO_SEASON
    if season < 2:
        raise SettingError("forecast.season", season, "2 steps or more, or nothing where there is no season")
    return int(season)


def _by_windows(coming: Floats, shape: RingShape, step_ms: int) -> Floats:
    """Steps as means of the windows of a ring."""
    steps = coming.shape[1]
    # A rate is even within its step, so what has come in by a moment is a line from step to step.
    sums = np.zeros((len(coming), steps + 1))
    np.cumsum(coming, axis=1, out=sums[:, 1:])
    edges = np.append(shape.starts_ms, shape.span_ms) / step_ms
    low = np.minimum(edges.astype(np.int64), steps - 1)
    at_edges = sums[:, low] + (edges - low) * (sums[:, low + 1] - sums[:, low])
    return np.asarray(np.diff(at_edges, axis=1) / np.diff(edges))
