"""What a batch tells of its rows: in one pass the same as by Spark's own aggregates."""

import json
from math import inf
from typing import Any

import pytest
from pyspark.sql import functions as F

from headway.spark.tally import DELAYS, FASTEST, FUTURE, NEWEST, Names, Tally

pytestmark = pytest.mark.spark
NAMES = Names("mark", "at", "delay", "part", "value", "group", "future")
EXACT = ("rows", "timed", "newest", "foremost", "oldest", FUTURE)
DAY_MS = 86_400_000


def rows(spark: Any, count: int, spread_ms: int = 700, parts: int = 1) -> Any:
    """Rows of the last minutes, some without a time, some from the future, some without an arrival, one without a mark."""
    now = "unix_millis(current_timestamp())"
    at = f"{now} - 300000 + id * 10 + if(id % 50 = 3, {3 * DAY_MS}, 0) + if(id % 70 = 5, 4000000, 0)"
    return spark.range(0, count, 1, parts).selectExpr(
        "if(id = 0, null, true) as mark",
        f"if(id % 100 = 7, null, timestamp_millis({at})) as ts",
        f"if(id % 90 = 8, timestamp_millis(-1), timestamp_millis({now} - 300000 + id * 10 + id * 37 % {spread_ms})) as came",
        "cast(id % 3 as int) as part",
    )


def both(spark: Any, frame: Any, arrival: str | None = "came", parts: int = 3) -> tuple[dict[str, Any], dict[str, Any]]:
    beyond = F.unix_micros("ts") > F.unix_micros(F.current_timestamp()) + DAY_MS * 1000
    tally = Tally(NAMES, "ts", arrival, beyond, 1_000, parts, tails=True)
    made = {n: column for n, (_, column) in tally.columns().items()} | {"future": F.when(beyond, F.col("ts"))}
    control = [F.when(F.col("mark").isNotNull(), F.col(n)).alias(n) for n in ("at", "delay", "part", "future")]
    wide = frame.withColumns(made).select("mark", "ts", "came", *control)
    plain = wide.agg(*tally.by_aggregates()).collect()[0].asDict(recursive=True)
    one = wide.agg(*tally.in_one_pass(spark._jvm)).collect()[0].tally
    return json.loads(one), plain


def mean(bins: list[dict[str, float]]) -> float:
    return sum(b["x"] * b["y"] for b in bins) / sum(b["y"] for b in bins)


@pytest.mark.parametrize("arrival", ["came", None])
def test_one_pass_tells_what_aggregates_tell(spark: Any, arrival: str | None) -> None:
    one, plain = both(spark, rows(spark, 20_000), arrival)
    # Two jobs are of two moments, and so are their rows.
    moments = ("newest", "foremost", "oldest")
    assert {n: one[n] for n in EXACT if n not in moments} == {n: plain[n] for n in EXACT if n not in moments}
    assert all(abs(one[n] - plain[n]) < 60_000 for n in moments)
    assert one["newest"] < one["foremost"] and one[FUTURE] > 0
    for key in ("delays", *(f"{DELAYS}{k}" for k in range(3))):
        assert sum(b["y"] for b in one[key]) == sum(b["y"] for b in plain[key]) > 0
        assert [b["x"] for b in one[key]] == sorted(b["x"] for b in one[key])
        assert mean(one[key]) == pytest.approx(mean(plain[key]), rel=0.001, abs=5)
    for k in range(3):
        assert abs(one[f"{NEWEST}{k}"] - plain[f"{NEWEST}{k}"]) < 60_000
        assert one[f"{FASTEST}{k}"] == pytest.approx(plain[f"{FASTEST}{k}"], abs=60_000 if arrival is None else 0)
    assert sum(b["y"] for b in one["old"]) == pytest.approx(sum(b["y"] for b in plain["old"]), abs=200)


def test_parts_of_a_batch_come_together(spark: Any) -> None:
    frame = rows(spark, 20_000)
    one, _ = both(spark, frame)
    many, _ = both(spark, frame.repartition(4))
    for name in ("rows", "timed", FUTURE):
        assert one[name] == many[name]
    assert sum(b["y"] for b in many["delays"]) == one["timed"]
    assert mean(many["delays"]) == pytest.approx(mean(one["delays"]), rel=0.001, abs=5)


def test_an_empty_batch_tells_nothing(spark: Any) -> None:
    one, _ = both(spark, rows(spark, 1))  # the row without a mark
    assert (one["rows"], one["timed"], one["newest"], one["delays"], one["old"]) == (0, 0, None, [], [])


@pytest.mark.parametrize("delays", [
    [0, 1, 2, 31, 32, 33, 63, 64, 1_000_000], [-1, -5, -40, -1_000], [7] * 100, [2**40, -(2**40)], list(range(0, 500, 7)),
])  # fmt: skip
def test_a_delay_is_known_to_a_sixteenth(spark: Any, delays: list[int]) -> None:
    frame = spark.createDataFrame([(d,) for d in delays], "d long").selectExpr(
        "true as mark", "timestamp_millis(5000000000000) as ts", "timestamp_millis(5000000000000 + d) as came"
    )
    [made] = Tally(NAMES, "ts", "came", None, 0, 0, tails=False).in_one_pass(spark._jvm)
    told = [(b["x"], b["y"]) for b in json.loads(frame.agg(made).collect()[0].tally)["delays"]]
    assert sum(y for _, y in told) == len(delays)
    assert sum(x * y for x, y in told) == pytest.approx(sum(delays))
    if len(set(delays)) <= 32:
        nearest = [min(told, key=lambda bin: abs(bin[0] - d), default=(inf, 0))[0] for d in delays]
        assert all(abs(x - d) <= abs(d) / 16 + (d < 0) for x, d in zip(nearest, delays, strict=True))
