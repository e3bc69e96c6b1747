"""Forecasts of many series at once: each is what it would be alone, and what a library makes of it."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.errors import SettingError
from headway.estimate.fitting import Fit, fit
from headway.estimate.forecast import Forecaster, ForecastSettings
from headway.estimate.smoothing import Smoothing
from headway.model.arrays import Floats
from headway.model.ring import NEPTUNE, RingShape

PLAIN = ForecastSettings(window=1, average=5, fit_least=10, smoothing=Smoothing(0.3, 0.05, 0.2))


def wave(season: int, steps: int, noise: float = 0.0, seed: int = 1) -> Floats:
    at = np.arange(steps)
    return 50 + 20 * np.sin(2 * np.pi * at / season) + noise * np.random.default_rng(seed).normal(size=steps)


def after(series: Floats, seasons: list[int | None], how: ForecastSettings = PLAIN) -> Forecaster:
    """A forecaster that has seen these series, a row each."""
    made = Forecaster(seasons, how)
    for step in series.T:
        made.observe(step)
    return made


def one_by_one(values: Floats, season: int, with_: Smoothing, steps: int) -> list[float]:
    """Holt-Winters as a text book has it, in plain numbers."""
    first, second = values[:season].mean(), values[season : 2 * season].mean()
    trend = (second - first) / season
    level0 = (first + second) / 2 - trend * (season + 0.5)
    over = [values[i] - level0 - trend * (i + 1) for i in range(2 * season)]
    seasonal = [(over[i] + over[i + season]) / 2 for i in range(season)]
    level = level0 + trend * 2 * season
    for t in range(2 * season, len(values)):
        before, s = level, seasonal[t % season]
        level = with_.level * (values[t] - s) + (1 - with_.level) * (level + with_.damping * trend)
        seasonal[t % season] = with_.season * (values[t] - before - with_.damping * trend) + (1 - with_.season) * s
        trend = with_.trend * (level - before) + (1 - with_.trend) * with_.damping * trend
    risen, out = 0.0, []
    for h in range(1, steps + 1):
        risen += with_.damping**h
        out.append(max(0.0, level + trend * risen + seasonal[(len(values) + h - 1) % season]))
    return out


@settings(deadline=None)
@given(st.lists(st.floats(0.0, 1e4), min_size=9, max_size=24), st.integers(2, 4), st.sampled_from([1.0, 0.9]))
def test_the_arrays_say_what_the_formula_says(values: list[float], season: int, damping: float) -> None:
    with_ = Smoothing(0.3, 0.05, 0.2, damping)
    how = ForecastSettings(window=1, average=5, fit_least=10, fit_seasons=12, smoothing=with_)
    made = after(np.array([values]), [season], how)
    wanted = one_by_one(np.array(values), season, with_, 7)
    assert made.forecast(7)[0] == pytest.approx(wanted, rel=1e-9, abs=1e-6)


def test_the_library_goes_on_as_we_do() -> None:
    """statsmodels, with the same beginning and the same constants, has the same forecasts."""
    from statsmodels.tsa.holtwinters import ExponentialSmoothing

    from headway.estimate.smoothing import beginning

    values, season, with_ = wave(12, 60, noise=2.0), 12, PLAIN.smoothing
    level, trend, above = (part[0] for part in beginning(values[None, : 2 * season], season))
    ours = after(values[None, :], [season], ForecastSettings(window=1, average=5, fit_seasons=5, smoothing=with_))
    model = ExponentialSmoothing(
        values[2 * season :], trend="add", seasonal="add", seasonal_periods=season, initialization_method="known",
        initial_level=level + 2 * season * trend, initial_trend=trend, initial_seasonal=above,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = model.fit(
            smoothing_level=with_.level, smoothing_trend=with_.trend, smoothing_seasonal=with_.season, optimized=False
        ).forecast(30)
    # From a whole season ahead on, the library repeats one place of the season as it was before the last step.
    assert ours.forecast(11)[0] == pytest.approx(theirs[:11], rel=1e-6)


def test_many_series_together_are_each_what_they_are_alone() -> None:
    rows: list[tuple[int | None, Floats]] = [
        (12, wave(12, 70)),
        (5, wave(5, 70, 3.0)),
        (None, wave(9, 70, 5.0)),
        (12, wave(12, 70, 1.0)),
    ]
    together = after(np.stack([values for _, values in rows]), [season for season, _ in rows])
    alone = [after(values[None, :], [season]).forecast(20)[0] for season, values in rows]
    assert together.forecast(20) == pytest.approx(np.stack(alone))


def test_until_two_seasons_are_seen_a_moving_average_stands_in() -> None:
    values = wave(12, 23)
    cold = after(values[None, :], [12])
    assert not cold.ready[0] and cold.forecast(4)[0] == pytest.approx(np.full(4, values[-5:].mean()))
    warm = after(wave(12, 24)[None, :], [12])
    assert warm.ready[0] and warm.forecast(12)[0] == pytest.approx(wave(12, 36)[24:], abs=1.5)


def test_nothing_seen_is_forecast_as_nothing() -> None:
    assert not Forecaster([12, None], PLAIN).forecast(3).any() and not len(Forecaster([], PLAIN).forecast(3))


def test_a_recurring_pattern_is_caught() -> None:
    made = after(wave(30, 120)[None, :], [30])
    coming = wave(30, 300)[120:]
    assert np.abs(made.forecast(180)[0] - coming).max() < 2.0


def test_no_rate_is_below_nothing() -> None:
    falling = np.maximum(0.0, 40.0 - np.arange(30.0))
    assert (after(falling[None, :], [4]).forecast(60) >= 0).all()


def test_what_is_smoothed_is_the_mean_over_a_sliding_window() -> None:
    values = np.array([[0.0, 10.0, 0.0, 10.0, 0.0, 10.0]])
    made = after(values, [None], ForecastSettings(window=4, average=2, smoothing=Smoothing(level=1.0)))
    assert made.forecast(1)[0, 0] == pytest.approx(5.0)


def test_a_gap_is_taken_to_be_what_was_expected() -> None:
    values = wave(6, 40)
    holed = values.copy()
    holed[[30, 31]] = np.nan
    whole, with_gap = after(values[None, :], [6]), after(holed[None, :], [6])
    assert with_gap.forecast(12)[0] == pytest.approx(whole.forecast(12)[0], abs=1.0)


def test_windows_of_a_ring_have_the_mean_rate_of_their_steps() -> None:
    made = after(wave(12, 60, noise=1.0)[None, :], [12])
    steps, rates = made.forecast(180)[0], made.rates(NEPTUNE)[0]
    assert rates[:30] == pytest.approx(steps[:30])
    assert rates[30] == pytest.approx(steps[30:32].mean()) and rates[89] == pytest.approx(steps[177:180].mean())


def test_windows_need_not_be_as_long_as_steps() -> None:
    made = after(wave(12, 60)[None, :], [12], ForecastSettings(step_ms=2000, window=1, average=5, fit_least=10))
    steps, rates = made.forecast(3)[0], made.rates(RingShape((1000, 1500), 2))[0]
    assert rates == pytest.approx([steps[0], steps[0], (steps[1] * 1500) / 1500, (steps[1] * 500 + steps[2] * 1000) / 1500])


def test_a_model_that_misses_step_after_step_asks_for_a_fit() -> None:
    made = after(wave(12, 48)[None, :], [12])
    assert made.due().tolist() == [0]  # it is new
    made.adopt({0: fit(made.latest(0), 12)})
    assert made.due().tolist() == []
    asked = []
    for step in range(10):
        made.observe(np.array([400.0 if step % 2 else 5.0]))
        asked.append(made.due().tolist())
    assert asked[3] == [] and [0] in asked
    assert len(made.latest(0)) == 48  # the latest four seasons, and nothing before


def test_a_fit_that_comes_late_is_used_from_then_on() -> None:
    values = wave(12, 80, noise=4.0)
    late, early = after(values[None, :60], [12]), after(values[None, :], [12])
    found = fit(late.latest(0), 12)
    for step in values[60:]:
        late.observe(np.array([step]))
    late.adopt({0: found})
    early.adopt({0: found})
    assert late.forecast(12) == pytest.approx(early.forecast(12)) and late.model.smoothing(0) == found.smoothing


def test_a_fit_misses_less_than_the_constants_did_before() -> None:
    values = wave(12, 144, noise=6.0)
    made, fitted = after(values[None, :96], [12]), after(values[None, :96], [12])
    fitted.adopt({0: fit(fitted.latest(0), 12, like=PLAIN.smoothing)})
    coming = values[96:]
    assert np.abs(fitted.forecast(48)[0] - coming).mean() < np.abs(made.forecast(48)[0] - coming).mean()


def test_a_season_that_nobody_named_is_found() -> None:
    how = ForecastSettings(window=1, average=5, longest=20, fit_least=10)
    made = after(wave(16, 90, noise=1.0)[None, :], [None], how)
    found = fit(made.latest(0), None, longest=20)
    assert found.season == 16
    made.adopt({0: found})
    assert made.forecast(32)[0] == pytest.approx(wave(16, 122)[90:], abs=4.0)


@pytest.mark.parametrize("values", [np.full(60, 3.0), np.array([1.0, 2.0])])
def test_what_shows_nothing_is_smoothed_as_before(values: Floats) -> None:
    assert fit(values, 12, like=Smoothing(0.4)) == Fit(12, Smoothing(0.4))


def test_a_series_without_a_season_has_its_level_fitted() -> None:
    walk = np.cumsum(np.random.default_rng(3).normal(size=200)) + 100
    assert fit(walk, None).smoothing.level > 0.5 and fit(walk, None).season is None


def test_series_that_end_leave_the_others_as_they_were() -> None:
    rows = np.stack([wave(12, 50), wave(6, 50), wave(12, 50, 3.0)])
    made = after(rows, [12, 6, None])
    kept = made.keep(np.array([2, 1]), joining=[4])
    assert kept.forecast(9)[:2] == pytest.approx(made.forecast(9)[[2, 1]]) and kept.forecast(1)[2, 0] == 0.0
    for step in range(8):
        made.observe(np.array([1.0, 2.0 + step, 3.0]))
        kept.observe(np.array([3.0, 2.0 + step, 7.0]))
    assert kept.forecast(9)[:2] == pytest.approx(made.forecast(9)[[2, 1]]) and kept.forecast(1)[2, 0] == pytest.approx(7.0)


@pytest.mark.parametrize("name", ["step_ms", "window", "average", "misses", "fit_least", "fit_seasons", "error"])
def test_settings_without_sense_are_refused(name: str) -> None:
    with pytest.raises(SettingError, match=f"forecast.{name} "):
        ForecastSettings(**{name: 0})  # type: ignore[arg-type]


def test_a_season_of_one_step_is_refused() -> None:
    with pytest.raises(SettingError, match=r"forecast\.season "):
        Forecaster([1])
    with pytest.raises(SettingError, match=r"forecast\.level "):
        Smoothing(level=1.5)
