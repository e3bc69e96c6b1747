"""Late rows: what Spark refuses is in the side table, once, and nothing else is."""

import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

import headway as hw
from headway.model.status import InputStatus, QueryStatus
from headway.model.time import WallMs
from headway.spark import jvm, late
from spark.scripted import Stage

Shape = tuple[float, float]  # of windows: their size and their slide, in seconds
SHAPES = {"tumbling": (3, 3), "sliding": (5, 2)}


@pytest.fixture
def stage(spark: Any, tmp_path: Path) -> Iterator[Stage]:
    made = Stage(spark, tmp_path, ("a", "b"))
    yield made
    made.close()


def kept(stage: Stage, name: str = "a", **more: Any) -> Any:
    """An input with a side table."""
    return stage.rt.watermark(stage.raw(name), "ts", "1 second", name=name, late=str(stage.folder / "late"), **more)


def per_row(frame: Any, shape: Shape) -> Any:
    """Every row is a group of its own: then Spark's count of what it dropped is one of rows."""
    size, slide = (f"{round(1000 * s)} milliseconds" for s in shape)
    counted = frame.groupBy(F.window("ts", size, slide), "k").count()
    return counted.selectExpr("unix_millis(window.end) as e", "k", "count as n")


def ends_of(ts: float, shape: Shape) -> list[int]:
    """Ends of the windows that hold `ts`, in ms."""
    size, slide = (round(1000 * s) for s in shape)
    last = round(1000 * ts) // slide * slide
    return [start + size for start in range(last, last - size, -slide) if start + size > round(1000 * ts)]


def operators(plan: str) -> Counter[str]:
    return Counter(re.findall(r"^[\s:]*(?:[+:]- )?(?:\*\(\d+\) )?(\w+)", plan, re.MULTILINE))


def refused(stage: Stage) -> list[Any]:
    return stage.rt.late_rows(str(stage.folder / "late")).collect()


def key(row: Any) -> int:
    return int(json.loads(row.row)["k"])


def files(stage: Stage) -> list[Path]:
    return sorted((stage.folder / "late").rglob("*.jsonl"))


@pytest.mark.core("the side table has every late row once")
@pytest.mark.spark
@pytest.mark.parametrize("shape", list(SHAPES.values()), ids=list(SHAPES))
def test_results_and_side_table_together_are_all_rows_sent(stage: Stage, shape: Shape) -> None:
    dice = random.Random(6)
    sent: dict[int, float] = {}
    dropped = 0
    stage.start(per_row(kept(stage), shape))
    for step in range(6):
        rows = {len(sent) + i: round(max(0.001, 2 * step + dice.uniform(-9, 2)), 3) for i in range(50)}
        sent |= rows
        stage.put("a", [{"ts": ts, "k": k, "v": 0.5} for k, ts in rows.items()])
        # No batch is like the last: the watermark stands, goes on by windows, or by a part of one.
        stage.step(dice.choice([None, 2 * step + 2, 2 * step + 2.5, 2 * step + 3]))
        dropped += stage.query.lastProgress["stateOperators"][0]["numRowsDroppedByWatermark"]
    stage.step(1000)
    stage.step(2000)

    written = refused(stage)
    out = Counter((r.e, r.k) for r in stage.spark.table("staged").collect())
    missed = {key(r): r for r in written}
    assert len(written) == len(missed) > 30
    assert set(out.values()) == {1}
    assert {k for _, k in out} | set(missed) == set(sent)
    for k, row in missed.items():
        ends = ends_of(sent[k], shape)
        closed = [e for e in ends if e <= row.watermark.timestamp() * 1000]
        assert (row.windows, row.missed) == (len(ends), len(closed))
        assert row.reason == ("late" if closed == ends else "partly late")
        assert not [e for e in closed if (e, k) in out]
        assert all((e, k) in out for e in set(ends) - set(closed))
        assert (row.source, row.query, round(row.event_time.timestamp(), 3)) == ("a", "staged", sent[k])
    assert sum(r.missed for r in written) == dropped


