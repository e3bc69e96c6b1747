import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import SettingError
from headway.model.deadline import Deadlines, Grid, every, window

grids = st.builds(Grid, st.integers(1, 10**7), st.integers(-(10**7), 10**7))
deadlines = st.lists(grids, min_size=1, max_size=4).map(lambda g: Deadlines(tuple(g)))
moments = st.integers(-(10**12), 2 * 10**12)


@given(deadlines, moments)
def test_the_next_deadline_is_later_and_the_last_is_not(owed: Deadlines, moment: int) -> None:
    assert owed.upto(moment) <= moment < owed.after(moment)


@given(deadlines, moments)
def test_between_the_last_and_the_next_deadline_there_is_none(owed: Deadlines, moment: int) -> None:
    assert owed.after(owed.upto(moment)) == owed.after(moment)
    assert owed.upto(owed.after(moment) - 1) == owed.upto(moment)


@given(deadlines, moments)
def test_a_deadline_is_its_own_last(owed: Deadlines, moment: int) -> None:
    assert owed.upto(owed.after(moment)) == owed.after(moment)


@given(deadlines, moments)
def test_deadlines_are_never_further_apart_than_the_shortest_period(owed: Deadlines, moment: int) -> None:
    assert owed.after(moment) - owed.upto(moment) <= owed.period_ms


@given(grids, moments)
def test_the_moments_of_one_grid_are_one_period_apart(grid: Grid, moment: int) -> None:
    assert grid.after(moment) - grid.upto(moment) == grid.period_ms
    assert grid.after(grid.after(moment)) - grid.after(moment) == grid.period_ms


@given(deadlines, moments, st.integers(-5, 5))
def test_a_shift_by_the_common_period_shifts_the_deadlines(owed: Deadlines, moment: int, times: int) -> None:
    shift = times
    for grid in owed.grids:
        shift *= grid.period_ms
    assert owed.after(moment + shift) == owed.after(moment) + shift


def test_a_tumbling_window_ends_every_size() -> None:
    assert window("3 seconds") == Grid(3_000, 0)
    assert [window("3 s").after(t) for t in (0, 2_999, 3_000)] == [3_000, 3_000, 6_000]


def test_a_sliding_window_ends_every_slide() -> None:
    ends = window("5 s", "3 s")  # [0, 5), [3, 8), [6, 11), and before them [-3, 2)
    assert [ends.after(t) for t in (0, 2_000, 5_000, 8_000)] == [2_000, 5_000, 8_000, 11_000]


def test_start_and_lag_shift_the_ends() -> None:
    assert window("10 s", start="2 s").after(0) == 2_000
    assert window("10 s", start="2 s", lag="500 ms").after(0) == 2_500
    assert window("10 s", lag="10 s") == window("10 s")


def test_two_windows_in_a_query_owe_at_the_ends_of_both() -> None:
    owed = Deadlines((window("3 s"), window("5 s")))
    seen, at = [], 0
    while at < 15_000:
        at = owed.after(at)
        seen.append(at)
    assert seen == [3_000, 5_000, 6_000, 9_000, 10_000, 12_000, 15_000]
    assert owed.period_ms == 3_000


def test_a_query_without_windows_has_a_pace() -> None:
    assert every("2 seconds") == Grid(2_000)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: window("0 s"), "window = ('0 s', None): expected a size and a slide of more than zero"),
        (lambda: window("3 s", "0 ms"), "window = ('3 s', '0 ms'): expected a size and a slide of more than zero"),
        (lambda: window("three"), "window.size = 'three': expected a duration"),
        (lambda: window("3 s", -1), "window.slide = -1: expected a duration"),
        (lambda: window("3 s", start="x"), "window.start = 'x': expected a duration"),
        (lambda: window("3 s", lag=True), "window.lag = True: expected a duration"),
        (lambda: every(0), "every = 0: expected a duration of more than zero"),
        (lambda: every("soon"), "every = 'soon': expected a duration"),
    ],
)
def test_a_window_that_cannot_be_is_refused_with_its_key_and_value(make: object, says: str) -> None:
    with pytest.raises(SettingError) as error:
        make()  # type: ignore[operator]
    assert str(error.value).startswith(says) and "\n" not in str(error.value)
