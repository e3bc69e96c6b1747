"""Queries that die, hang or wait, and controllers that fail, on real Spark."""

import contextlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import headway as hw
from headway.errors import SettingError
from headway.model.decision import Decision
from headway.model.status import QueryStatus
from headway.model.view import Snapshot
from headway.spark import supervisor
from headway_lab.workloads.events import events
from spark.scripted import Stage, counts, plane_of, wait_until
from spark.test_live import per_window, stream, views

pytestmark = pytest.mark.spark


@pytest.fixture
def stage(spark: Any, tmp_path: Path) -> Iterator[Stage]:
    made = Stage(spark, tmp_path)
    yield made
    made.close()


def rate(rt: hw.Runtime) -> Any:
    rows = rt.spark.readStream.format("rate").option("rowsPerSecond", 20).load()
    return rt.watermark(rows, "timestamp", "1 second")


def begin(rt: hw.Runtime, name: str, folder: Path, each: Callable[[Any, int], None] | None = None, **more: Any) -> Any:
    """A query over a stream of rows; `each` is the user's own function, called with every batch."""
    writer = rate(rt).writeStream
    writer = writer.format("noop") if each is None else writer.foreachBatch(each)
    return rt.start(writer, name=name, checkpoint=str(folder / name), **more)


def of(rt: hw.Runtime, name: str) -> QueryStatus:
    found = rt.status().query(name)
    assert found is not None
    return found


def batches(rt: hw.Runtime, name: str) -> int:
    last = of(rt, name).last
    return 0 if last is None else last.number + 1


def broken(frame: Any, number: int) -> None:
    raise ValueError("not today")


# ---- the controller


class Unsteady(hw.order.Klink):
    """Klink, which raises whenever the test says so."""

    wrong = threading.Event()

    def decide(self, snap: Snapshot) -> Decision:
        if self.wrong.is_set() and snap.waiting:
            self.wrong.clear()
            raise ZeroDivisionError("nobody is perfect")
        return super().decide(snap)


def test_a_policy_that_raises_now_and_then_costs_no_row_and_gates_on(spark: Any, tmp_path: Path) -> None:
    with hw.Runtime(spark, Unsteady(), journal=tmp_path / "j.db") as rt:
        one = stream(5)
        frame = rt.watermark(events(spark, one), "event_time", "300 ms", arrival="arrival")
        query = rt.start(views(frame).writeStream.format("memory"), name="unsteady", checkpoint=str(tmp_path / "cp"))
        for n in range(1, 3):
            wait_until(lambda n=n: spark.table("unsteady").count() >= 2 * n, "windows", query)
            Unsteady.wrong.set()
            wait_until(lambda n=n: rt.status().controller_restarts == n, "a failure", query)
        wait_until(lambda: spark.table("unsteady").count() >= 7, "windows after that", query)
        status, late = rt.status(), rt.late_counts()
    assert status.policy == "Unsteady" and status.queries[0].state in ("at the gate", "in a batch")
    got = {r.e: r.n for r in spark.table("unsteady").collect()}
    assert got == {end: n for end, n in per_window([one], max(got)).items() if end <= max(got)} and not late


