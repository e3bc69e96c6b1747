"""Congestion that Spark finds is the one that numpy knows, which is the one counted report by report."""

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import SettingError
from headway_lab.workloads.bus_delays import Growing, Periodic, Prompt
from headway_lab.workloads.feed import Feed
from headway_lab.workloads.traffic import Areas, Streets, Troubles, buses, congestion, found, held_up, roads, troubles
from headway_lab.workloads.traffic.reports import BUS_TROUBLE, RULES
from headway_lab.workloads.traffic.truth import Event, Seen
from tried import tried

EPOCH = 1_700_000_000_123
STREETS = Streets(seed=3, epoch_ms=EPOCH, seconds=12)

sides = st.lists(st.tuples(st.integers(0, 12_000), st.integers(0, 3)), max_size=12)


def side(reports: list[tuple[int, int]]) -> Troubles:
    when, where = (np.array([report[n] for report in reports], dtype=np.int64) for n in (0, 1))
    return Troubles(EPOCH + when, where)


def counted(bus: Troubles, road: Troubles, size_ms: int, slide_ms: int) -> dict[Event, Seen]:
    """Window by window, area by area, report by report."""
    times = [*bus.event_ms.tolist(), *road.event_ms.tolist()]
    if not times:
        return {}
    first = (min(times) - size_ms) // slide_ms * slide_ms
    events = {}
    for start in range(first, max(times) + 1, slide_ms):
        for area in set(bus.area.tolist()) & set(road.area.tolist()):
            seen = tuple(
                sum(start <= at < start + size_ms and where == area for at, where in zip(s.event_ms, s.area, strict=True))
                for s in (bus, road)
            )
            if all(seen):
                events[start + size_ms, area] = (seen[0], seen[1])
    return events


# The truth.


@tried(60)
@given(bus=sides, road=sides, sizes=st.sampled_from([(5_000, 1_000), (2_500, 1_000), (700, 700), (3_000, 400)]))
def test_windows_in_numpy_are_those_counted_one_by_one(
    bus: list[tuple[int, int]], road: list[tuple[int, int]], sizes: tuple[int, int]
) -> None:
    assert found(side(bus), side(road), *sizes) == counted(side(bus), side(road), *sizes)


def test_a_bus_and_a_road_meet_only_in_the_same_area_and_within_a_window() -> None:
    bus = side([(0, 1)])
    assert found(bus, side([(0, 2)])) == {}
    assert found(bus, side([(6_000, 1)])) == {}
    # Four seconds apart: whatever the grid, one window in five has both.
    assert list(found(bus, side([(4_000, 1)])).values()) == [(1, 1)]
    assert len(found(bus, side([(0, 1), (10, 1)]))) == 5


def test_made_streets_have_congestion_in_some_places_and_not_in_others() -> None:
    told = {kind: troubles(feed, kind) for kind, feed in (("bus", STREETS.bus()), ("road", STREETS.road()))}
    events = found(told["bus"], told["road"])
    panes = 12 * STREETS.areas
    assert 0.03 * panes < len(events) < 0.4 * panes
    # One report in seventy, by the shares that a jam and its absence have.
    assert [len(t.event_ms) / 6_000 for t in told.values()] == pytest.approx([0.014, 0.014], abs=0.006)


# The rules.


@pytest.mark.parametrize(
    ("kind", "said", "trouble"),
    [
        ("bus", {}, False),
        ("bus", {"delay_s": 299, "congested": False, "speed_kmh": 5}, False),
        ("bus", {"delay_s": 300}, True),
        ("bus", {"delay_s": None, "congested": True}, True),
        ("bus", {"speed_kmh": 4}, True),
        ("road", {}, False),
        ("road", {"vehicles": 1, "speed_kmh": 34, "normal_kmh": 50}, True),
        ("road", {"vehicles": 1, "speed_kmh": 35, "normal_kmh": 50}, False),
        ("road", {"vehicles": 0, "speed_kmh": 0, "normal_kmh": 50}, False),
        ("road", {"vehicles": 1, "speed_kmh": 3}, False),
    ],
)
@pytest.mark.spark
def test_spark_and_python_call_the_same_things_trouble(spark: Any, kind: str, said: dict[str, Any], trouble: bool) -> None:
    assert RULES[kind](said) is trouble
    value = json.dumps({"event_ms": EPOCH, "area": 7, **said})
    rows = spark.createDataFrame([(value, "kept")], "value string, beside string")
    (row,) = (buses if kind == "bus" else roads)(rows).collect()
    assert (row.area, row.trouble, row.beside) == (7, trouble, "kept")


# Areas.


