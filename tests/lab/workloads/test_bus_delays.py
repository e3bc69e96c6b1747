"""How buses fall behind."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import SettingError
from headway.sim.delays import Zipf
from headway_lab.workloads.bus_delays import PAPER, Growing, Periodic, Prompt, Stretch, reports
from tried import tried


def behind_s(seconds: float, seed: int = 1) -> float:
    """How far the newest report that is in at this moment is behind."""
    told = reports(300, 500, Periodic(), seed)
    newest = told.made_ms[np.searchsorted(told.in_ms, seconds * 1000) - 1]
    return float(seconds - newest / 1000)


def test_the_papers_buses_fall_eight_seconds_behind_catch_up_and_fall_behind_again() -> None:
    assert behind_s(10) == pytest.approx(4.1, abs=0.4)
    assert behind_s(20) == pytest.approx(8.3, abs=0.5)
    assert behind_s(30) == pytest.approx(4.4, abs=0.6)
    assert behind_s(60) < 0.05
    assert behind_s(90) == pytest.approx(8.3, abs=0.5)


def test_a_line_works_its_reports_off_one_by_one() -> None:
    slow = Periodic((Stretch(1000, Zipf(0.0, 1)),))  # always 1 ms
    came = slow.arrivals(np.array([0.0, 0.0, 0.5, 10.0]), np.random.default_rng(1))
    assert came.tolist() == [1.0, 2.0, 3.0, 11.0]


def test_who_sets_out_after_a_stretch_is_held_up_by_the_next_one() -> None:
    turns = Periodic((Stretch(0.010, Zipf(0.0, 1)), Stretch(0.010, Zipf(0.0, 2))))
    came = turns.arrivals(np.full(20, 0.0), np.random.default_rng(1))
    assert np.diff(came, prepend=0.0)[:10].tolist() == [1.0] * 10
    assert set(np.diff(came)[9:13]) <= {1.0, 2.0} and came[-1] >= 20.0


def test_time_may_begin_within_the_cycle() -> None:
    later = Periodic(from_s=30).arrivals(np.arange(0, 30_000, 2.0), np.random.default_rng(1))
    assert float((later - np.arange(0, 30_000, 2.0)).max()) < 100  # the slow stretch comes after 40 s only


def test_a_growing_delay_is_a_third_of_the_time_that_has_passed() -> None:
    told = reports(150, 500, Growing(1.0), 1)
    newest = told.made_ms[np.searchsorted(told.in_ms, 105_000) - 1]
    assert 105 - newest / 1000 == pytest.approx(35, abs=0.1)


@tried(40)
@given(seed=st.integers(0, 1000), from_s=st.floats(0, 100), rate=st.sampled_from([50.0, 500.0, 700.0]))
def test_reports_stay_in_order_and_none_comes_before_it_was_made(seed: int, from_s: float, rate: float) -> None:
    for holdup in (Periodic(PAPER, from_s), Growing(), Prompt()):
        told = reports(5, rate, holdup, seed)
        assert (np.diff(told.in_ms) >= 0).all() and (told.in_ms >= told.made_ms).all()
        assert len(told.made_ms) == len(told.area) == len(told.hot) == int(5 * rate)


def test_the_same_seed_tells_the_same() -> None:
    one, two, other = (reports(5, 500, Periodic(), seed) for seed in (1, 1, 2))
    assert (one.in_ms == two.in_ms).all() and (one.hot == two.hot).all() and not (one.area == other.area).all()


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(SettingError, match="stretches"):
        Periodic(())
    with pytest.raises(SettingError, match="step_ms"):
        Growing(-1)
    with pytest.raises(SettingError, match="reports"):
        reports(0, 500, Prompt(), 1)
