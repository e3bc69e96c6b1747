"""Lines on real Spark: each query has its own, gets it back when it is cut, and leaves nothing behind."""

import gc
import json
import os
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pyspark.sql import functions as F

import headway as hw
from headway.model.decision import Decision, Grant, Hold
from headway.model.line import Incarnation
from headway.model.message import Use
from headway.model.time import WallMs
from headway.model.view import Snapshot
from spark.scripted import Stage, counts, plane_of, wait_until

pytestmark = pytest.mark.spark


class Doorman:
    """Lets through whom it is told to."""

    gated: ClassVar[bool] = True

    def __init__(self) -> None:
        self.names: deque[str] = deque()

    def decide(self, snap: Snapshot) -> Decision:
        if self.names and any(q.name == self.names[0] for q in snap.waiting):
            return Grant(self.names.popleft(), None, because="the test says so")
        return Hold(WallMs(snap.now + 1000), because="the test says nothing")


def folder(tmp_path: Path, name: str) -> str:
    (tmp_path / name).mkdir()
    (tmp_path / name / "rows.json").write_text(json.dumps({"ts": "1970-01-01T00:00:01Z", "k": 1}) + "\n")
    return str(tmp_path / name)


def test_eight_queries_that_start_at_once_with_plain_ones_among_them_each_get_their_own_line(
    spark: Any, tmp_path: Path
) -> None:
    door = Doorman()
    names, plain = [f"at_once_{n}" for n in range(8)], [f"plain_{n}" for n in range(4)]
    with hw.Runtime(spark, door, journal=tmp_path / "j.db") as rt:
        plane_of(rt).post(Use(guards=()))
        together = threading.Barrier(12)

        def writer(name: str) -> Any:
            rows = spark.readStream.schema("ts timestamp, k int").json(folder(tmp_path, name))
            frame = rt.watermark(rows, "ts", "1 second").groupBy(F.window("ts", "3 seconds")).count()
            return frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path / f"cp-{name}"))

        def start(name: str, made: Any) -> Any:
            together.wait()
            return made.queryName(name).start() if name in plain else rt.start(made, name=name)

        with ThreadPoolExecutor(12) as pool:
            started = [pool.submit(start, name, writer(name)) for name in [*plain, *names]]
        queries = [each.result() for each in started]
        others, queries = queries[:4], queries[4:]
        for query in others:
            wait_until(lambda q=query: q.lastProgress is not None, "a batch of a plain one", query)
        assert [q.name for q in queries] == names
        for at, query in enumerate(queries):
            assert not any(q.lastProgress for q in queries[at:])
            door.names.append(query.name)
            rt.use(door)  # wake up
            wait_until(lambda q=query: q.lastProgress is not None, f"the batch of {query.name}", query)
        for query in others:
            query.stop()


def test_a_line_that_was_cut_is_laid_anew_and_no_batch_runs_meanwhile(stage: Stage) -> None:
    stage.put("a", [{"ts": 1, "k": 1}])
    stage.start(counts(stage.watermarked("a")))
    stage.step(3)
    for batch in (1, 2):
        before = stage.told.since
        line = stage.plane.gate._lines.of("staged")
        assert line is not None and line.connection is not None
        line.connection.cut()
        wait_until(lambda was=before: stage.at_gate and stage.told.since > was, "the question", stage.query)
        assert stage.query.lastProgress["batchId"] == batch - 1
        stage.put("a", [{"ts": 3 * batch + 1, "k": batch}])
        stage.step(3 * batch + 3)
        assert stage.query.lastProgress["batchId"] == batch
    assert stage.out() == ["Row(e=3000, k=1, n=1)", "Row(e=6000, k=1, n=1)"]


