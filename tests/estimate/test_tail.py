"""A histogram of delays in which old rows fade."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.estimate.tail import STEP, Tail

Bins = tuple[tuple[float, float], ...]
delays = st.lists(st.floats(0, 1e6), min_size=1, max_size=40)


def rows(values: list[float]) -> Bins:
    return tuple((value, 1.0) for value in values)


@given(values=delays, share=st.floats(0.01, 1.0))
def test_so_many_rows_kept_to_it_to_within_a_bucket(values: list[float], share: float) -> None:
    found = Tail().add(rows(values)).within(share)
    true = float(np.quantile(values, share, method="inverted_cdf"))
    assert true / STEP - 1 <= found <= true * STEP + 1


@given(values=delays)
def test_the_longest_is_exact_where_rows_are_told_one_by_one(values: list[float]) -> None:
    tail = Tail().add(rows(values))
    assert tail.longest_ms == pytest.approx(max(values))
    assert tail.within(1.0) <= tail.longest_ms + 1e-6
    assert tail.rows == pytest.approx(len(values))


@given(values=delays, lower=st.floats(0.01, 0.99), more=st.floats(0.0, 0.5))
def test_a_greater_share_takes_no_less(values: list[float], lower: float, more: float) -> None:
    tail = Tail().add(rows(values))
    assert tail.within(lower) <= tail.within(min(1.0, lower + more)) + 1e-6


def test_old_rows_fade_and_new_ones_count_in_full() -> None:
    tail = Tail(memory_rows=100).add(((50.0, 100.0),))
    for _ in range(10):
        tail = tail.add(((900.0, 100.0),))
    assert tail.within(0.01) > 800
    assert tail.rows == pytest.approx(100 / (1 - np.exp(-1)), rel=0.01)
    assert Tail(inf).add(((50.0, 100.0),)).add(((900.0, 300.0),)).within(0.2) < 60


def test_rows_that_came_before_their_time_count_as_without_delay() -> None:
    tail = Tail().add(((-3_600_000.0, 10.0),))
    assert tail.within(0.99) == 0.0
    assert tail.rows == 10


def test_nothing_seen_is_no_delay() -> None:
    assert Tail().within(0.99) == 0.0
    assert Tail().add(()).rows == 0
