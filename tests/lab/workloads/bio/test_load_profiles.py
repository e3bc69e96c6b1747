"""Load profiles are the same however they are asked, keep to their means, and recur."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import SettingError
from headway_lab.workloads.bio.load_profiles import Dormant, LoadProfile, RecurringRate, SteadyRate, times_ms

steady = st.builds(SteadyRate, st.integers(1, 5_000), st.floats(0, 1), st.integers(0, 99))
recurring = st.builds(
    RecurringRate, st.integers(1, 5_000), st.integers(2, 90), st.floats(0, 1), st.floats(0, 1), st.integers(0, 99)
)
dormant = st.builds(Dormant, st.one_of(steady, recurring), st.integers(0, 60), st.one_of(st.none(), st.integers(60, 120)))
profiles = st.one_of(steady, recurring, dormant)


@given(profile=profiles, cuts=st.lists(st.integers(0, 150), max_size=5))
def test_the_pieces_of_a_profile_make_up_the_whole(profile: LoadProfile, cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), 150]
    pieces = [profile.rows(a, b) for a, b in itertools.pairwise(edges)]
    assert np.concatenate(pieces).tolist() == profile.rows(0, 150).tolist()
    assert profile.rows(0, 150).min() >= 0


@given(profile=steady)
def test_a_steady_rate_varies_by_no_more_than_it_says(profile: SteadyRate) -> None:
    rows = profile.rows(0, 200)
    assert np.abs(rows - profile.per_s).max() <= profile.variability * profile.per_s + 0.5


def test_a_recurring_rate_comes_back_after_its_period_and_keeps_its_mean() -> None:
    profile = RecurringRate(1_000, period_s=60, swing=0.5, variability=0.0, seed=4)
    rows = profile.rows(0, 180)
    assert rows[:60].tolist() == rows[60:120].tolist() == rows[120:].tolist()
    assert rows.mean() == pytest.approx(1_000, rel=0.01)
    assert max(rows.max() - 1_000, 1_000 - rows.min()) == 500
    assert RecurringRate(1_000, 60, 0.5, 0.0, seed=5).rows(0, 60).tolist() != rows[:60].tolist()


@given(profile=steady, wakes=st.integers(0, 50))
def test_a_dormant_stream_is_silent_and_then_counts_from_its_activation(profile: SteadyRate, wakes: int) -> None:
    rows = Dormant(profile, wakes, wakes + 20).rows(0, 100)
    assert rows[:wakes].sum() == rows[wakes + 20 :].sum() == 0
    assert rows[wakes : wakes + 20].tolist() == profile.rows(0, 20).tolist()


@given(rows=st.lists(st.integers(0, 50), max_size=20), since=st.integers(0, 10**12))
def test_rows_are_sent_within_their_second_and_in_order(rows: list[int], since: int) -> None:
    at = times_ms(np.array(rows, dtype=np.int64), since)
    assert (np.diff(at) >= 0).all() and len(at) == sum(rows)
    assert np.bincount((at - since) // 1_000, minlength=len(rows)).tolist() == rows


def test_settings_that_cannot_work_are_refused_by_name() -> None:
    with pytest.raises(SettingError, match=r"load\.rate = 0: expected 1 row a second or more"):
        SteadyRate(0)
    with pytest.raises(SettingError, match=r"load\.variability = 2"):
        SteadyRate(1, variability=2)
    with pytest.raises(SettingError, match=r"load\.period_s = 1"):
        RecurringRate(1, period_s=1)
    with pytest.raises(SettingError, match=r"load\.swing = 1\.5"):
        RecurringRate(1, swing=1.5)
    with pytest.raises(SettingError, match=r"load\.wakes_s = 9: expected 0 or more, and not after it sleeps again"):
        Dormant(SteadyRate(1), 9, 5)
