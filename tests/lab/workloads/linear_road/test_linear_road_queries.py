"""Streaming queries in Spark come to what the rules say, row by row."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from headway.sim.delays import Uniform
from headway_lab.workloads.linear_road import accounts, queries
from headway_lab.workloads.linear_road.reports import columns, recorded_reports, typed
from headway_lab.workloads.linear_road.rules import average_speeds
from headway_lab.workloads.linear_road.validate import differences, flat
from lab.workloads.linear_road.roads import MINUTE_MS, crowded_road, joined, needs_real_data, stands
from lab.workloads.linear_road.streamed import emitted, stream, told

pytestmark = pytest.mark.spark
ROAD = crowded_road().delayed(Uniform(0, 90), seed=1)  # out of order, but never later than the watermark allows


@needs_real_data
def test_the_one_true_accident_is_found_in_the_real_input(spark: Any, tmp_path: Path) -> None:
    rows = told(spark, recorded_reports(), tmp_path, lambda reports: flat("accidents", queries.accidents(reports)))
    (found,) = [row for row in rows if row["fresh"]]

    assert (found["xway"], found["dir"], found["lane"], found["seg"], found["pos"]) == (0, 0, 1, 8, 45_545)
    assert (found["vids"], found["since_ms"]) == ([3, 4], 153_000)
    assert differences("accidents", rows, recorded_reports()) == []


def test_however_stays_overlap_by_a_second_or_miss_each_other_the_same_accidents_are_told(spark: Any) -> None:
    random = Random(1)
    stays = []
    for vid in range(200):
        begin, times = random.randrange(1_200), random.randint(3, 7)
        stays.append(stands(vid, begin, times, seg=random.randrange(10)))
        if random.random() < 0.3:  # misses a report, and stands on
            stays.append(stands(vid, begin + 30 * (times + 1), random.randint(1, 6), seg=int(stays[-1]["seg"][0])))
    feed = joined(*stays).feed("stays")
    lines = spark.createDataFrame([(row.decode(),) for _, row, _ in feed.rows()], "value string")
    rows = [row.asDict() for row in flat("accidents", queries.accidents(typed(lines))).collect()]

    assert sum(row["fresh"] for row in rows) > 20
    assert any(len(row["vids"]) > 2 for row in rows)
    assert differences("accidents", rows, feed) == []


@pytest.mark.parametrize(
    ("output", "query"),
    [
        ("statistics", queries.segment_statistics),
        ("accidents", queries.accidents),
        ("tolls", queries.tolls),
        ("charges", queries.charges),
    ],
    ids=["statistics", "accidents", "tolls", "charges"],
)
def test_a_run_emits_what_the_rules_say(spark: Any, tmp_path: Path, output: Any, query: Any) -> None:
    rows = told(spark, ROAD, tmp_path, lambda reports: flat(output, query(reports, MINUTE_MS)))

    assert len(rows) > 40
    assert differences(output, rows, ROAD, MINUTE_MS) == []
    assert output not in ("tolls", "charges") or any(row["toll"] for row in rows)


def test_average_speeds_are_those_of_the_five_minutes_before(spark: Any, tmp_path: Path) -> None:
    rows = told(spark, ROAD, tmp_path, lambda reports: queries.average_speed(reports, MINUTE_MS).selectExpr(
        "unix_millis(five.end) as start_ms", "xway", "dir", "seg", "lav", "cars"
    ))  # fmt: skip
    known = average_speeds(columns(ROAD), MINUTE_MS)

    assert len(rows) == len(known)
    for row in rows:
        assert (row["lav"], row["cars"]) == pytest.approx(known[row["start_ms"], row["xway"], row["dir"], row["seg"]])


def test_balances_are_the_sums_of_what_was_paid(spark: Any, tmp_path: Path) -> None:
    paid = queries.charges(stream(spark, ROAD, tmp_path), MINUTE_MS)
    rows = emitted(queries.balances(stream(spark, ROAD, tmp_path), paid, MINUTE_MS), tmp_path)
    known = accounts.balances(columns(ROAD), MINUTE_MS)

    assert len(rows) == len(known)
    assert {(row["type"], row["qid"]): row["balance"] for row in rows} == known
    assert sum(balance > 0 for (kind, _), balance in known.items() if kind == 2) > 10
    assert any(balance > 0 for (kind, _), balance in known.items() if kind == 3)


def test_journeys_go_by_the_segments_as_they_are(spark: Any, tmp_path: Path) -> None:
    rows = told(spark, ROAD, tmp_path, lambda reports: queries.travel_times(
        reports, queries.segment_tolls(reports, MINUTE_MS), MINUTE_MS
    ))  # fmt: skip
    known = accounts.journeys(columns(ROAD), MINUTE_MS)

    assert len(rows) == len(known) == 100
    for row in rows:
        assert (row["seconds"], row["toll"]) == pytest.approx((known[row["qid"]].seconds, known[row["qid"]].toll))
    assert sum(journey.toll > 0 for journey in known.values()) > 10


def test_the_pressed_query_joins_three_streams_and_loses_nothing(spark: Any, tmp_path: Path) -> None:
    rows = told(spark, ROAD, tmp_path, lambda reports: queries.pressure(reports, offset_ms=1_234).selectExpr(
        "unix_millis(window.start) as start_ms", "xway", "dir", "cars", "stopped", "speed"
    ))  # fmt: skip
    known = accounts.pressures(columns(ROAD), 5_000, 3_000, 1_234)

    assert len(rows) == len(known)
    for row in rows:
        says = (row["cars"], row["stopped"], row["speed"])
        assert says == pytest.approx(known[row["start_ms"], row["xway"], row["dir"]])
