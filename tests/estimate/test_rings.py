"""Prediction rings are step functions of time, and obey their laws."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import SettingError
from headway.estimate.rings import Normalising, add, advance, align, fill, stacked, subtract, total
from headway.model.arrays import Floats
from headway.model.ring import Ring, Rings, RingShape
from headway.model.time import WallMs
from model.fleets import NOW, SMALL, node, rings, steady, values

NESTED = RingShape((1000, 2000, 4000), 4)
LONGEST_MS = 4000
moments = st.integers(NOW, NOW + 30_000)


def close(one: Floats, other: Floats) -> bool:
    return bool(np.allclose(one, other, rtol=1e-9, atol=1e-9))


def read(ring: Ring, at: int) -> float:
    """The use at a moment, read off the windows one by one; beyond either end the nearest window lasts."""
    after = at - ring.at
    found = [w for w in range(ring.shape.size) if ring.shape.starts_ms[w] <= after]
    return float(ring.values[found[-1] if found else 0])


@given(rings(at=moments), st.integers(-20_000, 60_000))
def test_an_aligned_ring_has_the_mean_of_what_was_forecast_for_each_window(ring: Ring, by: int) -> None:
    at = WallMs(ring.at + by)
    starts, widths = ring.shape.starts_ms, ring.shape.widths_ms
    moved = align(ring, at).values
    edges = sorted({*(starts + ring.at).tolist(), *(starts + at).tolist(), int(at + ring.shape.span_ms)})
    for window in (0, 3, 4, 7, 8, 11):
        begin, end = int(at + starts[window]), int(at + starts[window] + widths[window])
        cuts = [begin, *(edge for edge in edges if begin < edge < end), end]
        parts = [(right - left) * read(ring, left) for left, right in pairwise(cuts)]
        assert moved[window] == pytest.approx(sum(parts) / (end - begin), abs=1e-9)


@given(rings(NESTED), st.integers(0, 5), st.integers(0, 5))
def test_to_advance_twice_is_to_advance_once_by_the_sum_where_windows_align(ring: Ring, first: int, second: int) -> None:
    """Where each window of an inner ring lies within one of the next. Elsewhere a mean over two windows is taken twice."""
    once = advance(ring, WallMs(NOW + LONGEST_MS * (first + second)))
    twice = advance(advance(ring, WallMs(NOW + LONGEST_MS * first)), WallMs(NOW + LONGEST_MS * (first + second)))
    assert twice.at == once.at and close(twice.values, once.values)


@given(rings(), st.integers(1, 3))
def test_in_the_innermost_ring_every_window_aligns(ring: Ring, steps: int) -> None:
    moved = ring
    for step in range(1, steps + 1):
        moved = advance(moved, WallMs(NOW + 1000 * step))
    kept = SMALL.windows - steps
    assert close(moved.values[:kept], ring.values[steps : SMALL.windows])


@given(rings(), rings(at=moments), st.integers(0, 40_000))
def test_windows_that_the_old_forecast_did_not_reach_are_filled_anew(ring: Ring, anew: Ring, by: int) -> None:
    at = WallMs(NOW + by)
    moved, far = advance(ring, at, anew), SMALL.starts_ms + SMALL.widths_ms + by > SMALL.span_ms
    assert close(moved.values[far], align(anew, at).values[far])
    assert close(moved.values[~far], align(ring, at).values[~far])


@given(rings(at=moments), rings(at=moments))
def test_to_add_and_then_subtract_changes_nothing(one: Ring, other: Ring) -> None:
    at = max(one.at, other.at)
    back = subtract(add(one, other), other)
    assert back.at == at and close(back.values, align(one, at).values)


@given(rings(at=moments), rings(at=moments))
def test_sums_do_not_depend_on_the_order(one: Ring, other: Ring) -> None:
    assert close(add(one, other).values, add(other, one).values)


@given(rings(), st.integers(-5_000, 50_000), st.floats(0.0, 10.0))
def test_a_multiple_moves_on_as_the_ring_does(ring: Ring, by: int, times: float) -> None:
    at = WallMs(NOW + by)
    assert close(align(replace(ring, values=times * ring.values), at).values, times * align(ring, at).values)


@given(rings(), st.integers(0, 10**9), st.integers(0, 40_000))
def test_shifting_all_times_changes_no_value(ring: Ring, shift: int, by: int) -> None:
    moved = align(replace(ring, at=WallMs(ring.at + shift)), WallMs(ring.at + shift + by))
    assert np.array_equal(moved.values, align(ring, WallMs(ring.at + by)).values)


@given(st.floats(0.0, 9.0), st.integers(-5_000, 90_000))
def test_a_steady_load_stays_what_it_is(use: float, by: int) -> None:
    assert close(align(steady(use), WallMs(NOW + by)).values, steady(use).values)


@given(st.lists(values(), min_size=1, max_size=4), moments)
def test_the_ring_of_a_node_is_the_sum_of_its_computations_at_any_moment(rows: list[Floats], at: int) -> None:
    table = Rings(SMALL, NOW, np.stack(rows))
    one_by_one = steady(0.0)
    for ring in table:
        one_by_one = add(one_by_one, ring)
    assert close(total(align(table, WallMs(at))).values, align(one_by_one, WallMs(at)).values)


def test_rings_of_different_moments_become_a_table_of_one() -> None:
    early = Ring(SMALL, WallMs(NOW - 1000), np.arange(12.0))
    made = stacked([early, steady(5.0)], SMALL, NOW)
    assert made.at == NOW and made.values[0, :3].tolist() == [1.0, 2.0, 3.0] and set(made.values[1]) == {5.0}
    assert len(stacked([], SMALL, NOW)) == 0


def test_a_ring_is_filled_with_arrivals_times_processing_time_times_message_size() -> None:
    rates = np.array([[100.0, 200.0], [10.0, 0.0]])
    made = fill(RingShape((1000,), 2), NOW, rates, np.array([2.0, 50.0]), np.array([1000.0, 500.0]))
    # 100 messages/s of 2 ms keep a fifth of a core busy; messages of 500 bytes count half.
    assert made.values.tolist() == [[0.2, 0.4], [0.25, 0.0]] and made.at == NOW


def test_only_the_innermost_ring_is_weighed_by_what_is_measured_now() -> None:
    busy = node("a", 2.0, load=1.5, own_load=0.4, bandwidth=1.2, own_bandwidth=0.5)
    weighed = Normalising(floor=0.1).normalise(busy.ring, busy).values
    assert weighed[:4] == pytest.approx(2.0 * 1.5 * 1.2 * 0.6 * 0.5) and set(weighed[4:]) == {2.0}


def test_a_node_whose_load_is_all_its_own_does_not_count_for_nothing() -> None:
    alone = node("a", 2.0, load=1.0, own_load=1.0, own_bandwidth=1.0)
    assert Normalising(floor=0.2).normalise(alone.ring, alone).values[0] == pytest.approx(2.0 * 0.2 * 0.2)


def test_bandwidth_below_the_preferred_limit_is_no_excess() -> None:
    quiet, full = (node("a", load=1.0, own_load=0.0, own_bandwidth=0.0, bandwidth=used) for used in (0.2, 1.0))
    assert Normalising().multiplier(quiet) == Normalising().multiplier(full) == 1.0


@pytest.mark.parametrize("floor", [0.0, -0.1, 1.5])
def test_a_floor_of_nothing_is_refused(floor: float) -> None:
    with pytest.raises(SettingError, match=r"placement\.floor"):
        Normalising(floor)
