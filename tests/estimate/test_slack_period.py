"""Whether a series repeats, and after how long."""

import numpy as np
import pytest

from headway.estimate.slack_period import period_of
from headway.model.arrays import Floats


def saw(period: int, n: int) -> Floats:
    """Up for two sevenths of the period, down as fast, then nothing."""
    at = np.arange(n) % period
    return np.asarray(np.maximum(0.0, 1 - np.abs(at - 2 * period / 7) / (2 * period / 7)))


@pytest.mark.parametrize("period", [14, 35, 70])
def test_a_period_seen_twice_is_found_even_in_noise(period: int) -> None:
    noise = np.random.default_rng(1).normal(0, 0.05, 4 * period)
    for n in (2 * period + 2, 3 * period, 4 * period):
        assert abs((period_of(saw(period, n) + noise[:n]) or 0) - period) <= 1


def test_one_cycle_is_no_period() -> None:
    assert period_of(saw(70, 100)) is None


def test_neither_growth_nor_noise_nor_silence_repeats() -> None:
    assert period_of(np.arange(200.0)) is None
    assert period_of(np.random.default_rng(1).normal(size=300)) is None
    assert period_of(np.zeros(100)) is None
    assert period_of(np.array([])) is None
