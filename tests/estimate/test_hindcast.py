"""Constants are chosen by what they would have forecast, as far ahead as a ring looks."""

import numpy as np
import pytest

from headway.estimate.fitting import fit
from headway.estimate.hindcast import LEAST_STEPS, begun, best, choices, misses
from headway.estimate.smoothing import NO_SEASON, Smoothing
from headway.model.arrays import Floats


def noise(steps: int, seed: int = 1) -> Floats:
    return 100 + 30 * np.random.default_rng(seed).normal(size=steps)


def week(weeks: int, spread: float = 2.0, seed: int = 1) -> Floats:
    """Days with two quiet ones each, in a year that goes up and down."""
    at = np.arange(7 * weeks)
    year = 40 * np.sin(2 * np.pi * at / 365)
    return np.asarray(200 + year - 50 * (at % 7 >= 5) + spread * np.random.default_rng(seed).normal(size=len(at)))


def test_of_noise_only_the_mean_is_of_use_however_far_ahead() -> None:
    found = best(noise(400), [(NO_SEASON, choices(NO_SEASON))], 180)
    assert found is not None and found[1].level <= 0.07


def test_of_a_walk_the_last_step_says_most() -> None:
    walk = np.cumsum(np.random.default_rng(5).normal(size=600)) + 500
    found = best(walk, [(NO_SEASON, choices(NO_SEASON))], 30)
    assert found is not None and found[1].level >= 0.3


def test_level_0_and_season_1_is_the_season_before_once_more() -> None:
    values = week(20)
    naive = [Smoothing(0.0, 0.0, 1.0, 0.0)]
    asked = np.array([70, 91])
    wanted = [np.abs(np.resize(values[t - 7 : t], 14) - values[t : t + 14]) for t in asked]
    by_step = np.mean(wanted, axis=0)
    thirds = [by_step[:2].mean(), by_step[2:7].mean(), by_step[7:].mean()]
    assert misses(values, 7, naive, asked, 14) == pytest.approx([np.mean(thirds)], rel=1e-6)


def test_a_week_is_found_in_a_year_and_used() -> None:
    found = fit(week(60), None, longest=100)
    assert found.season == 7


def test_a_season_that_helps_nothing_is_not_used() -> None:
    found = fit(noise(400, seed=9), None, longest=100)
    assert found.season is None and found.smoothing.level <= 0.15


@pytest.mark.parametrize("length", [NO_SEASON, 7])
def test_what_is_too_short_tells_nothing(length: int) -> None:
    values = week(9)[: begun(length) + LEAST_STEPS - 1]
    assert best(values, [(length, choices(length))], 180) is None


def test_lengths_are_compared_over_the_same_steps() -> None:
    values = week(40)
    found = best(values, [(NO_SEASON, choices(NO_SEASON)), (7, choices(7)), (14, choices(14))], 60)
    assert found is not None and found[0] in (7, 14)