@tried(50)
@given(
    places=st.lists(st.tuples(st.floats(-180, 180), st.floats(-80, 80)), min_size=1, max_size=60),
    across=st.integers(1, 5),
)
def test_every_place_has_an_area_and_further_east_is_never_a_column_to_the_west(
    places: list[tuple[float, float]], across: int
) -> None:
    lon, lat = (np.array(values) for values in zip(*places, strict=True))
    areas = Areas.fitted(lon, lat, across)
    where = areas.of(lon, lat)
    assert len(areas) == across**2 and (where >= 0).all() and (where < len(areas)).all()
    order = np.argsort(lon, kind="stable")
    assert (np.diff(where[order] // across) >= 0).all()
    for column in range(across):
        own = where // across == column
        assert (np.diff(where[own][np.argsort(lat[own], kind="stable")]) >= 0).all()


def test_areas_have_about_as_many_reports_each_wherever_the_city_lies() -> None:
    rng = np.random.default_rng(1)
    lon, lat = rng.normal(-6.3, 0.1, 8_000), rng.normal(53.3, 0.05, 8_000)
    here, there = Areas.fitted(lon, lat, 4), Areas.fitted(lon + 16, lat + 3, 4)
    assert np.bincount(here.of(lon, lat)).tolist() == [500] * 16
    assert (here.of(lon, lat) == there.of(lon + 16, lat + 3)).all()


# What is made.


def test_streets_are_made_piece_by_piece_as_in_one_go() -> None:
    for feed in (STREETS.bus, STREETS.road):
        edges = [EPOCH, EPOCH + 1, EPOCH + 2_500, EPOCH + 9_000, EPOCH + 60_000]
        pieces = [feed(since, until) for since, until in pairwise(edges)]
        assert [row for piece in pieces for row in piece.rows()] == list(feed().rows())
        assert len(feed()) == 12 * 500


def test_the_same_seed_makes_the_same_streets() -> None:
    assert list(STREETS.bus().rows()) == list(replace(STREETS).bus().rows())
    assert STREETS.bus().body != replace(STREETS, seed=4).bus().body
    assert STREETS.bus().body == replace(STREETS, holdup=Prompt()).bus().body, "hold-ups change when, never what"


def test_buses_fall_behind_and_roads_do_not() -> None:
    bus, road = STREETS.bus(), STREETS.road()
    assert (road.arrival_ms == road.event_ms).all()
    assert (bus.arrival_ms >= bus.event_ms).all() and bus.arrival_ms[-1] - bus.event_ms[-1] > 4_000
    growing = replace(STREETS, holdup=Growing()).bus()
    assert (growing.arrival_ms - growing.event_ms).tolist() == list(range(1, 6_001))


def test_a_recorded_feed_is_held_up_in_its_order() -> None:
    feed = replace(STREETS, holdup=Prompt()).bus()
    late = held_up(feed, Periodic(), 3)
    assert late.body == feed.body and (late.arrival_ms >= feed.arrival_ms).all()
    assert late.arrival_ms.tolist() == STREETS.bus().arrival_ms.tolist()
    none = STREETS.bus(EPOCH - 10, EPOCH - 9)
    assert len(held_up(none, Periodic(), 3)) == 0


# What cannot be.


def test_settings_that_cannot_work_are_refused_by_name() -> None:
    wrong: dict[str, Any] = {"per_s": 0, "seconds": 0, "areas": 1_025}
    for key, value in wrong.items():
        with pytest.raises(SettingError, match=rf"traffic\.{key} = {value}: "):
            replace(STREETS, **{key: value})
    with pytest.raises(SettingError, match=r"traffic\.slide_ms = 0: expected 1 up to size_ms = 5000"):
        found(side([]), side([]), slide_ms=0)
    with pytest.raises(SettingError, match=r"traffic\.kind = 'tram': expected one of bus, road"):
        troubles(STREETS.bus(), "tram")
    with pytest.raises(SettingError, match=r"areas\.across = 0"):
        Areas.fitted(np.zeros(1), np.zeros(1), 0)
    with pytest.raises(SettingError, match="as many longitudes as latitudes"):
        Areas.fitted(np.zeros(0), np.zeros(0))


# In Spark.


def events(spark: Any, bus: Feed, road: Feed, **windows: int) -> dict[Event, Seen]:
    rows = [spark.createDataFrame([(row.decode(),) for _, row, _ in f.rows()], "value string") for f in (bus, road)]
    rows = congestion(buses(rows[0]), roads(rows[1]), **windows).selectExpr("unix_millis(window.end) as end_ms", "*")
    return {(row.end_ms, row.area): (row.buses, row.roads) for row in rows.collect()}


@pytest.mark.spark
def test_spark_finds_what_numpy_knows(spark: Any) -> None:
    bus, road = STREETS.bus(), STREETS.road()
    told = troubles(bus, "bus"), troubles(road, "road")
    assert events(spark, bus, road) == found(*told) != {}
    assert events(spark, bus, road, size_ms=2_500, slide_ms=700) == found(*told, 2_500, 700)


@pytest.mark.spark
def test_a_report_that_is_no_json_is_no_trouble(spark: Any) -> None:
    rows = spark.createDataFrame([("not json",), ("{}",)], "value string")
    assert [(row.event_time, row.trouble) for row in buses(rows).collect()] == [(None, False)] * 2
    assert congestion(buses(rows), roads(rows)).count() == 0
    assert "congested" in BUS_TROUBLE
