"""Forecasts against what came: of real series, and of one with a pattern that recurs (Fig. 4 of the paper).

A ring is scaled to a series: its windows are 1, 2 and 3 steps long, so that one of a series of seconds looks three minutes
ahead and one of days half a year. From some moments of the last part of each series all forecast the windows of a ring, from
what they have seen until then. An error is the mean absolute miss of the windows over the mean rate of the series. The
rivals are told the season that the first part of the series shows; prediction rings look for one themselves.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from headway.estimate.fitting import fit
from headway.estimate.forecast import Forecaster, ForecastSettings
from headway.estimate.season import season_of
from headway.model.arrays import Floats
from headway.model.ring import RingShape
from headway_lab.experiments.rings.rivals import RIVALS
from headway_lab.workloads.rates import RateSeries

RINGS = "prediction-rings"
HORIZONS = ("1..30 steps", "30..90 steps", "90..180 steps")  # the three rings
MOST_STEPS = 3000  # of a series: its latest
SEEN_FIRST = 0.6  # of these, before the first forecast
LONGEST = 300  # season, in steps
ORIGINS = 4  # moments of a series at which a seed forecasts
FIT_EVERY = 240  # steps, at most, while forecasts are asked for: fits are made aside
WINDOW_MS = 5_000  # the sliding window: a step that is longer is a mean already
SeriesErrors = dict[tuple[str, int], Floats]  # by method and seed: errors by ring


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """One series, cut to its latest steps, and its season."""

    series: RateSeries
    values: Floats
    season: int | None

    @property
    def first(self) -> int:
        return int(SEEN_FIRST * len(self.values))

    @property
    def shape(self) -> RingShape:
        return RingShape((self.series.step_ms, 2 * self.series.step_ms, 3 * self.series.step_ms))

    @property
    def ahead(self) -> int:
        """Steps that a ring looks ahead."""
        return self.shape.span_ms // self.series.step_ms


def trial(series: RateSeries) -> Trial:
    values = series.values[-MOST_STEPS:]
    return Trial(series, values, season_of(values[: int(SEEN_FIRST * len(values))], most=LONGEST))


def pattern(seed: int) -> RateSeries:
    """Messages per second of a source that does the same every 100 s: a ramp, a burst and a lull, with noise of 3 %."""
    at = np.arange(1500)
    ramp = np.concatenate([np.linspace(200, 600, 40), np.full(20, 1000.0), np.linspace(600, 200, 40)])
    noise = np.random.default_rng(seed).normal(1.0, 0.03, len(at))
    return RateSeries("pattern", f"recurring {seed}", 1000, ramp[at % 100] * noise)


def origins(one: Trial, seed: int) -> list[int]:
    """How many steps have been seen when a forecast is made; the whole of it must come to pass within the series."""
    last = len(one.values) - one.ahead
    drawn = np.random.default_rng((seed, len(one.values))).integers(min(one.first, last), last, endpoint=True, size=ORIGINS)
    return sorted(set(drawn.tolist()))


def windows(one: Trial, steps: Floats) -> Floats:
    """Steps as means of the windows of a ring."""
    edges = np.concatenate([one.shape.starts_ms, [one.shape.span_ms]]) // one.series.step_ms
    return np.asarray(np.add.reduceat(steps[: edges[-1]], edges[:-1]) / np.diff(edges))


def errors(one: Trial, said: Floats, origin: int) -> Floats:
    """By ring: the mean absolute miss over the mean rate."""
    came = windows(one, one.values[origin : origin + one.ahead])
    size = max(1e-9, float(np.abs(one.values).mean()))
    return np.asarray(np.abs(said - came).reshape(one.shape.count, -1).mean(axis=1) / size)


def settings(one: Trial) -> ForecastSettings:
    return ForecastSettings(one.series.step_ms, window=max(1, WINDOW_MS // one.series.step_ms), longest=LONGEST)


def rings_forecast(one: Trial, origin: int) -> Floats:
    """The windows of a ring, forecast after so many steps."""
    return _asked(one, {origin})[origin]


def rings_errors(one: Trial, at: Collection[int]) -> dict[int, Floats]:
    return {origin: errors(one, said, origin) for origin, said in _asked(one, at).items()}


def _asked(one: Trial, at: Collection[int]) -> dict[int, Floats]:
    """By moment: our own forecaster, which goes through the series once and is asked on the way."""
    model, found = Forecaster([None], settings(one)), dict[int, Floats]()
    for step in range(max(at) + 1):
        if step in at:
            found[step] = model.rates(one.shape)[0]
        model.observe(one.values[step : step + 1])
        # A fit that is due is made soon, and at the latest before a forecast is asked for; each begins with what is kept of
        # the series, so those before the first question would change nothing.
        soon = step >= one.first and step % FIT_EVERY == 0
        if (soon or step + 1 in at) and len(model.due()):
            model.adopt({0: fit(model.latest(0), None, LONGEST, model.model.smoothing(0), one.ahead)})
    return found


def measure(one: Trial, seeds: Sequence[int]) -> SeriesErrors:
    """What all miss, as means over the moments of a seed."""
    at = {seed: origins(one, seed) for seed in seeds}
    ours = rings_errors(one, {t for drawn in at.values() for t in drawn})
    found = {(RINGS, seed): np.mean([ours[t] for t in at[seed]], axis=0) for seed in seeds}
    for name, forecasts in RIVALS.items():
        for seed in seeds:
            said = [errors(one, windows(one, forecasts(one.values[:t], one.season, one.ahead)), t) for t in at[seed]]
            found[name, seed] = np.mean(said, axis=0)
    return found