def test_a_query_that_failed_and_is_started_again_by_hand_at_once_is_let_through(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old run's death may be noticed while the new one starts, and must not be taken for the new one's."""
    monkeypatch.setattr(supervisor, "EVERY_S", 3_600)
    with hw.Runtime(spark, journal=tmp_path / "j.db") as rt:
        first = begin(rt, "again", tmp_path, broken)
        with contextlib.suppress(Exception):
            first.awaitTermination(60)
        starting = plane_of(rt).starting
        starts = starting.start

        def noticed(*args: Any) -> Any:
            query = starts(*args)
            rt._queries.supervisor.look()
            return query

        monkeypatch.setattr(starting, "start", noticed)
        second = begin(rt, "again", tmp_path)
        wait_until(lambda: batches(rt, "again") >= 3, "batches of the new run", second)


def test_a_query_that_is_put_aside_goes_on_and_the_other_stays_gated(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from headway.spark.listening.reports import BatchReports

    read = BatchReports.read

    def unreadable(self: BatchReports, name: str, query: Any) -> None:
        if name == "odd":
            raise KeyError("numInputRows")
        read(self, name, query)

    monkeypatch.setattr(BatchReports, "read", unreadable)
    with hw.Runtime(spark, journal=tmp_path / "j.db") as rt:
        seen: list[int] = []
        odd = begin(rt, "odd", tmp_path, lambda frame, number: seen.append(frame.count()))
        begin(rt, "even", tmp_path)
        wait_until(lambda: of(rt, "odd").state == "put aside", "being put aside", odd)
        so_far = len(seen)
        wait_until(lambda: len(seen) >= so_far + 2, "batches without a gate", odd)
        before = batches(rt, "even")
        wait_until(lambda: batches(rt, "even") > before, "batches at the gate", odd)
        assert of(rt, "even").reason and "numInputRows" in (of(rt, "odd").error or "")
        assert rt.status().controller_restarts == 0
    assert "query 'odd' is put aside" in capsys.readouterr().err


# ---- queries that die


@pytest.mark.core("a query that fails is told of, and started again on request")
def test_a_query_that_dies_is_told_of_and_the_others_go_on(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    rt = stage.rt
    rt.use(hw.order.Klink())
    begin(rt, "healthy", stage.folder)
    begin(rt, "dying", stage.folder, broken)
    wait_until(lambda: of(rt, "dying").state == "failed", "the failure")
    assert "not today" in (of(rt, "dying").error or "") and not of(rt, "healthy").over
    assert "query 'dying' has failed" in capsys.readouterr().err
    stage.query = rt._queries.handles["dying"]
    wait_until(lambda: any("failed: " in note for note in stage.notes()), "a note in the journal")
    with pytest.raises(Exception, match="not today"):
        rt.await_termination(60)
    rt._queries.handles["healthy"].stop()
    with pytest.raises(Exception, match="not today"):  # also when nobody runs any more
        rt.await_termination(60)


def test_waiting_ends_well_when_all_queries_have_and_says_so_when_it_took_too_long(spark: Any, tmp_path: Path) -> None:
    with hw.Runtime(spark, journal=tmp_path / "j.db") as rt:
        queries = [begin(rt, name, tmp_path) for name in ("a", "b")]
        assert rt.await_termination(0.3) is False
        for query in queries:
            query.stop()
        assert rt.await_termination(60) is True
        assert [q.state for q in rt.status().queries] == ["ended", "ended"]


@pytest.mark.core("a query that fails is told of, and started again on request")
@pytest.mark.parametrize("order", [hw.order.Klink(), hw.order.Stock()], ids=["gated", "stock"])
def test_a_query_that_fails_is_started_again_as_often_as_wished(spark: Any, tmp_path: Path, order: Any) -> None:
    seen: list[int] = []

    def third_time_lucky(frame: Any, number: int) -> None:
        seen.append(number)
        if len(seen) < 3:
            raise ValueError("not yet")

    with hw.Runtime(spark, order, journal=tmp_path / "j.db") as rt:
        first = begin(rt, "again", tmp_path, third_time_lucky, restart=2)
        wait_until(lambda: of(rt, "again").state == "restarting" or len(seen) > 1, "a failure")
        assert rt.await_termination(0.1) is False  # it is not the end
        wait_until(lambda: len(seen) >= 5, "a run that lasts")
        status = of(rt, "again")
        assert status.restarts == 2 and not status.over and status.run != str(first.runId) and status.id == str(first.id)
    assert seen[:3] == [0, 0, 0] and seen[3:5] == [1, 2]


def test_a_query_that_fails_once_more_than_wished_has_failed(spark: Any, tmp_path: Path) -> None:
    with hw.Runtime(spark, journal=tmp_path / "j.db") as rt:
        begin(rt, "hopeless", tmp_path, broken, restart=1)
        with pytest.raises(Exception, match="not today"):
            rt.await_termination(100)
        assert of(rt, "hopeless").restarts == 1


def test_without_a_checkpoint_nothing_is_started_again(stage: Stage) -> None:
    writer = counts(stage.watermarked("a")).writeStream.format("memory")
    with pytest.raises(SettingError, match="restart = 3: expected 0 for a query without a checkpoint"):
        stage.rt.start(writer, name="x", restart=3)
    with pytest.raises(SettingError, match="restart = -1"):
        stage.rt.start(writer, name="x", restart=-1, checkpoint=str(stage.folder / "cp"))


def test_late_rows_are_still_counted_when_their_query_has_ended(stage: Stage) -> None:
    stage.put("a", [{"ts": 1, "k": 1}])
    stage.start(counts(stage.watermarked("a")))
    stage.step(6)
    stage.step(9)
    stage.put("a", [{"ts": 1, "k": 1}])
    stage.step(None)
    stage.query.stop()
    wait_until(lambda: of(stage.rt, "staged").state == "ended", "the end")
    assert [(c.source, c.reason, c.rows) for c in stage.rt.late_counts()] == [("a", "late", 1)]
    stage.rt.stop()
    assert [(c.source, c.reason, c.rows) for c in stage.rt.late_counts()] == [("a", "late", 1)]


# ---- batches that wait or hang


@pytest.mark.core("a batch that hangs is told of, and keeps nobody waiting")
def test_a_batch_that_waits_for_something_else_than_a_core_keeps_nobody_waiting_and_is_told_of(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    go_on, inside = threading.Event(), threading.Event()

    def sleepy(frame: Any, number: int) -> None:
        inside.set()
        go_on.wait(200)

    with hw.Runtime(spark, slots=1, journal=tmp_path / "j.db", hang_after="4 seconds") as rt:
        try:
            begin(rt, "sleepy", tmp_path, sleepy)
            query = begin(rt, "lively", tmp_path)
            assert inside.wait(100)
            before = batches(rt, "lively")
            wait_until(lambda: of(rt, "sleepy").stalled, "the slot to be lent", query)
            wait_until(lambda: batches(rt, "lively") >= before + 3, "batches of the other", query)
            wait_until(lambda: of(rt, "sleepy").hangs, "its stack", query)
            told = of(rt, "sleepy").hangs or ""
            assert "go_on.wait(200)" in told and "ForeachBatchSink" in told
        finally:
            go_on.set()
        wait_until(lambda: batches(rt, "sleepy") >= 3, "it to go on", query)
        assert of(rt, "sleepy").hangs is None
    said = capsys.readouterr().err
    assert said.count("query 'sleepy': its batch has run for") == 1 and "go_on.wait(200)" in said


# ---- stopping


@pytest.mark.core("stopping lets a batch finish")
def test_stopping_lets_a_running_batch_finish(spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inside, done = threading.Event(), threading.Event()

    def slow(frame: Any, number: int) -> None:
        inside.set()
        time.sleep(3)
        frame.count()  # Spark would refuse a job of a query that is being stopped
        done.set()

    rt = hw.Runtime(spark, journal=tmp_path / "j.db")
    begin(rt, "slow", tmp_path, slow)
    assert inside.wait(100)
    rt.stop()
    rt.stop()  # twice is fine
    assert done.is_set() and [q.state for q in rt.status().queries] == ["ended"]
    assert "is stopped though" not in capsys.readouterr().err


def test_stopping_says_which_batch_it_had_to_break_off(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def slow(frame: Any, number: int) -> None:
        inside.set()
        go_on.wait(5)

    rt = hw.Runtime(spark, journal=tmp_path / "j.db")
    begin(rt, "endless", tmp_path, slow)
    assert inside.wait(100)
    rt.stop(timeout="100 ms")
    go_on.set()
    assert "query 'endless' is stopped though its batch has not ended within 0.1 s" in capsys.readouterr().err


def test_one_query_that_cannot_be_stopped_leaves_no_other_running(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rt = hw.Runtime(spark, journal=tmp_path / "j.db")
    stubborn, meek = begin(rt, "stubborn", tmp_path), begin(rt, "meek", tmp_path)
    stop = stubborn.stop
    monkeypatch.setattr(stubborn, "stop", broken_stop)
    with pytest.raises(TimeoutError, match="I stay"):
        rt.stop()
    assert not meek.isActive and not plane_of(rt).supervision.thread.is_alive()
    rt.stop()
    stop()


def broken_stop() -> None:
    raise TimeoutError("I stay")


@pytest.mark.core("stopping lets a batch finish")
def test_a_query_is_drained_alone_and_its_checkpoint_is_free_at_once(spark: Any, tmp_path: Path) -> None:
    with hw.Runtime(spark, journal=tmp_path / "j.db") as rt:
        query = begin(rt, "leaves", tmp_path)
        begin(rt, "stays", tmp_path)
        wait_until(lambda: batches(rt, "leaves") >= 2, "two batches", query)
        assert rt.drain("leaves") is True
        assert not query.isActive and of(rt, "leaves").state == "ended"
        with hw.Runtime(spark, journal=tmp_path / "other.db") as other:
            begin(other, "leaves", tmp_path)
        before = batches(rt, "stays")
        wait_until(lambda: batches(rt, "stays") > before, "the other to go on")
        with pytest.raises(SettingError, match="name = 'nobody': expected a query of this runtime"):
            rt.drain("nobody")


@pytest.mark.core("stopping lets a batch finish")
def test_ctrl_c_lets_a_running_batch_finish(tmp_path: Path) -> None:
    words = [sys.executable, str(Path(__file__).with_name("stopping_child.py")), str(tmp_path)]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: (tmp_path / "began").exists() or child.poll() is not None, "a batch")
        child.send_signal(signal.SIGINT)
        out, said = child.communicate(timeout=150)
    finally:
        child.kill()
    assert child.returncode == 0, said
    assert "ended True ['ended']" in out and (tmp_path / "ended").exists()
    assert "has failed" not in said and "is stopped though" not in said
