"""The bound is one: no schedule that we can think of beats it, and where it is plain to see, it is exact."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.sim.oracle import least_mean_ms


def best_of_all(jobs: list[tuple[float, float]], cores: int) -> float:
    """The least mean over every order in which pieces can be given to the core that is free first, without interruption."""
    best = float("inf")
    for order in permutations(jobs):
        free, total = [0.0] * cores, 0.0
        for release, work in order:
            core = min(range(cores), key=lambda c: max(free[c], release))
            free[core] = max(free[core], release) + work
            total += free[core] - release
        best = min(best, total / len(jobs))
    return best


jobs_ = st.lists(st.tuples(st.integers(0, 100).map(float), st.integers(1, 60).map(float)), min_size=1, max_size=5)


@given(jobs=jobs_, cores=st.integers(1, 3))
def test_no_order_beats_it(jobs: list[tuple[float, float]], cores: int) -> None:
    assert least_mean_ms(jobs, cores) <= best_of_all(jobs, cores) + 1e-9


@given(jobs=jobs_)
def test_with_a_core_for_everybody_it_is_the_work_itself(jobs: list[tuple[float, float]]) -> None:
    assert least_mean_ms(jobs, len(jobs)) == pytest.approx(sum(w for _, w in jobs) / len(jobs))


def test_on_one_core_equal_pieces_released_at_once_wait_for_each_other() -> None:
    assert least_mean_ms([(0.0, 10.0)] * 4, 1) == pytest.approx((10 + 20 + 30 + 40) / 4)


def test_a_short_piece_interrupts_a_long_one() -> None:
    assert least_mean_ms([(0.0, 100.0), (10.0, 1.0)], 1) == pytest.approx((101 + 1) / 2)


def test_no_window_means_no_wait() -> None:
    assert least_mean_ms([], 2) == 0.0
