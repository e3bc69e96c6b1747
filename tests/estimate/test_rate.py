import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.estimate.rates import Rate


def test_the_first_stretch_is_the_rate() -> None:
    assert Rate().add(3_000, 3_000).rows_per_s == 1_000


def test_a_steady_stream_has_its_rate_however_it_is_cut() -> None:
    rate = Rate()
    for over in (10, 3_000, 170, 60_000, 1, 900):
        rate = rate.add(0.25 * over, over)
    assert rate.rows_per_s == pytest.approx(250)


def test_a_change_is_learnt_within_a_few_memories() -> None:
    rate = Rate(memory_ms=15_000)
    for _ in range(40):
        rate = rate.add(3_000, 3_000)
    for _ in range(5):
        rate = rate.add(30_000, 3_000)
    assert 4_000 < rate.rows_per_s < 9_000
    for _ in range(15):
        rate = rate.add(30_000, 3_000)
    assert rate.rows_per_s == pytest.approx(10_000, rel=0.03)


def test_a_young_mean_forgets_nothing() -> None:
    assert Rate().add(100, 100).add(300, 100).rows_per_s == pytest.approx(2_000, rel=0.01)


def test_no_time_is_no_news() -> None:
    rate = Rate().add(5, 10)
    assert rate.add(100, 0) == rate and rate.add(100, -3) == rate


@given(st.lists(st.tuples(st.integers(0, 10**5), st.integers(1, 10**5)), min_size=1, max_size=30))
def test_the_rate_stays_between_the_slowest_and_the_fastest_stretch(stretches: list[tuple[int, int]]) -> None:
    rate = Rate()
    for rows, over in stretches:
        rate = rate.add(rows, over)
    seen = [1_000 * rows / over for rows, over in stretches]
    assert min(seen) * (1 - 1e-9) <= rate.rows_per_s <= max(seen) * (1 + 1e-9)
