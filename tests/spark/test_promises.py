"""What users do in their first week, on real Spark: whatever stock Spark keeps, runs and emits, comes out here as well."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

import headway as hw
from spark.scripted import wait_until

pytestmark = pytest.mark.spark
OLD_S = 1_600_000_000  # a replay of rows from 2020
DAY_S = 86_400


@pytest.fixture
def rt(spark: Any, tmp_path: Path) -> Iterator[Any]:
    with hw.Runtime(spark, journal=tmp_path / "journal.db") as made:
        yield made


def put(folder: Path, name: str, times: list[float | None], text: str | None = None) -> None:
    """One file, complete at once."""
    folder.mkdir(exist_ok=True)
    lines = [{"ts": None if t is None else datetime.fromtimestamp(t, UTC).isoformat()} for t in times]
    hidden = folder / f".{name}"
    hidden.write_text(text or "".join(json.dumps(line) + "\n" for line in lines))
    hidden.rename(folder / name)


def rows(spark: Any, folder: Path) -> Any:
    folder.mkdir(exist_ok=True)
    return spark.readStream.schema("ts timestamp").json(str(folder))


def counted(frame: Any, size: str = "10 seconds") -> Any:
    return frame.groupBy(F.window("ts", size)).count().selectExpr("unix_seconds(window.end) as e", "count as n")


def found(spark: Any, name: str) -> dict[int, int]:
    return {row.e: row.n for row in spark.table(name).collect()}


def replay(spark: Any, rt: Any, folder: Path, first: list[float | None], name: str) -> dict[int, int]:
    """A file of strange rows first, then six files of a window each, and one that closes the last of them."""
    query = rt.start(counted(rt.watermark(rows(spark, folder), "ts", "5 seconds")).writeStream.format("memory"), name=name)
    put(folder, "0.json", first)
    wait_until(lambda: query.lastProgress and query.lastProgress["numInputRows"] >= 0, "the strange file", query)
    for k in range(7):
        put(folder, f"{k + 1}.json", [OLD_S + 10 * k + n / 10 for n in range(100)])
        wait_until(lambda k=k: sum(p["numInputRows"] for p in query.recentProgress) >= 100 * k, "a file", query)
    wait_until(lambda: len(found(spark, name)) >= 6, "six windows", query)
    return found(spark, name)


SIX = {OLD_S + 10 * (k + 1): 100 for k in range(6)}


@pytest.mark.core("rows without a time, or from the future, make nothing late")
def test_rows_without_a_time_make_nothing_late(spark: Any, rt: Any, tmp_path: Path) -> None:
    assert replay(spark, rt, tmp_path / "in", [None], "with_null") == SIX
    assert {(c.reason, c.rows) for c in rt.late_counts()} == {("timeless", 1)}


@pytest.mark.core("rows without a time, or from the future, make nothing late")
def test_a_row_from_the_far_future_makes_nothing_late_and_is_counted(spark: Any, rt: Any, tmp_path: Path) -> None:
    assert replay(spark, rt, tmp_path / "in", [time.time() + 40 * DAY_S], "with_future") == SIX
    assert {(c.reason, c.rows) for c in rt.late_counts()} == {("future", 1)}


@pytest.mark.parametrize("windowed", [True, False], ids=["windows", "no windows"])
def test_rows_from_the_future_are_kept_on_request(spark: Any, rt: Any, tmp_path: Path, windowed: bool) -> None:
    folder, late, name = tmp_path / "in", str(tmp_path / "late"), f"kept_{windowed}".lower()
    marked = rt.watermark(rows(spark, folder), "ts", "5 seconds", late=late, name=f"in_{windowed}")
    frame = counted(marked) if windowed else marked.selectExpr("unix_seconds(ts) as e", "1 as n")
    query = rt.start(frame.writeStream.format("memory"), name=name, checkpoint=str(tmp_path / "checkpoint"))
    put(folder, "0.json", [OLD_S, None, time.time() + 40 * DAY_S])
    wait_until(lambda: {c.reason for c in rt.late_counts()} == {"future", "timeless"}, "the count", query)
    kept = rt.late_rows(late).collect()
    assert [(row.reason, row.windows, row.missed, row.query) for row in kept] == [("future", 0, 0, name)]
    assert kept[0].event_time.replace(tzinfo=UTC) == datetime.fromisoformat(json.loads(kept[0].row)["ts"])
    if not windowed:
        assert found(spark, name) == {OLD_S: 1, None: 1}


def test_a_live_stream_goes_on_after_a_row_from_the_year_9999_also_after_a_restart(
    spark: Any, rt: Any, tmp_path: Path
) -> None:
    folder, name = tmp_path / "in", "year_9999"
    live = spark.readStream.format("rate").option("rowsPerSecond", 50).load().select(F.col("timestamp").alias("ts"))

    def start() -> Any:
        both = rt.watermark(live.union(rows(spark, folder)), "ts", "1500 ms", name=f"input-{time.time_ns()}")
        writer = counted(both, "2 seconds").writeStream.format("json").option("path", str(tmp_path / "out"))
        return rt.start(writer, name=name, checkpoint=str(tmp_path / "checkpoint"))

    def out() -> int:
        return int(spark.read.schema("e long, n long").json(str(tmp_path / "out")).count())

    query = start()
    wait_until(lambda: out() >= 1, "a window", query)
    put(folder, "9999.json", [], '{"ts": "9999-12-31T00:00:00Z"}\n')
    wait_until(lambda: rt.late_counts(), "the row to be counted", query)
    assert [(c.reason, c.rows) for c in rt.late_counts()] == [("future", 1)]
    seen = out()
    wait_until(lambda: out() >= seen + 2, "windows after it", query)
    query.stop()
    query, seen = start(), out()
    wait_until(lambda: out() >= seen + 2, "windows after the restart", query)


def test_a_fast_query_runs_beside_four_that_sleep_between_triggers(spark: Any, rt: Any, tmp_path: Path) -> None:
    rate = spark.readStream.format("rate").option("rowsPerSecond", 10).load()
    for n in range(4):
        slow = rt.watermark(rate, "timestamp", "1500 ms").groupBy(F.window("timestamp", "10 seconds")).count()
        rt.start(slow.writeStream.format("noop").trigger(processingTime="30 seconds"), name=f"slow_{n}")
    fast = rt.watermark(rate.withColumnRenamed("timestamp", "ts"), "ts", "1500 ms")
    query = rt.start(counted(fast, "2 seconds").writeStream.format("memory"), name="fast")
    wait_until(lambda: len(found(spark, "fast")) >= 4, "four windows", query)


def test_in_update_mode_totals_come_with_every_batch(spark: Any, rt: Any) -> None:
    rate = spark.readStream.format("rate").option("rowsPerSecond", 100).load().withColumnRenamed("timestamp", "ts")
    totals = counted(rt.watermark(rate, "ts", "2 seconds"), "10 minutes")
    query = rt.start(totals.writeStream.outputMode("update").format("memory"), name="totals")
    wait_until(lambda: spark.table("totals").select("n").distinct().count() >= 8, "eight updates", query)
    assert sum(p["numInputRows"] > 0 for p in query.recentProgress) >= 8  # one in ten minutes it was


def test_all_rows_may_be_hours_ahead_of_the_clock(spark: Any, rt: Any, tmp_path: Path) -> None:
    """A time zone taken for another: stock Spark emits by the rows' own clock."""
    folder = tmp_path / "in"
    start = (time.time() + 9 * 3600) // 10 * 10
    query = rt.start(counted(rt.watermark(rows(spark, folder), "ts", "1 second")).writeStream.format("memory"), name="tokyo")
    for k in range(5):
        put(folder, f"{k}.json", [start + 10 * k + n for n in range(10)])
        wait_until(lambda k=k: sum(p["numInputRows"] for p in query.recentProgress) >= 10 * k, "a file", query)
    wait_until(lambda: len(found(spark, "tokyo")) >= 4, "four windows", query)
    assert set(found(spark, "tokyo").values()) == {10} and not rt.late_counts()
