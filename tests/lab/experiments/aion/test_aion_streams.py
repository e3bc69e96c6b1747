"""Streams for approximate answers."""

import numpy as np
import pytest

from headway_lab.experiments.aion.streams import SETTINGS, VIEWS, WORKLOADS, real_miles, stream
from headway_lab.workloads.approximate.kmeans import tenths
from headway_lab.workloads.data import folder


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("setting", SETTINGS)
def test_rows_come_at_the_rate_and_with_the_delays_of_their_setting(workload: str, setting: str) -> None:
    rows = stream(workload, setting, rate=2_000, seconds=10, seed=3)
    assert len(rows) == 20_000 and rows.event_ms.max() == pytest.approx(10_000, rel=0.03)
    assert (np.diff(rows.arrival_ms) >= 0).all()
    delay = rows.arrival_ms - rows.event_ms
    assert delay.mean() == pytest.approx({"CC": 150}.get(setting, 240), rel=0.05)
    assert delay.max() == pytest.approx({"CC": 150, "GG": 355}.get(setting, 1_830), abs=1)
    gaps = np.diff(np.sort(rows.event_ms))
    assert gaps.std() == pytest.approx(0 if SETTINGS[setting].even else 0.5 / np.sqrt(2), abs=0.02)


def test_the_same_seed_gives_the_same_rows_and_another_others() -> None:
    first = stream("taxi", "EG", 500, 4, seed=1)
    stream.cache_clear()
    again, other = stream("taxi", "EG", 500, 4, seed=1), stream("taxi", "EG", 500, 4, seed=2)
    assert (first.value == again.value).all() and (first.arrival_ms == again.arrival_ms).all()
    assert (first.value != other.value).any()


def test_values_are_those_of_the_queries() -> None:
    views = stream("ysb", "EG", 5_000, 10, seed=1).value
    assert set(views.tolist()) == {0.0, 1.0} and views.mean() == pytest.approx(VIEWS, rel=0.03)
    miles = stream("taxi", "EG", 5_000, 10, seed=1).value
    assert miles.min() > 0 and 2 < miles.mean() < 4 and miles.std() > 0.8 * miles.mean()
    rows = stream("kmeans", "EG", 5_000, 10, seed=1)
    assert rows.points is not None and np.array_equal(tenths()[rows.points] / 10, rows.value)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_delay_goes_with_value_only_where_it_was_asked_to(workload: str) -> None:
    def correlation(setting: str) -> float:
        rows = stream(workload, setting, 2_000, 10, seed=1)
        return float(np.corrcoef(rows.arrival_ms - rows.event_ms, rows.value)[0, 1])

    assert abs(correlation("EG")) < 0.03 and correlation("EV") > 0.2


@pytest.mark.skipif(folder() is None, reason="no real data: HEADWAY_DATA names no folder")
def test_real_trips_are_taken_in_their_order() -> None:
    rows = stream("taxi", "CC", 1_000, 2, seed=1, real=True)
    miles = real_miles()
    starts = np.flatnonzero(miles == rows.value[0])
    assert any((np.take(miles, s + np.arange(2_000), mode="wrap") == rows.value).all() for s in starts.tolist())
