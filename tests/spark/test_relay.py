"""Stages of a pipeline with a topic between them, on a real broker: exact, whoever dies, and never by guessing."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

import headway as hw
from headway.errors import HeadwayError, SettingError
from headway.kafka import marks, topics
from headway.loop.punctuation_text import punctuation_in
from headway.model.punctuation import Punctuation
from headway.spark.plan import inspect
from headway.spark.relay.topic import rows_in
from headway_lab.workloads.feed import Feed
from headway_lab.workloads.replay import replay
from headway_lab.workloads.ysb import Ysb
from spark.relay_stages import WINDOW_MS, first, relay, second, stream
from spark.scripted import told_of, view_of, wait_until

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


def sent(one: Ysb, seconds: int) -> Iterator[Feed]:
    return (one.feed(one.epoch_ms + s * 1_000, one.epoch_ms + (s + 1) * 1_000) for s in range(seconds + 1))


def emitted(spark: Any, name: str) -> dict[tuple[int, int], int]:
    rows = spark.table(name).selectExpr("unix_millis(window.end) as e", "campaign_id as c", "count as n").collect()
    assert len({(r.e, r.c) for r in rows}) == len(rows), "nothing twice"
    return {(r.e, r.c): r.n for r in rows}


def last_end(spark: Any, name: str) -> int:
    return max((end for end, _ in emitted(spark, name)), default=0)


def soon() -> int:
    return time.time_ns() // 1_000_000 + 1_000


def punctuations(address: str, topic: str, enough: int) -> list[tuple[int, Punctuation]]:
    """All that are there, once there are enough."""
    found: list[tuple[int, Punctuation]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(marks, "LOOK_BACK", 1_000_000)  # from the topic's beginning
        follower = marks.MarkFollower(address, topic, b"#")
    for _ in range(600):
        more = follower.read(0.1)
        found += [(n, said) for n, value in more if (said := punctuation_in(value)) is not None]
        if len(found) >= enough and not more:
            break
    follower.close()
    return found


def late(rt: hw.Runtime) -> int:
    return sum(i.late for q in rt.status().queries for i in q.inputs)


def test_two_stages_give_what_one_would(spark: Any, kafka: str, tmp_path: Path) -> None:
    topics.create(kafka, "two-events", 2)
    topics.create(kafka, "two-seconds", 3)
    one = stream(1, soon())
    until = (one.epoch_ms + 9_000) // WINDOW_MS * WINDOW_MS
    with hw.Runtime(spark, journal=tmp_path / "j.db") as rt:
        first(rt, spark, kafka, "two-events", "two-seconds", tmp_path)
        query = second(rt, one, kafka, "two-seconds", tmp_path)
        replay(sent(one, 10), kafka, "two-events")
        wait_until(lambda: last_end(spark, "second") >= until, "three windows", query)
        assert one.wrong(emitted(spark, "second")) == {}
        assert late(rt) == 0
        upstream = view_of(rt, "second").inputs[0].upstream
        assert upstream is not None and upstream.waits_for == "first" and upstream.passes == 0
        assert view_of(rt, "first").writes == f"{kafka}/two-seconds"
        lag = view_of(rt, "second").inputs[0].delay
        assert lag is not None and lag.mean_ms > 0
    found = punctuations(kafka, "two-seconds", 9)
    for n in range(3):  # in each partition, in order, and never less than before
        mine = [said for part, said in found if part == n]
        complete = [said.complete for said in mine if said.complete is not None]
        assert [said.batch for said in mine] == sorted({said.batch for said in mine})
        assert complete == sorted(complete) and complete[-1] >= until
        assert {said.stage for said in mine} == {"first"} and sum(said.late for said in mine) == 0


def child(kafka: str, source: str, topic: str, folder: Path, where: str, number: int) -> "subprocess.Popen[bytes]":
    script = Path(__file__).with_name("relay_child.py")
    command = [sys.executable, str(script), kafka, source, topic, str(folder), where, str(number)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "HEADWAY_STATE": str(folder)})


class Endless(threading.Thread):
    """Sends a stream as it happens, until it is told when to end."""

    def __init__(self, one: Ysb, address: str, topic: str) -> None:
        super().__init__(daemon=True)
        self._one, self._address, self._topic = one, address, topic
        self.until: int | None = None

    def run(self) -> None:
        replay(self._feeds(), self._address, self._topic)

    def _feeds(self) -> Iterator[Feed]:
        for s in count():
            since = self._one.epoch_ms + s * 1_000
            if self.until is not None and since > self.until:
                return
            yield self._one.feed(since, since + 1_000)


@pytest.mark.slow
@pytest.mark.timeout(480)  # four JVMs are started in it
def test_a_stage_that_is_killed_in_the_middle_of_a_batch_loses_nothing_and_says_nothing_twice(
    spark: Any, kafka: str, tmp_path: Path
) -> None:
    """Killed in the middle of a transaction, after one that Spark does not know of, and before one."""
    topics.create(kafka, "killed-events", 1)
    topics.create(kafka, "killed-seconds", 2)
    one = stream(2, soon())
    sender = Endless(one, kafka, "killed-events")
    sender.start()
    with hw.Runtime(spark, journal=tmp_path / "second.db") as rt:
        query = second(rt, one, kafka, "killed-seconds", tmp_path)
        for where in ("middle", "after", "before"):
            process = child(kafka, "killed-events", "killed-seconds", tmp_path, where, 2)
            assert process.wait(150) == -signal.SIGKILL
        process = child(kafka, "killed-events", "killed-seconds", tmp_path, "never", 0)
        try:
            before = last_end(spark, "second")
            wait_until(lambda: last_end(spark, "second") > before, "a window after all deaths", query)
            until = (soon() + 3_000) // WINDOW_MS * WINDOW_MS
            sender.until = until + 3_000
            wait_until(lambda: last_end(spark, "second") >= until, "all windows", query)
        finally:
            sender.until = 0
            process.kill()
            process.wait()
        assert one.wrong(emitted(spark, "second")) == {}
        assert late(rt) == 0
    found = [said for part, said in punctuations(kafka, "killed-seconds", 20) if part == 0]
    assert [said.batch for said in found] == list(range(len(found)))
    assert sorted({said.incarnation for said in found}) == [1, 2, 3, 4]
    assert len({said.lineage for said in found}) == 1


def test_a_dead_stage_holds_the_windows_behind_it_and_is_named_with_its_age(spark: Any, kafka: str, tmp_path: Path) -> None:
    topics.create(kafka, "dead-events", 1)
    topics.create(kafka, "dead-seconds", 1)
    one = stream(3, soon())
    with hw.Runtime(spark, journal=tmp_path / "j.db") as rt:
        upstream = first(rt, spark, kafka, "dead-events", "dead-seconds", tmp_path)
        query = second(rt, one, kafka, "dead-seconds", tmp_path)
        replay(sent(one, 5), kafka, "dead-events")
        wait_until(lambda: last_end(spark, "second") > 0, "a window", query)
        upstream.stop()
        told = "which has said nothing for"
        wait_until(lambda: any(told in text for text in noted(tmp_path / "j.db")), "a word about the stage", query)
        end, rows = last_end(spark, "second"), view_of(rt, "second").inputs[0]
        assert rows.upstream is not None and rows.upstream.waits_for == "first" and rows.upstream.passed is None
        assert rows.upstream.complete is not None and end <= rows.upstream.complete < end + WINDOW_MS
        assert told_of(rt, "second").swept == end
        first(rt, spark, kafka, "dead-events", "dead-seconds", tmp_path)
        wait_until(lambda: last_end(spark, "second") > end or not one.truth(end + 1), "what was held", query)
        assert late(rt) == 0


def noted(journal: Path) -> list[str]:
    import sqlite3

    with sqlite3.connect(journal) as db:
        return [text for (text,) in db.execute("select text from notes")]


def test_a_checkpoint_that_is_older_than_the_topic_is_refused(spark: Any, kafka: str, tmp_path: Path) -> None:
    """Its batches would be other ones under the numbers of those that are there."""
    import shutil

    topics.create(kafka, "older-events", 1)
    topics.create(kafka, "older-seconds", 1)
    sender = Endless(stream(4, soon()), kafka, "older-events")  # however late this machine is, there are rows left
    sender.start()
    try:
        with hw.Runtime(spark, journal=tmp_path / "a.db") as rt:
            query = first(rt, spark, kafka, "older-events", "older-seconds", tmp_path)
            wait_until(lambda: len(punctuations(kafka, "older-seconds", 2)) >= 2, "two batches", query)
            rt.drain("first")
            kept = tmp_path / "kept"
            shutil.copytree(tmp_path / "first", kept)
            before = len(punctuations(kafka, "older-seconds", 2))
            query = first(rt, spark, kafka, "older-events", "older-seconds", tmp_path)
            wait_until(lambda: len(punctuations(kafka, "older-seconds", before + 2)) >= before + 2, "two more", query)
            rt.drain("first")
            shutil.rmtree(tmp_path / "first")
            shutil.move(kept, tmp_path / "first")
            query = first(rt, spark, kafka, "older-events", "older-seconds", tmp_path)
            wait_until(lambda: query.exception() is not None, "the refusal")
            assert "expected the newest checkpoint" in str(query.exception())
    finally:
        sender.until = 0


def test_rows_that_break_the_promise_of_their_stage_are_refused_at_once(spark: Any, kafka: str, tmp_path: Path) -> None:
    """Windows that overlap, stamped with their start: half of each lies before what the stage has promised."""
    topics.create(kafka, "starts-events", 1)
    topics.create(kafka, "starts-seconds", 1)
    one = stream(5, soon())
    with hw.Runtime(spark, journal=tmp_path / "j.db") as rt:
        wanted = {"kafka.bootstrap.servers": kafka, "subscribe": "starts-events", "startingOffsets": "earliest"}
        records = spark.readStream.format("kafka").options(**wanted).load().select("value", "timestamp")
        events = rt.watermark(Ysb.parsed(records), "event_time", "500 ms", idle_after="2 seconds")
        counts = events.groupBy(F.window("event_time", "2 seconds", "1 second"), F.expr("int(ad_id) as ad_id")).count()
        rows = counts.select("ad_id", F.col("window.start").alias("at"), F.col("count").alias("views"))
        writer = rows.writeStream.foreachBatch(relay(kafka, "starts-seconds").writer(rt))
        query = rt.start(writer, name="starts", checkpoint=str(tmp_path / "starts"))
        replay(sent(one, 5), kafka, "starts-events")
        wait_until(lambda: query.exception() is not None, "the refusal")
        assert "older by their 'at' than its watermark, by up to" in str(query.exception())


def test_what_cannot_work_is_refused_in_one_line(spark: Any, kafka: str, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"relay\.time"):
        hw.Relay(kafka, "x", "a int", time="at")
    with pytest.raises(SettingError, match=r"relay\.time"):
        hw.Relay(kafka, "x", "at long", time="at")
    with pytest.raises(SettingError, match=r"relay\.key"):
        hw.Relay(kafka, "x", "at timestamp", time="at", key="k")
    with pytest.raises(SettingError, match=r"relay\.schema"):
        hw.Relay(kafka, "x", "at timestamp, of nothing known", time="at")
    with pytest.raises(SettingError, match=r"relay\.stages"):
        hw.Relay(kafka, "x", "at timestamp", time="at", stages="one")
    with hw.Runtime(spark, journal=tmp_path / "j.db") as rt, pytest.raises(SettingError, match="topic = 'not-there'"):
        relay(kafka, "not-there").rows(rt)
    with hw.Runtime(spark, hw.order.Stock()) as rt, pytest.raises(HeadwayError, match="needs a gated order"):
        relay(kafka, "not-there").writer(rt)


def test_rows_come_through_as_they_went_in(spark: Any, kafka: str, tmp_path: Path) -> None:
    """Microseconds, nulls, numbers with fractions, and texts that look like a punctuation."""
    topics.create(kafka, "values", 2)
    schema = "text string, at timestamp, number double, exact decimal(20,4), list array<int>, many map<string,long>"
    values = hw.Relay(kafka, "values", schema, time="at")
    made = [
        r"""concat('#{} \\ " ', value) as text""",
        "timestamp_micros(1700000000123456 + value) as at",
        "case when value % 3 = 0 then null else value / 7 end as number",
        "cast(cast(value as decimal(16,0)) / 8 as decimal(20,4)) as exact",
        "array(int(value), null) as list",
        "map('k', value) as many",
    ]
    with hw.Runtime(spark, journal=tmp_path / "j.db") as rt:
        source = spark.readStream.format("rate").option("rowsPerSecond", 20).load()
        rows = rt.watermark(source, "timestamp", "1 second").selectExpr(*made)
        query = rt.start(rows.writeStream.foreachBatch(values.writer(rt)), name="values", checkpoint=str(tmp_path / "v"))
        wait_until(lambda: len(read_back(spark, values)) >= 20, "twenty rows", query)
        back = read_back(spark, values)
    wanted = spark.range(len(back)).selectExpr("id as value").selectExpr(*made).collect()
    assert sorted(map(str, back)) == sorted(map(str, wanted))


def read_back(spark: Any, values: Any) -> list[Any]:
    wanted = {
        "kafka.bootstrap.servers": values.servers,
        "subscribe": values.topic,
        "kafka.isolation.level": "read_committed",
    }
    return list(rows_in(spark.read.format("kafka").options(**wanted).load(), values.columns).collect())


def test_a_query_of_windows_alone_goes_by_the_watermark_itself_and_others_by_less(spark: Any, tmp_path: Path) -> None:
    """Spark refuses a row whose time is the watermark where anything goes by the time itself."""
    with hw.Runtime(spark, journal=tmp_path / "j.db") as rt:
        rows = rt.watermark(spark.readStream.format("rate").load(), "timestamp", "1 second")
        other = rt.watermark(spark.readStream.format("rate").load(), "timestamp", "1 second")
        counts = rows.groupBy(F.window("timestamp", "1 second")).count()
        strict = {
            "windows": counts,
            "rows": rows,
            "moments": rows.groupBy("timestamp").count(),
            "once each": rows.dropDuplicates(["value", "timestamp"]).groupBy(F.window("timestamp", "1 second")).count(),
            "joined": rows.alias("a").join(other.alias("b"), F.expr("a.value = b.value and a.timestamp = b.timestamp")),
        }
        assert {name: inspect(frame).strict for name, frame in strict.items()} == {
            name: name != "windows" for name in strict
        }
