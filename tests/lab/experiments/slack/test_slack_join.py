"""Which events a join finds in which order."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headway_lab.experiments.slack.join import events
from tried import tried

W = 4.0


def found(rows: list[tuple[float, bool]], hot: bool = True) -> tuple[list[int], int]:
    ts, bus = np.array([r[0] for r in rows]), np.array([r[1] for r in rows], dtype=bool)
    readings, possible = events(ts, bus, np.zeros(len(rows), np.int64), np.full(len(rows), hot), W)
    return readings.tolist(), possible


def test_in_order_every_pair_within_the_window_is_found() -> None:
    assert found([(1, True), (5, False), (6, True)]) == ([1, 2], 2)
    assert found([(1, True), (5.5, False)]) == ([], 0)


def test_a_late_one_misses_what_was_dropped_when_the_window_shifted() -> None:
    # Figure 6 of the paper: reading 5.5 drops 1, so that 4, three apart from it, is compared with 5.5 alone.
    assert found([(1, False), (5.5, False), (4, True)]) == ([2], 2)
    assert found([(1, False), (4, True), (5.5, False)]) == ([1, 2], 2)


def test_calm_reports_and_other_areas_are_no_event() -> None:
    assert found([(1, True), (2, False)], hot=False) == ([], 0)
    readings, possible = events(np.array([1.0, 2.0]), np.array([True, False]), np.array([0, 1]), np.full(2, True), W)
    assert readings.tolist() == [] and possible == 0


def test_nothing_comes_of_nothing() -> None:
    none = np.empty(0)
    readings, possible = events(none, none.astype(bool), none.astype(np.int64), none.astype(bool), W)
    assert len(readings) == possible == 0


rows_ = st.lists(st.tuples(st.integers(0, 30), st.booleans(), st.integers(0, 2), st.booleans()), min_size=1, max_size=40)


@tried(100)
@given(rows=rows_)
def test_it_finds_what_a_join_with_two_windows_finds(rows: list[tuple[int, bool, int, bool]]) -> None:
    windows: dict[bool, list[tuple[int, bool, int, bool]]] = {True: [], False: []}
    newest, wanted = -1, list[int]()
    for n, row in enumerate(rows):
        newest = max(newest, row[0])
        for side in (True, False):
            windows[side] = [r for r in windows[side] if r[0] >= newest - W]
        fits = [r for r in windows[not row[1]] if abs(r[0] - row[0]) <= W and r[2] == row[2] and r[3] and row[3]]
        wanted += [n] * len(fits)
        windows[row[1]].append(row)
    ts, bus, area, hot = (np.array(c) for c in zip(*rows, strict=True))
    readings, possible = events(ts.astype(float), bus, area, hot, W)
    assert readings.tolist() == wanted and len(wanted) <= possible