def test_a_line_is_whose_spark_says_it_is_and_another_life_of_the_query_is_another_incarnation(stage: Stage) -> None:
    lives, frame = [], counts(stage.watermarked("a"))
    for _ in range(2):
        writer = frame.writeStream.format("noop")
        stage.query = stage.rt.start(writer, name="lives", checkpoint=str(stage.folder / "checkpoint"))
        wait_until(lambda: stage.at_gate, "the question", stage.query)
        life = stage.plane.gate.id_of("lives")
        assert life is not None and life.checkpoint is not None
        assert (life.query, life.incarnation) == (stage.query.id, Incarnation(stage.query.runId))
        assert life.checkpoint.endswith(str(stage.folder / "checkpoint"))  # the query's, not a folder of the source's in it
        line = stage.plane.gate._lines.of("lives")
        assert line is not None and line.connection is not None
        old = line.connection
        old.cut()
        wait_until(lambda line=line, old=old: line.connection not in (None, old), "the line", stage.query)
        assert stage.plane.gate.id_of("lives") == life  # it has come back as the same
        stage.query.stop()
        lives.append(life)
    assert lives[0].query == lives[1].query and lives[0].incarnation != lives[1].incarnation


def test_a_query_that_has_lost_the_gate_comes_back_when_the_gate_does(stage: Stage) -> None:
    stage.put("a", [{"ts": 1, "k": 1}])
    stage.start(counts(stage.watermarked("a")), mode="update")
    stage.step(None)
    stage.plane.gate.close()
    stage.put("a", [{"ts": 2, "k": 1}])
    wait_until(lambda: "Row(e=3000, k=1, n=2)" in stage.out(), "a batch without a gate", stage.query)
    stage.plane.gate.open()
    wait_until(lambda: stage.at_gate, "the question", stage.query)
    stage.put("a", [{"ts": 2, "k": 1}])
    batch = stage.query.lastProgress["batchId"]
    stage.step(None)
    assert "Row(e=3000, k=1, n=3)" in stage.out()
    assert stage.query.lastProgress["batchId"] == batch + 1


def test_a_checkpoint_is_free_as_soon_as_its_query_has_stopped(spark: Any, tmp_path: Path) -> None:
    """The next one takes it at once, and is the same query by its id, which is in the checkpoint."""
    ids = []
    with hw.Runtime(spark, journal=tmp_path / "j.db") as rt:
        for n in range(10):
            rows = rt.watermark(spark.readStream.format("rate").load(), "timestamp", "1 s")
            query = rt.start(rows.writeStream.format("noop"), name=f"lease_{n}", checkpoint=str(tmp_path / "cp"))
            ids.append(query.id)
            query.stop()
    assert len(ids) == 10 and len(set(ids)) == 1


def test_queries_that_come_and_go_leave_neither_threads_nor_sockets(spark: Any, tmp_path: Path) -> None:
    driver = spark._jvm.java.lang.ProcessHandle.current().pid()

    def held() -> tuple[int, int, int]:
        gc.collect()  # a thread's connection to the JVM goes with it
        return len(threading.enumerate()), sockets(os.getpid()), sockets(driver)

    with hw.Runtime(spark, journal=tmp_path / "j.db") as rt:
        frame = rt.watermark(spark.readStream.format("rate").load(), "timestamp", "1 s")

        def come_and_go(n: int) -> None:
            rt.start(frame.writeStream.format("noop"), name=f"gone_{n}", checkpoint=str(tmp_path / f"cp-{n}")).stop()

        for n in range(3):
            come_and_go(n)
        wait_until(lambda: not plane_of(rt).gate._lines, "the last to be gone")
        before = held()
        for n in range(3, 33):
            come_and_go(n)
        wait_until(lambda: all(now <= was + 2 for now, was in zip(held(), before, strict=True)), f"{before} again")
        wait_until(lambda: not plane_of(rt).gate._lines and all(q.over for q in rt.status().queries), "the last to be gone")


def sockets(pid: int) -> int:
    links = (Path("/proc") / str(pid) / "fd").iterdir()
    return sum(1 for link in links if _target(link).startswith("socket:"))


def _target(link: Path) -> str:
    try:
        return os.readlink(link)
    except OSError:  # closed since it was listed
        return ""
