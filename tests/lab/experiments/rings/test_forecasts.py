"""The experiment itself: who forecasts what, and what is compared with what."""

import numpy as np
import pytest

from headway_lab.experiments.rings.rivals import moving_average, naive_seasonal
from headway_lab.experiments.rings.run import RINGS, errors, measure, origins, pattern, rings_forecast, trial, windows
from headway_lab.workloads.rates import RateSeries


def test_windows_are_the_means_of_the_steps_in_them() -> None:
    one = trial(pattern(1))
    made = windows(one, np.arange(180.0))
    assert len(made) == 90 and made[[0, 29]].tolist() == [0.0, 29.0]
    assert made[[30, 59]].tolist() == [30.5, 88.5] and made[[60, 89]].tolist() == [91.0, 178.0]


def test_who_knows_the_future_misses_nothing() -> None:
    one = trial(pattern(1))
    at = one.first
    said = windows(one, one.values[at : at + one.ahead])
    assert errors(one, said, at).tolist() == [0.0, 0.0, 0.0]
    assert errors(one, said + 10.0, at) == pytest.approx(10.0 / one.values.mean())


def test_forecasts_are_made_while_their_future_is_known() -> None:
    one = trial(pattern(1))
    drawn = {t for seed in range(20) for t in origins(one, seed)}
    assert min(drawn) >= one.first and max(drawn) + one.ahead <= len(one.values) and len(drawn) > 20


def test_the_season_of_a_recurring_pattern_is_found_and_its_forecast_beats_an_average() -> None:
    one = trial(pattern(2))
    assert one.season == 100
    at = one.first + 7
    average = errors(one, windows(one, moving_average(one.values[:at], one.season, one.ahead)), at)
    assert (errors(one, rings_forecast(one, at), at) < 0.5 * average).all()


def test_the_season_before_is_repeated() -> None:
    assert naive_seasonal(np.array([9.0, 1.0, 2.0, 3.0]), 3, 7).tolist() == [1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0]
    assert naive_seasonal(np.array([9.0, 1.0]), None, 3).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.slow
def test_all_are_measured_at_the_same_moments() -> None:
    values = 100 + 40 * np.sin(np.arange(700) / 24 * 2 * np.pi)
    found = measure(trial(RateSeries("made", "made", 60_000, values)), [1, 2])
    assert {who for who, _ in found} == {RINGS, "moving-average", "naive-seasonal", "auto-ets"}
    assert all(error.shape == (3,) and np.isfinite(error).all() for error in found.values()) and len(found) == 8
    assert found[RINGS, 1][0] < found["moving-average", 1][0]
