"""What a batch tells of a sampled input: in one pass what Spark's own aggregates tell, and no more than is of use."""

import json
from typing import Any

import pytest
from pyspark.sql import functions as F

from headway.spark.sampling import Sample
from headway.spark.tally import Names, Tally

pytestmark = pytest.mark.spark
MOST_CELLS = 36_000


def rows(spark: Any, count: int, apart_ms: int, parts: int = 1) -> Any:
    """A row every so many ms, of three groups, that came in up to 700 ms later; every hundredth has no time."""
    at = f"if(id % 100 = 7, null, timestamp_millis(id * {apart_ms}))"
    return spark.range(0, count, 1, parts).selectExpr(
        "true as mark", f"{at} as ts", f"timestamp_millis(id * {apart_ms} + id * 37 % 700) as came",
        "cast(id % 10 as double) as v", "id % 3 as k",
    )  # fmt: skip


NAMES = Names("mark", "at", "delay", "part", "v", "k", "future")


def told(frame: Any, arrival: str | None = "came") -> dict[str, Any]:
    tally = Tally(NAMES, "ts", arrival, None, 0, 0, False)
    [made] = Sample(F.col("v"), F.col("k"), ("ts", "v")).metrics(tally)
    answer: dict[str, Any] = json.loads(frame.agg(made.alias("told")).collect()[0].told)
    return answer


def test_it_has_the_tally_of_any_input(spark: Any) -> None:
    frame = rows(spark, 3_000, 10)
    seen = told(frame)
    [made] = Tally(NAMES, "ts", "came", None, 0, 0, False).in_one_pass(spark._jvm)
    plain = json.loads(frame.agg(made.alias("told")).collect()[0].told)
    assert {name: value for name, value in seen.items() if name not in ("subs", "keys", "old")} == {
        name: value for name, value in plain.items() if name != "old"
    }
    assert sum(b["y"] for b in plain["old"]) == seen["timed"] == sum(sub[1] for sub in seen["subs"])


def test_its_sums_are_those_of_sub_streams_and_groups(spark: Any) -> None:
    frame = rows(spark, 3_000, 10)
    parts = frame.where("ts is not null").selectExpr(
        "unix_millis(ts) div 100 as cell", "k", "v", "cast(unix_millis(came) - unix_millis(ts) as double) as d"
    )  # fmt: skip
    sums = [F.count("v"), *(F.sum(F.expr(x)) for x in ("d", "d * d", "v", "v * v", "v * v * v", "d * v"))]
    seen = told(frame)
    assert sorted(map(tuple, seen["subs"])) == sorted(map(tuple, parts.groupBy("cell").agg(*sums).collect()))
    of_keys = parts.groupBy("k").agg(F.count("v"), F.sum("v"), F.sum(F.expr("v * v"))).collect()
    assert sorted(map(tuple, seen["keys"])) == sorted(map(tuple, of_keys))


def test_odd_rows_are_taken_as_far_as_they_go(spark: Any) -> None:
    odd = spark.sql(
        "select true as mark, timestamp_millis(t) as ts, timestamp_millis(c) as came, cast(v as double) as v, 0L as k"
        " from values (1000, 1200, '2.0'), (-1500, -1400, 'NaN'), (2000, -1, 'Infinity'),"
        " (4102444800000, 4102444800000, null) as rows(t, c, v)"
    )
    seen = told(odd)
    assert (seen["rows"], seen["oldest"], seen["newest"]) == (4, -1_500, 2_000)  # the last is from 2100
    assert {sub[0]: sub[4] for sub in seen["subs"]} == {10: 2.0, -15: 0.0, 20: 1e60, 41_024_448_000: 0.0}
    assert sorted(b["x"] for b in seen["delays"])[:2] == [0.0, 200.0]  # what came before 1970 has no arrival: it came now


def test_parts_come_together(spark: Any) -> None:
    one, three = told(rows(spark, 3_000, 10)), told(rows(spark, 3_000, 10, parts=3))
    for name in ("rows", "timed", "newest", "oldest", "subs"):
        assert one[name] == three[name]
    assert sorted(one["keys"]) == sorted(three["keys"])
    assert sum(b["y"] for b in three["delays"]) == one["timed"]


@pytest.mark.parametrize("backwards", [False, True])
def test_of_a_long_time_only_the_last_is_told_in_detail_and_nothing_is_lost(spark: Any, backwards: bool) -> None:
    frame = rows(spark, 50_000, 6_000, parts=2)  # more than three days
    seen = told(frame.sortWithinPartitions(F.col("came").desc()) if backwards else frame)
    assert len(seen["subs"]) == MOST_CELLS
    newest = [sub[0] for sub in seen["subs"]]
    assert (min(newest), max(newest)) == (newest[0], newest[-1])
    assert all(b["x"] < newest[0] for b in seen["old"])
    assert sum(b["y"] for b in seen["old"]) + sum(sub[1] for sub in seen["subs"]) == seen["timed"] == 49_500


def test_control_rows_are_none_and_without_an_arrival_the_moment_of_reading_stands_for_it(spark: Any) -> None:
    frame = rows(spark, 10, 10)
    control = frame.selectExpr("cast(null as boolean) as mark", "ts", "came", "v", "k")
    assert told(control.union(frame))["rows"] == 10
    assert told(control) == {
        "rows": 0, "timed": 0, "future": 0, "newest": None, "foremost": None, "oldest": None,
        "delays": [], "old": [], "subs": [], "keys": [],
    }  # fmt: skip
    assert min(b["x"] for b in told(frame, arrival=None)["delays"]) > 1e12  # these rows are from 1970
