"""The examples do what they say."""

import os
import runpy
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

import headway as hw
from headway import pipeline
from headway.fleet.epochs import assigned
from headway.kafka import topics
from headway.kafka.jars import fetched
from headway.loop.replay import replay as again
from headway.sim.delays import Uniform
from headway.spark import delta
from headway_lab.workloads.replay import replay
from headway_lab.workloads.ysb import Ysb

EXAMPLES = Path(__file__).parent.parent / "examples"
CAMPAIGNS = EXAMPLES / "campaigns.py"


@pytest.mark.spark
def test_the_campaigns_come_out_window_by_window(spark: Any, tmp_path: Path) -> None:
    rt = hw.Runtime(spark, journal=tmp_path / "journal.db")
    try:
        for found in pipeline.load(CAMPAIGNS):
            rt.start(found.build(rt, spark), name=found.name, checkpoint=str(tmp_path / found.name))
        table = spark.table("games_by_the_second")
        while (windows := table.select("window").distinct().count()) < 2:
            for query in spark.streams.active:
                assert query.exception() is None
        assert windows >= 2
    finally:
        rt.stop()


@pytest.mark.spark
def test_a_batch_that_is_written_twice_counts_once(
    spark: Any, kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("KAFKA", kafka), ("TOPIC", "example"), ("TABLE", str(tmp_path / "views.db"))):
        monkeypatch.setenv(name, value)
    for topic in ("example", "example-views"):
        topics.create(kafka, topic, 2)
    ads = Ysb(1, 200, time.time_ns() // 1_000_000 + 1_000, Uniform(0, 300))
    with hw.Runtime(spark, journal=tmp_path / "journal.db") as rt:
        queries = pipeline.load(EXAMPLES / "exactly_once.py")
        for found in queries:
            rt.start(found.build(rt, spark), name=found.name, **found.settings)
        replay((ads.feed(ads.epoch_ms + s * 1_000, ads.epoch_ms + (s + 1) * 1_000) for s in range(9)), kafka, "example")
        until = (ads.epoch_ms + 6_000) // 3_000 * 3_000
        while _counted(tmp_path)[1] < until or sum(topics.ends(kafka, "example-views").values()) < 10:
            for query in spark.streams.active:
                assert query.exception() is None
            time.sleep(0.1)
    again = spark.createDataFrame([("x", 1)], "ad_id string, count long").selectExpr(
        "window(timestamp_millis(0), '3 seconds') as window", "*"
    )
    before = _counted(tmp_path)
    queries[0].build.__globals__["write"](again, 0)
    assert _counted(tmp_path) == before
    with sqlite3.connect(tmp_path / "views.db") as table:
        total = table.execute("select sum(count) from views where window_end <= ?", (until,)).fetchone()[0]
    assert total == sum(n for (end, _), n in ads.truth(until).items() if end <= until)


def _counted(folder: Path) -> tuple[int, int]:
    """Rows in the table, and the end of its last window."""
    with sqlite3.connect(folder / "views.db") as table:
        if not table.execute("select 1 from sqlite_master where name = 'views'").fetchone():
            return 0, 0
        return tuple(table.execute("select count(*), coalesce(max(window_end), 0) from views").fetchone())


@pytest.mark.spark
def test_windows_go_from_one_delta_table_into_another_or_one_line_says_why_not() -> None:
    environment = {k: v for k, v in os.environ.items() if k != "PYSPARK_SUBMIT_ARGS"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    run = subprocess.run(
        [sys.executable, str(EXAMPLES / "delta.py")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=220,
    )
    try:
        fetched(delta.bundle())
    except hw.HeadwayError as error:
        assert (run.returncode, run.stderr.strip()) == (2, str(error))
        return
    assert run.returncode == 0, run.stderr[-3_000:]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in run.stdout.splitlines() if line.startswith("|2")
    ]
    assert rows and len({(until, sensor) for until, sensor, _ in rows}) == len(rows), "every window once"
    assert {sensor for _, sensor, _ in rows} == {"0", "1", "2", "3"}


def test_policies_of_your_own_run_without_spark_and_say_why() -> None:
    """As `docs/own-policy.md` says."""
    made = runpy.run_path(str(EXAMPLES / "own_policy.py"))
    world = made["main"]()
    assert len(world.windows) > 20 and not world.early and max(w.latency_ms for w in world.windows) < 500
    asked = {entry.question: entry for entry in world.notebook.entries}
    assert asked["patience"].policy == "TwiceTheMedian" and "half of the rows" in asked["patience"].decided.because
    assert asked["order"].policy == "Impatient" and asked["order"].decided.because
    policies = {"order": made["Impatient"](), "patience": made["TwiceTheMedian"]()}
    for question, policy in policies.items():
        assert not list(again([e for e in world.notebook.entries if e.question == question], policy))


@pytest.mark.spark
def test_a_table_with_a_fence_takes_nothing_from_an_incarnation_that_was_replaced(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TABLE", str(tmp_path / "seconds.db"))
    (found,) = pipeline.load(EXAMPLES / "fenced.py")
    with hw.Runtime(spark, journal=tmp_path / "journal.db") as rt:
        with assigned(found.name, 1) as epochs:
            writer = found.build(rt, spark)
        assert epochs[1].raise_in_stores()
        query = rt.start(writer, name=found.name, checkpoint=str(tmp_path / "cp"))
        while not _seconds(tmp_path) and query.exception() is None:
            time.sleep(0.1)
        assert replace(epochs[1], number=2).raise_in_stores()
        before = _seconds(tmp_path)
        with pytest.raises(StreamingQueryException, match="epoch 1 is over, 2 has the sink"):
            query.awaitTermination(60)
        assert _seconds(tmp_path) == before
        assert before and all(count <= 50 for _, count in before)


def _seconds(folder: Path) -> list[tuple[int, int]]:
    with sqlite3.connect(folder / "seconds.db", timeout=30) as table:
        if not table.execute("select 1 from sqlite_master where name = 'seconds'").fetchone():
            return []
        return table.execute("select ends, count from seconds order by ends").fetchall()


@pytest.mark.spark
def test_stages_on_two_nodes_give_the_sums_of_the_whole(
    spark: Any, kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("KAFKA", kafka), ("TOPIC", "staged")):
        monkeypatch.setenv(name, value)
    for topic in ("staged", "staged-seconds"):
        topics.create(kafka, topic, 2)
    ads = Ysb(7, 100, time.time_ns() // 1_000_000 + 1_000, Uniform(0, 300))
    with hw.Runtime(spark, journal=tmp_path / "journal.db") as rt:
        seconds, tens = pipeline.load(EXAMPLES / "stages.py")
        rt.start(seconds.build(rt, spark), name="seconds", checkpoint=str(tmp_path / "seconds"))
        sums = tens.build(rt, spark).format("memory").outputMode("append")
        query = rt.start(sums, name="tens", checkpoint=str(tmp_path / "tens"))
        replay((ads.feed(ads.epoch_ms + s * 1_000, ads.epoch_ms + (s + 1) * 1_000) for s in range(14)), kafka, "staged")
        end = ads.epoch_ms // 10_000 * 10_000 + 10_000
        table = spark.table("tens").selectExpr("unix_millis(window.end) as end", "ad_id", "views")
        while not table.where(f"end = {end}").count():
            assert query.exception() is None
        first = {(row.ad_id, row.views) for row in table.where(f"end = {end}").collect()}
    times, shown, kinds = ads.happened(ads.epoch_ms, end)
    views = [int(ad) for at, ad, kind in zip(times, shown, kinds, strict=True) if at < end and kind == 0]
    assert first == {(str(ad), views.count(ad)) for ad in set(views) if views.count(ad) > 2}
