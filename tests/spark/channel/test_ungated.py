"""Without the gate a query does what stock Spark would: its rows move the watermark, by the patience of each input."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

from headway.spark import jvm
from headway.spark.listening.progress import batch_seen
from spark.scripted import Stage, wait_until

pytestmark = pytest.mark.spark


def counts(frame: Any) -> Any:
    return (
        frame.groupBy(F.window("ts", "3 seconds"), "k").count().selectExpr("unix_millis(window.end) as e", "k", "count as n")
    )


@pytest.fixture
def stage(spark: Any, tmp_path: Path) -> Iterator[Stage]:
    made = Stage(spark, tmp_path, inputs=("a", "b"))
    yield made
    made.close()


@pytest.fixture
def nameless(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """One whose control source is the Python process."""
    monkeypatch.setattr(jvm, "present", lambda spark: False)
    made = Stage(spark, tmp_path)
    yield made
    made.close()


def plain(stage: Stage, frame: Any, name: str, **trigger: Any) -> Any:
    writer = frame.writeStream.format("memory").queryName(name)
    if trigger:
        writer = writer.trigger(**trigger)
    return writer.option("checkpointLocation", str(stage.folder / f"cp-{name}")).start()


def ends(stage: Stage, name: str) -> list[int]:
    return sorted(r.e for r in stage.spark.table(name).collect())


@pytest.mark.core("plain .start() emits what stock Spark emits")
def test_a_query_started_without_the_runtime_emits_what_stock_spark_emits(stage: Stage) -> None:
    frames = {"behind": stage.watermarked("a", "2 seconds"), "stock": stage.raw("a").withWatermark("ts", "2 seconds")}
    queries = [plain(stage, counts(frame), name) for name, frame in frames.items()]
    for second, closed in ((1, []), (4.9, []), (5, [3000]), (11.5, [3000, 6000])):
        stage.put("a", [{"ts": second, "k": 1}])
        for query in queries:
            wait_until(lambda q=query, n=stage.files: rows(q) == n, "its row", query)
            wait_until(lambda q=query, want=closed: ends(stage, q.name) == want, f"windows {closed}", query)
    for query in queries:
        query.processAllAvailable()
        assert ends(stage, query.name) == [3000, 6000]
        query.stop()


def test_rows_that_are_all_ahead_of_the_clock_move_it_too(stage: Stage) -> None:
    """Ten minutes: the clock of this machine is wrong, and stock Spark does not ask it."""
    frames = {"ahead": stage.watermarked("a", "2 seconds"), "beside": stage.raw("a").withWatermark("ts", "2 seconds")}
    first = (int(time.time()) + 600) // 3 * 3
    stage.put("a", [{"ts": first + second, "k": 1} for second in (1, 20)])
    for name, frame in frames.items():
        query = plain(stage, counts(frame), name)
        wait_until(lambda n=name: ends(stage, n) == [(first + 3) * 1000], "the first window", query)
        query.stop()


def rows(query: Any) -> int:
    """Data rows read so far: control rows are none of them."""
    sources = [s for p in query.recentProgress for s in p["sources"] if s["description"].startswith("FileStreamSource")]
    return sum(s["numInputRows"] for s in sources)


def test_an_input_that_has_had_no_row_yet_holds_the_watermark_back(stage: Stage) -> None:
    both = stage.watermarked("a").union(stage.watermarked("b", "5 seconds"))
    query = plain(stage, counts(both), "both")
    stage.put("a", [{"ts": 1, "k": 1}, {"ts": 20, "k": 1}])
    wait_until(lambda: rows(query) == 2, "the rows of the one", query)
    query.processAllAvailable()
    assert ends(stage, "both") == []
    stage.put("b", [{"ts": 8.5, "k": 2}])  # its patience is longer: the watermark is at 3.5
    wait_until(lambda: ends(stage, "both") == [3000], "what both allow", query)
    query.processAllAvailable()
    assert ends(stage, "both") == [3000]
    query.stop()


@pytest.mark.core("plain .start() emits what stock Spark emits")
def test_a_plain_run_of_what_is_there_ends_by_itself(stage: Stage) -> None:
    stage.put("a", [{"ts": s, "k": 1} for s in (1, 2, 4, 11)])
    for name, frame in (("ends", stage.watermarked("a")), ("stock_ends", stage.raw("a").withWatermark("ts", "1 second"))):
        query = plain(stage, counts(frame), name, availableNow=True)
        assert query.awaitTermination(100)
        assert ends(stage, name) == [3000, 6000]


@pytest.mark.core("a query that loses the gate goes on")
def test_a_query_that_has_lost_the_gate_goes_on_by_its_rows_and_its_own_patience(stage: Stage) -> None:
    stage.put("a", [{"ts": 1, "k": 1}])
    stage.start(counts(stage.watermarked("a", "5 seconds")))
    stage.step(None)
    stage.plane.gate.close()
    stage.put("a", [{"ts": 7.9, "k": 1}])
    wait_until(lambda: rows(stage.query) == 2, "a batch without a gate", stage.query)
    stage.query.processAllAvailable()
    assert ends(stage, "staged") == []
    stage.put("a", [{"ts": 2.5, "k": 1}])  # within the patience, so it counts
    wait_until(lambda: rows(stage.query) == 3, "another", stage.query)
    stage.put("a", [{"ts": 8, "k": 1}])
    wait_until(lambda: stage.out() == ["Row(e=3000, k=1, n=2)"], "the window", stage.query)


def test_a_watermark_that_was_announced_ahead_is_not_swept_before_its_time(spark: Any, tmp_path: Path) -> None:
    """By the clock that rules it: somebody may have set the wall clock ahead of that. But never for more than ten seconds
    and patience: nothing is announced further ahead. Three wait side by side, since each takes its time."""
    patience_s = 15
    set_ahead_s = {"level": 0, "ahead": 5, "an_hour_ahead": 3600}
    stages = {name: Stage(spark, made(tmp_path / name)) for name in set_ahead_s}
    try:
        announced_s = {name: announce_ahead(stages[name], name, set_ahead_s[name], patience_s) for name in stages}
        for name, waits_s in (("level", 0), ("ahead", 5), ("an_hour_ahead", 7)):
            query = stages[name].query
            wait_until(lambda q=query: rows(q) == 2, "the batch that sweeps", query)
            swept = next(p for p in query.recentProgress if p["batchId"] == 2)
            seen = batch_seen(json.loads(swept.json))
            assert seen is not None and seen.watermark == announced_s[name] * 1000
            # clocks differ by what a message takes
            assert seen.began >= (announced_s[name] + patience_s + waits_s) * 1000 - 50, name
    finally:
        for stage in stages.values():
            stage.close()


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def announce_ahead(stage: Stage, name: str, set_ahead_s: int, patience_s: int) -> int:
    """A watermark three seconds ahead of the wall clock; then the gate is gone, and a row waits for a batch that sweeps."""
    stage.plane.gate._now = lambda: int((time.time() - set_ahead_s) * 1000)
    stage.start(counts(stage.watermarked("a", f"{patience_s} seconds")), table=name)
    now = time.time()
    stage.put("a", [{"ts": now, "k": 1}])
    stage.step(None)
    assert stage.view.live, "the machine is too slow for this test"
    ahead_s = int(now) + 3
    stage.step(ahead_s)
    stage.plane.gate.close()
    stage.put("a", [{"ts": now + 0.1, "k": 1}])
    return ahead_s


def test_a_query_that_is_put_aside_goes_on_by_its_rows_and_the_others_stay(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    stage.put("a", [{"ts": 1, "k": 1}])
    stage.start(counts(stage.watermarked("a")))
    stage.step(None)
    stage.plane.gate.put_aside("staged", "a test wants it")
    for second in (8, 11, 14):
        stage.put("a", [{"ts": second, "k": 1}])
    wait_until(lambda: ends(stage, "staged") == [3000, 9000, 12000], "windows", stage.query)
    assert stage.told.state == "put aside"
    assert capsys.readouterr().err.count("query 'staged' goes on ungated: a test wants it") == 1
    stage.query.stop()
    stage.start(counts(stage.watermarked("b")), checkpoint="another")  # and when it is started anew, it waits at the gate


def test_without_the_jar_a_query_that_is_put_aside_goes_on_too(nameless: Stage) -> None:
    nameless.put("a", [{"ts": 1, "k": 1}])
    nameless.start(counts(nameless.watermarked("a")), mode="update")
    nameless.step(None)
    nameless.plane.gate.put_aside("staged", "a test wants it")
    nameless.put("a", [{"ts": 2, "k": 1}, {"ts": 100, "k": 2}])
    wait_until(lambda: len(nameless.out()) == 3, "a batch without a gate", nameless.query)
    nameless.put("a", [{"ts": 2.5, "k": 1}])  # nobody knows how far the rows have come: the watermark stays
    wait_until(lambda: "Row(e=3000, k=1, n=3)" in nameless.out(), "another", nameless.query)


def test_without_the_jar_a_query_started_without_the_runtime_is_refused(nameless: Stage) -> None:
    nameless.put("a", [{"ts": 1, "k": 1}])
    query = plain(nameless, counts(nameless.watermarked("a")), "refused")
    wait_until(lambda: query.exception() is not None, "its error")
    assert "headway: this query was started without Headway: start it with rt.start(...)" in str(query.exception())
