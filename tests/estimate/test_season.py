import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.estimate.season import autocorrelation, explained, season_of, seasons_of, sliding_mean


def wave(season: int, seasons: int, noise: float = 0.1, line: float = 0.0) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    at = np.arange(season * seasons)
    noises = noise * np.random.default_rng(7).normal(size=len(at))
    return np.asarray(10 + 3 * np.sin(2 * np.pi * at / season) + line * at + noises)


@given(st.integers(6, 60), st.integers(4, 8), st.floats(-0.05, 0.05))
def test_the_season_of_a_wave_is_found_whatever_line_it_rides_on(season: int, seasons: int, line: float) -> None:
    found = season_of(wave(season, seasons, line=line))
    assert found is not None and abs(found - season) <= 1


def test_a_square_wave_has_a_season_too() -> None:
    assert season_of(np.tile([5.0] * 7 + [1.0] * 13, 6)) == 20


@pytest.mark.parametrize("seed", range(5))
def test_noise_has_no_season(seed: int) -> None:
    assert season_of(np.random.default_rng(seed).poisson(40, 400).astype(float)) is None


def test_a_walk_has_no_season() -> None:
    assert season_of(np.cumsum(np.ones(300))) is None


def test_what_never_varies_has_no_season() -> None:
    assert season_of(np.full(300, 4.0)) is None


def test_a_season_is_believed_only_when_it_was_seen_three_times() -> None:
    assert season_of(wave(50, 2)) is None and season_of(wave(50, 4)) == pytest.approx(50, abs=1)


def test_no_longer_season_is_looked_for_than_is_wanted() -> None:
    assert season_of(wave(50, 8), most=30) is None


def test_a_series_is_like_itself_at_lag_0() -> None:
    alike = autocorrelation(wave(12, 10), 12)
    assert alike[0] == pytest.approx(1.0) and alike[12] > 0.9 and alike[6] < -0.8


def test_a_week_is_found_although_the_year_is_louder() -> None:
    at = np.arange(700)
    values = 300 + 150 * np.sin(2 * np.pi * at / 365) - 20 * (at % 7 >= 5) + np.random.default_rng(1).normal(size=700)
    assert season_of(values, most=100) == 7


def test_of_two_seasons_the_one_that_explains_more_comes_first() -> None:
    at = np.arange(960)
    day, hour = 3 * np.sin(2 * np.pi * at / 96), 8 * np.sin(2 * np.pi * at / 8)
    found = seasons_of(100 + day + hour, most=200)
    assert found[0] % 8 == 0 and explained(100 + day + hour, 8) > explained(100 + day + hour, 11)


def test_a_sliding_mean_has_the_steps_around_it() -> None:
    assert sliding_mean(np.array([1.0, 2.0, 3.0, 4.0, 10.0]), 3).tolist() == pytest.approx([1.5, 2.0, 3.0, 17 / 3, 7.0])
