"""The promises of the control channel: it gates, it sets the watermark, it survives, and it lets go."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F
from pyspark.sql import types as T

import headway as hw
from headway.spark import jvm
from spark.scripted import Stage, counts, wait_until

pytestmark = pytest.mark.spark


@pytest.mark.core("no batch runs while its gate is shut")
def test_no_batch_runs_while_the_gate_is_shut_and_the_batch_holds_all_that_came_meanwhile(stage: Stage) -> None:
    stage.put("a", [{"ts": 1, "k": 1}])
    stage.start(counts(stage.watermarked("a")))
    assert not stage.query.lastProgress
    stage.put("a", [{"ts": 2, "k": 1}])
    stage.step(None)
    assert stage.view.inputs[0].frontier == 2000
    assert stage.query.lastProgress["batchId"] == 0


@pytest.mark.core("a window comes out once, whole, with the batch that reads its last row")
def test_a_window_comes_out_with_the_batch_that_reads_its_last_row_where_stock_spark_needs_another(
    stage: Stage, spark: Any, tmp_path: Path
) -> None:
    stage.put("a", [{"ts": 1, "k": 1}])
    stage.start(counts(stage.watermarked("a")))
    stage.step(3)
    batches = []
    for window in (1, 2, 3):
        stage.put("a", [{"ts": 3 * window - 0.1, "k": 1}, {"ts": 3 * window + 1, "k": 1}])
        before = stage.batch
        stage.step(3 * window + 3)
        batches.append(stage.batch - before)
        assert len(stage.out()) == window
    assert batches == [1, 1, 1]

    (tmp_path / "s").mkdir()
    stock = stage.raw("s").withWatermark("ts", "1 second")
    writer = counts(stock).writeStream.format("memory").queryName("stock")
    query = writer.option("checkpointLocation", str(tmp_path / "stock")).start()
    for window in (1, 2, 3):
        stage.put("s", [{"ts": 3 * window - 0.1, "k": 1}, {"ts": 3 * window + 1, "k": 1}])
        wait_until(lambda emitted=window: spark.table("stock").count() == emitted, "a window of stock Spark", query)
    last = query.lastProgress["batchId"]
    query.stop()
    assert last + 1 >= 2 * 3  # one to read, one more to notice that the watermark has moved


@pytest.mark.core("late rows are counted")
def test_a_late_row_is_counted_before_any_aggregation(stage: Stage) -> None:
    stage.put("a", [{"ts": 1, "k": 1}])
    stage.start(counts(stage.watermarked("a")))
    stage.step(3)
    stage.step(6)
    stage.put("a", [{"ts": 2, "k": 1}, {"ts": 2.5, "k": 1}, {"ts": 5, "k": 1}])
    stage.step(9)
    assert stage.view.inputs[0].late_rows == 2
    assert stage.query.lastProgress["stateOperators"][0]["numRowsDroppedByWatermark"] == 1  # Spark saw one group


def test_columns_of_every_kind_and_name_keep_their_values_and_their_nullability(stage: Stage) -> None:
    odd = stage.raw("a").select(
        "ts",
        F.lit(7).alias("__headway"),
        F.lit("x").alias("at"),
        F.coalesce("k", F.lit(0)).alias("a.b `c`"),
        F.struct(F.lit(1).alias("one"), F.array(F.lit(1.5)).alias("many"), F.col("v").alias("maybe")).alias("nested"),
        F.create_map(F.lit("key"), F.lit(True)).alias("map"),
        F.lit(b"bytes").alias("raw"),
        F.expr("date'2020-01-01'").alias("day"),
        F.expr("cast(1.25 as decimal(10, 2))").alias("money"),
    )
    marked = stage.rt.watermark(odd, "ts", "1 second")
    assert [(f.name, f.nullable) for f in marked.schema] == [(f.name, f.nullable) for f in odd.schema]
    assert [f.dataType for f in marked.schema if f.name != "ts"] == [f.dataType for f in odd.schema if f.name != "ts"]
    stage.put("a", [{"ts": 1, "k": 4, "v": None}])
    stage.start(marked.drop("ts"))
    stage.step(3)
    assert [eval_row["a.b `c`"] for eval_row in stage.spark.table("staged").collect()] == [4]
    assert isinstance(marked.schema["nested"].dataType, T.StructType)


@pytest.mark.core("duplicates are dropped within the patience")
def test_dropping_duplicates_within_the_watermark_remembers_rows_for_the_patience_and_no_longer(stage: Stage) -> None:
    stage.put("a", [{"ts": 1, "k": 1}])
    stage.start(stage.watermarked("a", "2 seconds").dropDuplicatesWithinWatermark(["k"]))
    stage.step(None)
    stage.put("a", [{"ts": 1.5, "k": 1}])
    stage.step(4)
    stage.step(5)
    assert stage.query.lastProgress["stateOperators"][0]["numRowsTotal"] == 0
    stage.put("a", [{"ts": 6, "k": 1}])
    stage.step(6)
    assert len(stage.out()) == 2


@pytest.mark.core("a stopped query goes on from its checkpoint")
@pytest.mark.parametrize("then", ["jar", "python"])
def test_a_query_stopped_at_the_gate_ends_at_once_and_goes_on_from_its_checkpoint(
    stage: Stage, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    """By either control source, whichever it began with: both write the same offsets."""
    sink = tmp_path / "out"

    def begin(on: Stage) -> None:
        writer = counts(on.watermarked("a")).writeStream.format("json").option("path", str(sink))
        on.query = on.rt.start(writer, name="restarted", checkpoint=str(tmp_path / "cp"))
        wait_until(lambda: on.at_gate, "the gate", on.query)

    stage.put("a", [{"ts": 1, "k": 1}])
    begin(stage)
    stage.step(3)
    stage.query.stop()
    assert not stage.query.isActive

    monkeypatch.setattr(jvm, "present", lambda spark: then == "jar")
    again = Stage(spark, tmp_path)
    stage.put("a", [{"ts": 2, "k": 1}, {"ts": 4, "k": 1}])
    begin(again)
    # What was announced before the stop is pending still: the first batch sweeps it, and counts the row that came since.
    assert again.view.pending
    again.step(6)
    again.step(9)
    again.close()
    rows = [json.loads(line) for file in sink.glob("*.json") for line in file.read_text().splitlines()]
    assert sorted((r["e"], r["k"], r["n"]) for r in rows) == [(3000, 1, 2), (6000, 1, 1)]


@pytest.mark.core("one partition, one task")
@pytest.mark.parametrize("partitions", ["1", "2"])
def test_with_one_partition_a_batch_is_one_task_that_shuffles_nothing(spark: Any, tmp_path: Path, partitions: str) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", partitions)
    stage = Stage(session, tmp_path)
    stage.put("a", [{"ts": second, "k": second % 2} for second in range(4)])
    stage.start(counts(stage.watermarked("a")))
    stage.step(3)
    stage.step(None)
    plan = stage.query._jsq.explainInternal(False)
    stage.close()
    assert ("Exchange" not in plan) == (partitions == "1")
    assert stage.out() == ["Row(e=3000, k=0, n=2)", "Row(e=3000, k=1, n=1)"]


@pytest.mark.core("update mode")
def test_update_mode_is_served_too(stage: Stage) -> None:
    stage.put("a", [{"ts": 1, "k": 1}])
    stage.start(counts(stage.watermarked("a")), mode="update")
    stage.step(None)
    stage.put("a", [{"ts": 2, "k": 1}])
    stage.step(None)
    assert stage.out() == ["Row(e=3000, k=1, n=1)", "Row(e=3000, k=1, n=2)"]


def test_a_watermark_that_does_not_take_is_noticed(stage: Stage) -> None:
    stage.put("a", [{"ts": 1, "k": 1}])
    # A second watermark of the user's own holds Spark's back: it takes the least of both.
    other = stage.rt.watermark(stage.raw("a"), "ts", "1 second", name="b").withWatermark("ts", "1 hour")
    stage.start(counts(stage.watermarked("a").union(other)))
    stage.step(3)
    stage.step(6)
    wait_until(lambda: any("did not take" in n for n in stage.notes()), "a note in the journal")
    assert "announced watermark 3000 did not take" in " ".join(stage.notes())


@pytest.mark.core("a query that loses the gate goes on")
def test_without_a_controller_a_query_goes_on_and_loses_nothing(stage: Stage) -> None:
    stage.put("a", [{"ts": 1, "k": 1}])
    stage.start(counts(stage.watermarked("a")), mode="update")
    stage.step(None)
    stage.plane.gate.close()
    stage.put("a", [{"ts": 2, "k": 1}, {"ts": 100, "k": 2}])
    wait_until(lambda: len(stage.out()) == 3, "a batch without a gate", stage.query)
    # The rows are old: the wall clock must not declare them late.
    stage.put("a", [{"ts": 2.5, "k": 1}])
    wait_until(lambda: "Row(e=3000, k=1, n=3)" in stage.out(), "another", stage.query)
    assert stage.query.isActive


def test_an_unknown_caller_gets_no_answer_from_the_gate(stage: Stage) -> None:
    import socket

    with socket.create_connection(("127.0.0.1", stage.plane.gate.port)) as link:
        link.sendall(b'{"secret": "guess"}\n')
        assert link.recv(100) == b""


@pytest.mark.core("a window comes out once, whole, with the batch that reads its last row")
def test_old_rows_are_replayed_by_their_own_time_not_by_the_wall_clock(spark: Any, tmp_path: Path) -> None:
    """Klink itself on files of 1970: stock Spark would lose none of them, so neither may we."""
    stage = Stage(spark, tmp_path)
    stage.rt.stop()
    rt = hw.Runtime(spark, journal=tmp_path / "j.db")
    for second in range(0, 40, 4):
        stage.put("a", [{"ts": second + i / 10, "k": i % 2} for i in range(40)])
    frame = counts(rt.watermark(stage.raw("a"), "ts", "1 second"))
    query = rt.start(frame.writeStream.format("memory"), name="old", checkpoint=str(tmp_path / "cp"))
    wait_until(lambda: spark.table("old").count() >= 24, "twelve windows", query)
    stage.put("a", [{"ts": 40 + i / 10, "k": i % 2} for i in range(100)])
    wait_until(lambda: spark.table("old").count() >= 30, "three more", query)
    got = {(r.e, r.k): r.n for r in spark.table("old").collect()}
    assert all(n == 15 for n in got.values())
    rt.stop()


def test_a_session_made_from_another_can_have_a_runtime_too(spark: Any, tmp_path: Path) -> None:
    child = spark.newSession()
    with hw.Runtime(child, journal=tmp_path / "child.db") as rt:
        marked = rt.watermark(child.readStream.format("rate").load(), "timestamp", "1 s")
        query = rt.start(marked.writeStream.format("noop"), name="child", checkpoint=str(tmp_path / "cp"))
        assert query.isActive


def test_a_name_that_the_writer_has_already_is_kept(spark: Any, tmp_path: Path) -> None:
    with hw.Runtime(spark, journal=tmp_path / "j.db") as rt:
        marked = rt.watermark(spark.readStream.format("rate").load(), "timestamp", "1 s")
        writer = marked.writeStream.format("noop").queryName("own").option("checkpointLocation", str(tmp_path / "cp"))
        assert rt.start(writer).name == "own"