@pytest.mark.spark
def test_a_row_is_kept_whole_with_its_partition_and_odd_names(stage: Stage) -> None:
    odd = stage.raw("a").selectExpr("ts", "k", "v", "k % 2 as `p.x`", "array(v) as many", "cast(null as string) as none")
    marked = stage.rt.watermark(odd, "ts", "1 s", name='say "a"', partition="p.x", late=str(stage.folder / "late"))
    stage.start(marked.groupBy(F.window("ts", "3 seconds")).count())
    stage.step(3)
    stage.step(6)
    stage.put("a", [{"ts": 1.000001, "k": 3, "v": 0.25}, {"ts": 5, "k": 4}])
    stage.step(None)
    (row,) = refused(stage)
    assert (row.source, row.partition, row.batch, row.watermark.timestamp()) == ('say "a"', "1", 2, 3)
    assert row.event_time.timestamp() == 1.000001
    told = {"ts": "1970-01-01T00:00:01.000001Z", "k": 3, "v": 0.25, "p.x": 1, "many": [0.25], "none": None}
    assert json.loads(row.row) == told


@pytest.mark.core("the side table has every late row once")
@pytest.mark.spark
def test_each_late_row_is_there_once_though_the_query_is_stopped_and_a_batch_is_run_again(stage: Stage) -> None:
    """As by a crash after the batch's tasks and before its commit: the commit is what is taken away here."""
    runs: list[int] = []

    def sink(batch: Any, number: int) -> None:
        runs.append(number)
        batch.collect()

    def begin(on: Stage) -> None:
        writer = per_row(kept(on), (3, 3)).writeStream.foreachBatch(sink)
        on.query = on.rt.start(writer, name="again", checkpoint=str(on.folder / "cp"))

    def send(on: Stage, *keys: int) -> None:
        on.put("a", [{"ts": 1, "k": k} for k in keys])
        on.step(None)

    begin(stage)
    stage.step(3)
    stage.step(6)
    send(stage, 1, 2)
    send(stage, 3)
    stage.query.stop()
    last = max(runs)
    (stage.folder / "cp" / "commits" / str(last)).unlink()
    # The run that crashed may have cut the batch into other tasks: then its files have other names than those to come.
    (before,) = [f for f in files(stage) if f.parent.name == f"batch={last}"]
    before.rename(before.with_name(before.name.replace("part-0-0", "part-0-7")))

    again = Stage(stage.spark, stage.folder)
    begin(again)
    send(again, 4, 5)
    again.close()
    assert runs.count(last) == 2
    found = [(r.batch - last, key(r), r.watermark.timestamp()) for r in refused(stage)]
    assert sorted(found) == [(-1, 1, 3), (-1, 2, 3), (0, 3, 6), (1, 4, 6), (1, 5, 6)]


@pytest.mark.spark
def test_a_task_that_fails_leaves_nothing_and_its_late_rows_come_with_the_next_run(stage: Stage) -> None:
    def begin(on: Stage, condition: str) -> None:
        writer = per_row(kept(on).where(condition), (3, 3)).writeStream.format("noop")
        on.query = on.rt.start(writer, name="fails", checkpoint=str(on.folder / "cp"))

    begin(stage, "if(k = 13, raise_error('unlucky'), true)")
    stage.step(3)
    stage.step(6)
    stage.put("a", [{"ts": 1, "k": 1}, {"ts": 7, "k": 13}])
    with pytest.raises(Exception, match="unlucky"):
        stage.step(None)
    assert [f for f in (stage.folder / "late").rglob("*") if f.is_file()] == []

    again = Stage(stage.spark, stage.folder)
    begin(again, "true")
    again.put("a", [{"ts": 2, "k": 2}])
    again.step(None)
    again.close()
    assert sorted(map(key, refused(stage))) == [1, 2]


@pytest.mark.spark
def test_a_batch_that_its_sink_has_already_keeps_its_late_rows(stage: Stage) -> None:
    """Such a batch is planned again, but not run: whoever tidied up at planning would lose rows."""

    def begin(on: Stage) -> None:
        writer = per_row(kept(on), (3, 3)).writeStream.format("json").option("path", str(on.folder / "out"))
        on.query = on.rt.start(writer, name="filed", checkpoint=str(on.folder / "cp"))

    begin(stage)
    stage.step(3)
    stage.step(6)
    stage.put("a", [{"ts": 1, "k": 1}])
    stage.step(None)
    stage.query.stop()
    commits = stage.folder / "cp" / "commits"
    (commits / str(max(int(f.name) for f in commits.iterdir() if f.name.isdigit()))).unlink()
    again = Stage(stage.spark, stage.folder)
    begin(again)
    again.put("a", [{"ts": 2, "k": 2}])
    again.step(None)
    again.close()
    assert sorted(map(key, refused(stage))) == [1, 2]


@pytest.mark.spark
def test_nothing_is_written_when_nothing_is_late_and_each_row_costs_one_comparison(stage: Stage) -> None:
    def plan(frame: Any, table: str) -> str:
        stage.start(per_row(frame, (3, 3)), table=table, checkpoint=table)
        for window in (1, 2, 3):
            # Behind the watermark that is announced, and in time all the same: its window is open.
            stage.put("a", [{"ts": 3 * window - 2.9, "k": window}, {"ts": 3 * window - 0.1, "k": 9}])
            stage.step(3 * window)
        text: str = stage.query._jsq.explainInternal(False)
        stage.query.stop()
        return text

    without, within = plan(stage.rt.watermark(stage.raw("a"), "ts", "1 s"), "without"), plan(kept(stage), "within")
    assert files(stage) == []
    assert refused(stage) == []
    assert "late rows of" not in without
    (line,) = [line for line in within.splitlines() if "late rows of" in line]
    # Before anything else is looked at: whether the row is beyond the horizon, and then whether it is old.
    assert re.search(r"CASE WHEN isnotnull\(__headway_future#\d+\) THEN .* WHEN \(ts", line)
    # It is part of a filter that is there anyway; only, a filter of the user's is not merged with it any more.
    assert operators(within) - operators(without) in (Counter(), Counter(Filter=1))


@pytest.mark.core("the side table has every late row once")
@pytest.mark.spark
@pytest.mark.parametrize("spec", ["join", "duplicates, then windows", "session", "update", "union"])
def test_whatever_operator_refuses_rows_its_refusals_are_there(stage: Stage, spec: str) -> None:
    """Spark counts what it drops; where each row is a group of its own, so do we."""
    a, b = kept(stage), kept(stage, "b")
    on = "ka = k and tb between ts - interval 1 second and ts + interval 1 second"
    frame = {
        "join": lambda: b.selectExpr("ts as tb", "k as ka").join(a, F.expr(on)),
        "duplicates, then windows": lambda: per_row(a.dropDuplicates(["k", "ts"]), (3, 3)),
        "session": lambda: a.groupBy(F.session_window("ts", "2 seconds"), "k").count(),
        "update": lambda: per_row(a, (4, 2)),
        "union": lambda: per_row(
            a.where("k < 9").selectExpr("k", "ts as at").selectExpr("at as ts", "k", "k v").union(b), (3, 3)
        ),
    }[spec]()
    stage.start(frame, mode="update" if spec == "update" else "append")
    stage.step(6)
    stage.step(9)
    for name in "ab":
        stage.put(
            name, [{"ts": ts, "k": k + (8 if name == "b" else 1)} for k, ts in enumerate([1, 3.5, 4.5, 6, 5.999, 7, 20])]
        )
    stage.step(12)
    dropped = sum(s["numRowsDroppedByWatermark"] for s in stage.query.lastProgress["stateOperators"])
    written = refused(stage)
    assert sum(r.missed for r in written) == dropped > 0
    assert {r.source for r in written} == ({"a", "b"} if spec in ("join", "union") else {"a"})
    assert {r.watermark.timestamp() for r in written} == {6}


@pytest.mark.spark
@pytest.mark.parametrize("spec", ["no state", "complete"])
def test_a_query_that_refuses_nothing_has_nothing_in_it(stage: Stage, spec: str) -> None:
    a = kept(stage)
    stage.start(a if spec == "no state" else per_row(a, (3, 3)), mode="append" if spec == "no state" else "complete")
    stage.step(6)
    stage.step(9)
    stage.put("a", [{"ts": 1, "k": 1}])
    stage.step(None)
    assert len(stage.out()) == 1
    assert files(stage) == []


@pytest.mark.spark
def test_generated_code_and_several_tasks_find_the_same_rows(spark: Any, tmp_path: Path) -> None:
    session = spark.newSession()
    settings = {"codegen.wholeStage": "true", "codegen.factoryMode": "CODEGEN_ONLY", "shuffle.partitions": "2"}
    for name, value in settings.items():
        session.conf.set(f"spark.sql.{name}", value)
    stage = Stage(session, tmp_path)
    stage.start(per_row(kept(stage), (4, 2)))
    stage.step(4)
    stage.step(6)
    for k in range(4):
        stage.put("a", [{"ts": k + 0.5, "k": k}, {"ts": 7, "k": k}])
    stage.step(None)
    stage.close()
    assert sorted((key(r), r.reason) for r in refused(stage)) == [(k, "late" if k < 2 else "partly late") for k in range(4)]


@pytest.mark.spark
def test_a_stock_policy_has_side_tables_too(spark: Any, tmp_path: Path) -> None:
    from headway.policy.order import Stock

    (tmp_path / "a").mkdir()
    with hw.Runtime(spark, Stock()) as rt:
        rows = spark.readStream.schema("ts timestamp, k int").json(str(tmp_path / "a"))
        marked = rt.watermark(rows, "ts", "1 second", name="a", late=str(tmp_path / "late"))
        query = rt.start(per_row(marked, (3, 3)).writeStream.format("noop"), name="stock", checkpoint=str(tmp_path / "cp"))
        for number, second in enumerate((9, 20, 1)):
            line = json.dumps({"ts": f"1970-01-01T00:00:{second:02}Z", "k": second})
            (tmp_path / "a" / f"{number}.json").write_text(line)
            query.processAllAvailable()
        assert [(key(r), r.query) for r in rt.late_rows(str(tmp_path / "late")).collect()] == [(1, "stock")]


def one_line(error: pytest.ExceptionInfo[hw.HeadwayError], *words: str) -> None:
    text = str(error.value)
    assert "\n" not in text
    for word in ("watermark.late", *words):
        assert word in text


@pytest.mark.spark
def test_a_folder_that_cannot_be_written_is_refused_before_anything_starts(stage: Stage) -> None:
    (stage.folder / "file").write_text("")
    with pytest.raises(hw.HeadwayError) as error:
        stage.rt.watermark(stage.raw("a"), "ts", "1 s", name="a", late=str(stage.folder / "file" / "below"))
    one_line(error, "file/below", "can be written")
    with pytest.raises(hw.HeadwayError) as error:
        stage.rt.watermark(stage.raw("a"), "ts", "1 s", name="a", late="")
    one_line(error, "a folder")
    stage.rt.watermark(stage.raw("a"), "ts", "1 s", name="a")  # the name is still free


@pytest.mark.spark
def test_without_the_jar_there_is_no_side_table(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jvm, "present", lambda spark: False)
    with pytest.raises(hw.HeadwayError) as error:
        kept(stage)
    one_line(error, "jar", "headway.session()")


def test_late_rows_are_counted_by_query_source_and_reason() -> None:
    inputs = (InputStatus("clicks", late=3, timeless=1), InputStatus("views"), InputStatus("ads", late=2, future=4))
    queries = [QueryStatus("q", "ended", WallMs(0), inputs=inputs), QueryStatus("calm", "at the gate", WallMs(0))]
    assert [(c.query, c.source, c.reason, c.rows) for c in late.counts(queries)] == [
        ("q", "clicks", "late", 3),
        ("q", "clicks", "timeless", 1),
        ("q", "ads", "late", 2),
        ("q", "ads", "future", 4),
    ]


@pytest.mark.spark
def test_a_runtime_tells_how_many_rows_of_which_input_were_late(stage: Stage) -> None:
    stage.start(per_row(kept(stage).union(stage.watermarked("b")), (3, 3)))
    stage.step(3)
    stage.step(6)
    stage.put("a", [{"ts": 1, "k": 1}, {"ts": 5, "k": 2}])
    stage.put("b", [{"ts": 1, "k": 3}, {"ts": 2, "k": 4}])
    stage.step(None)
    assert [(c.source, c.reason, c.rows) for c in stage.rt.late_counts()] == [("a", "late", 1), ("b", "late", 2)]
    assert [key(r) for r in refused(stage)] == [1]  # b has no side table


@pytest.mark.spark
def test_a_plan_with_a_side_table_can_be_looked_at(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    per_row(kept(stage), (3, 3)).explain()
    assert "late rows of a" in capsys.readouterr().out


def test_the_live_table_names_the_input_whose_rows_were_late() -> None:
    from headway.cli.watch import late as shown_late

    def shown(**inputs: tuple[int, int]) -> str:
        return shown_late(
            QueryStatus("q", "ended", WallMs(0), inputs=tuple(InputStatus(n, *of) for n, of in inputs.items()))
        )

    assert shown(clicks=(1200, 0)) == "1,200"
    assert shown(clicks=(2, 0), views=(0, 0), ads=(1, 4)) == "3 (clicks 2, ads 1), 4 unread"
    assert shown(clicks=(0, 0), views=(0, 0)) == "0"
