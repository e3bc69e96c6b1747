"""Kafka under Headway, on a real broker: every row counted once, whatever partitions, topics and brokers do meanwhile."""

import json
import threading
import time
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

import headway as hw
from headway.errors import SettingError
from headway.kafka import broker, topics
from headway.sim.delays import Uniform
from headway.spark.kafka import subscription
from headway_lab.experiments.silence.run import every_second_event, held_back, send
from headway_lab.workloads.feed import Feed
from headway_lab.workloads.replay import replay
from headway_lab.workloads.ysb import Ysb
from spark.scripted import told_of, view_of, wait_until

pytestmark = [pytest.mark.spark, pytest.mark.kafka]
# Rows are sent by threads of this process, which are held up now and then: patience is much longer than their delay, 200 ms.
WINDOW_MS, PATIENCE = 1_000, "800 ms"


def stream(seed: int = 1, rate: int = 200, lead_ms: int = 1_000) -> Ysb:
    return Ysb(seed, rate, time.time_ns() // 1_000_000 + lead_ms, Uniform(0, 200), WINDOW_MS)


def sent(one: Ysb, seconds: int) -> Iterator[Feed]:
    """As if it happened now: each second's events when they arrive."""
    return (one.feed(one.epoch_ms + s * 1_000, one.epoch_ms + (s + 1) * 1_000) for s in range(seconds + 1))


def records(spark: Any, address: str, topic: str, **options: str) -> Any:
    wanted = {"kafka.bootstrap.servers": address, "subscribe": topic, "startingOffsets": "earliest"} | options
    return spark.readStream.format("kafka").options(**wanted).load().select("value", "timestamp", "partition")


def counting(
    rt: hw.Runtime, one: Ysb, rows: Any, name: str, folder: Path, idle_after: str = "2 seconds", unread: str | None = None,
    patience: str = PATIENCE, **more: Any,
) -> Any:  # fmt: skip
    events = rt.watermark(
        Ysb.parsed(rows), "event_time", patience, arrival="timestamp", partition="partition", idle_after=idle_after,
        unread=unread,
    )  # fmt: skip
    return rt.start(one.counts(events).writeStream.format("memory"), name=name, checkpoint=str(folder / name), **more)


def emitted(spark: Any, name: str) -> dict[tuple[int, int], int]:
    rows = spark.table(name).selectExpr("unix_millis(window.end) as e", "campaign_id as c", "count as n").collect()
    assert len({(r.e, r.c) for r in rows}) == len(rows), "nothing twice"
    return {(r.e, r.c): r.n for r in rows}


def last_end(spark: Any, name: str) -> int:
    return max((end for end, _ in emitted(spark, name)), default=0)


def wrong(one: Ysb, got: dict[tuple[int, int], int], until_ms: int) -> dict[Any, Any]:
    """Panes that end by then and were emitted wrongly or not at all."""
    return {p: n for p, n in one.wrong(got | {(until_ms, -1): 0}).items() if p[0] <= until_ms and p[1] >= 0}


def late(rt: hw.Runtime) -> int:
    return sum(i.late for q in rt.status().queries for i in q.inputs)


def test_rows_of_several_partitions_are_counted_once_and_the_group_hears_of_it(
    spark: Any, kafka: str, tmp_path: Path
) -> None:
    topics.create(kafka, "counted", 3)
    with hw.Runtime(spark, journal=tmp_path / "j.db") as rt:
        one = stream()
        query = counting(rt, one, records(spark, kafka, "counted"), "counted", tmp_path, group="counted-lag")
        replay(sent(one, 6), kafka, "counted")
        until = one.epoch_ms + 5_000
        wait_until(lambda: last_end(spark, "counted") >= until, "five windows", query)
        assert wrong(one, emitted(spark, "counted"), until // WINDOW_MS * WINDOW_MS) == {}
        assert late(rt) == 0
        reader = topics.client("consumer", kafka, **{"group.id": "counted-lag"})
        ends = topics.ends(kafka, "counted")
        wait_until(lambda: _committed(reader, "counted", 3) == ends, "the group to hear how far the query has read", query)
        reader.close()


def _committed(reader: Any, topic: str, parts: int) -> dict[int, int]:
    from confluent_kafka import TopicPartition

    found = reader.committed([TopicPartition(topic, p) for p in range(parts)], timeout=10)
    return {p.partition: p.offset for p in found}


def test_partitions_that_are_added_while_it_runs_are_read_too(spark: Any, kafka: str, tmp_path: Path) -> None:
    topics.create(kafka, "grown", 1)
    with hw.Runtime(spark, journal=tmp_path / "j.db") as rt:
        one = stream(2)
        options = {"kafka.metadata.max.age.ms": "500"}
        query = counting(rt, one, records(spark, kafka, "grown", **options), "grown", tmp_path)
        settings = {"topic.metadata.refresh.interval.ms": 200}
        sender = threading.Thread(target=replay, args=(sent(one, 8), kafka, "grown"), kwargs=settings)
        sender.start()
        topics.grow(kafka, "grown", 3)
        sender.join()
        assert all(n > 0 for n in topics.ends(kafka, "grown").values())
        until = (one.epoch_ms + 7_000) // WINDOW_MS * WINDOW_MS
        wait_until(lambda: last_end(spark, "grown") >= until, "seven windows", query)
        assert wrong(one, emitted(spark, "grown"), until) == {}


@pytest.mark.parametrize(("idle_after", "loses"), [("30 seconds", False), ("1 second", True)])
def test_a_partition_that_stops_and_comes_back_with_what_it_owes(
    spark: Any, kafka: str, tmp_path: Path, idle_after: str, loses: bool
) -> None:
    """Within `idle_after` windows wait and nothing is late. After it they go on, and what comes too late is counted."""
    topic = f"stops-{loses}"
    name = f"stops_{loses}".lower()
    topics.create(kafka, topic, 2)
    with hw.Runtime(spark, journal=tmp_path / "j.db") as rt:
        one = stream(3)
        # Two threads that share a busy machine may send a row a second late: only what the partition owes shall be late.
        rows, patience = records(spark, kafka, topic), "2 seconds" if loses else "4 seconds"
        query = counting(rt, one, rows, name, tmp_path, idle_after=idle_after, patience=patience)
        halves = [every_second_event(one, p, 12) for p in range(2)]
        stop_at, back_at = one.epoch_ms + 3_000, one.epoch_ms + 8_000
        owing = held_back(halves[1], stop_at, back_at)
        senders = [threading.Thread(target=send, args=(feed, kafka, topic, p)) for p, feed in enumerate((halves[0], owing))]
        for sender in senders:
            sender.start()
        until = (one.epoch_ms + 11_000) // WINDOW_MS * WINDOW_MS
        wait_until(lambda: last_end(spark, name) >= until, "all windows", query)
        for sender in senders:
            sender.join()
        missing = sum(true - got for got, true in wrong(one, emitted(spark, name), until).values())
        seen = sum(i.late for i in told_of(rt, name).inputs)
        if loses:
            assert missing > 0 and seen >= missing, "what is not counted is counted as late; clicks are late as well"
        else:
            assert missing == 0 and seen == 0


def test_a_broker_that_is_killed_and_restarted_loses_nothing_unseen_and_doubles_nothing(spark: Any, tmp_path: Path) -> None:
    running = broker.start(tmp_path / "kafka")
    topics.create(running.address, "restarted", 2)
    with hw.Runtime(spark, journal=tmp_path / "j.db") as rt:
        one = stream(4)
        query = counting(rt, one, records(spark, running.address, "restarted"), "restarted", tmp_path, "20 seconds")
        sender = threading.Thread(target=replay, args=(sent(one, 14), running.address, "restarted"))
        sender.start()
        wait_until(lambda: last_end(spark, "restarted") > 0, "a first window", query)
        running.kill()
        again = broker.start(tmp_path / "kafka", port=running.port)
        sender.join()
        until = (one.epoch_ms + 13_000) // WINDOW_MS * WINDOW_MS
        wait_until(lambda: last_end(spark, "restarted") >= until, "all windows", query)
        # A window that falls due in the very moment between two looks at the broker may close without rows that are still
        # with the producer; those are late, and counted. Nothing else is missing, and nothing is there twice.
        missing = [true - got for got, true in wrong(one, emitted(spark, "restarted"), until).values()]
        assert all(n > 0 for n in missing) and sum(missing) <= late(rt)
    again.stop()


def test_a_topic_that_is_deleted_holds_no_query_that_reads_another(spark: Any, kafka: str, tmp_path: Path) -> None:
    """Windows would wait ten minutes for partitions that cannot be seen any more."""
    topics.create(kafka, "stays", 2)
    topics.create(kafka, "goes", 2)
    over = threading.Event()
    with hw.Runtime(spark, journal=tmp_path / "j.db") as rt:
        query = counting(rt, stream(8), records(spark, kafka, "stays"), "stays", tmp_path, "10 minutes")
        gone = counting(rt, stream(9), records(spark, kafka, "goes"), "goes", tmp_path, "10 minutes")
        one = stream(8)  # from now on, and as long as we wait: who falls silent is waited for
        feeds = takewhile(lambda _: not over.is_set(), sent(one, 600))
        sender = threading.Thread(target=replay, args=(feeds, kafka, "stays"))
        sender.start()
        try:
            replay(sent(stream(9), 2), kafka, "goes")
            wait_until(lambda: last_end(spark, "stays") > 0, "a first window", query)
            topics.delete(kafka, "goes")
            wait_until(lambda: not gone.isActive, "Spark to end the query whose topic is gone")
            until = last_end(spark, "stays") + 8 * WINDOW_MS
            wait_until(lambda: last_end(spark, "stays") >= until, "eight windows more", query)
        finally:
            over.set()
            sender.join()
        missing = [true - got for got, true in wrong(one, emitted(spark, "stays"), until).values()]
        assert all(n > 0 for n in missing) and sum(missing) <= late(rt)


def test_two_topics_of_different_rate_and_delay_are_joined_exactly(spark: Any, kafka: str, tmp_path: Path) -> None:
    """Klink for joins: one grant for both inputs, by the patience of the slower one; every pair once."""
    streams = {"quick": stream(6, rate=100), "slow": Ysb(7, 20, stream().epoch_ms, Uniform(300, 800), WINDOW_MS)}
    with hw.Runtime(spark, journal=tmp_path / "j.db") as rt:
        sides = {}
        for name, patience in (("quick", "300 ms"), ("slow", "900 ms")):
            topics.create(kafka, name, 2)
            rows = rt.watermark(
                Ysb.parsed(records(spark, kafka, name)), "event_time", patience, arrival="timestamp", name=name,
                idle_after="3 seconds",
            )  # fmt: skip
            sides[name] = rows.selectExpr(f"event_time as {name}_at", f"ad_id as {name}_ad")
        on = "quick_ad = slow_ad and slow_at between quick_at - interval 1 second and quick_at + interval 1 second"
        joined = sides["quick"].join(sides["slow"], F.expr(on)).selectExpr(
            "unix_millis(quick_at) as a", "unix_millis(slow_at) as b", "quick_ad as ad"
        )  # fmt: skip
        query = rt.start(joined.writeStream.format("memory"), name="paired", checkpoint=str(tmp_path / "cp"))
        senders = [threading.Thread(target=replay, args=(sent(s, 8), kafka, name)) for name, s in streams.items()]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        until = streams["slow"].epoch_ms + 6_000
        quick, slow = (s.feed(s.epoch_ms, s.epoch_ms + 9_000) for s in streams.values())
        true = _pairs(quick, slow, until)

        def found() -> list[tuple[int, int, str]]:
            return [(r.a, r.b, r.ad) for r in spark.table("paired").where(f"greatest(a, b) < {until}").collect()]

        wait_until(lambda: len(found()) >= len(true), "all pairs", query)
        assert sorted(found()) == true and late(rt) == 0
        view = view_of(rt, "paired")
        rates = {i.name: i.rows_per_s for i in view.inputs}
        assert rates["quick"] > 2 * rates["slow"] and view.patience_ms == 900
        delays = {i.name: i.delay.mean_ms for i in view.inputs if i.delay is not None}
        assert delays["quick"] < delays["slow"]


def _pairs(quick: Feed, slow: Feed, until_ms: int) -> list[tuple[int, int, str]]:
    """By hand: same ad, no more than a second apart."""
    sides = [[(at, json.loads(b"{%s}" % body)["ad_id"]) for at, body in zip(f.event_ms.tolist(), f.body, strict=True)]
             for f in (quick, slow)]  # fmt: skip
    return sorted(
        (a, b, ad)
        for a, ad in sides[0]
        for b, other in sides[1]
        if ad == other and abs(a - b) <= 1_000 and max(a, b) < until_ms
    )


def test_rows_that_cannot_be_read_are_counted(spark: Any, kafka: str, tmp_path: Path) -> None:
    topics.create(kafka, "garbled", 1)
    with hw.Runtime(spark, journal=tmp_path / "j.db") as rt:
        one = stream(5)
        folder = tmp_path / "unread"
        query = counting(rt, one, records(spark, kafka, "garbled"), "garbled", tmp_path, unread=str(folder))
        producer = topics.client("producer", kafka)
        for value in (b"{not json", b"", b'{"event_ms":"noon"}', b"\xff\xfe"):
            producer.produce("garbled", value)
        producer.flush(10)
        replay(sent(one, 4), kafka, "garbled")
        until = (one.epoch_ms + 3_000) // WINDOW_MS * WINDOW_MS
        wait_until(lambda: last_end(spark, "garbled") >= until, "three windows", query)
        assert wrong(one, emitted(spark, "garbled"), until) == {}
        (told,) = told_of(rt, "garbled").inputs
        assert told.timeless == 4
        wait_until(lambda: len(list(folder.glob("*.parquet"))) > 0, "the folder of unread rows", query)
        assert spark.read.parquet(str(folder)).count() == 4


def test_a_broker_that_does_not_answer_is_named_at_once(spark: Any, tmp_path: Path) -> None:
    with hw.Runtime(spark, journal=tmp_path / "j.db") as rt:
        rows = records(spark, "127.0.0.1:1", "nothing")
        with pytest.raises(
            SettingError, match=r"kafka.bootstrap.servers = '127\.0\.0\.1:1': expected a broker that answers"
        ):
            rt.watermark(rows, "timestamp", PATIENCE)


def test_a_topic_that_is_not_there_is_named_at_once(spark: Any, kafka: str, tmp_path: Path) -> None:
    said = f"subscribe = 'nothing': expected a topic that {kafka} has: create it first"
    with hw.Runtime(spark, journal=tmp_path / "j.db") as rt, pytest.raises(SettingError, match=said):
        rt.watermark(records(spark, kafka, "nothing"), "timestamp", PATIENCE)


def test_a_group_needs_a_topic(spark: Any, tmp_path: Path) -> None:
    with hw.Runtime(spark, journal=tmp_path / "j.db") as rt:
        rows = rt.watermark(spark.readStream.format("rate").load(), "timestamp", PATIENCE)
        with pytest.raises(SettingError, match="group = 'lag': expected a query with an input that subscribes to Kafka"):
            rt.start(rows.writeStream.format("noop"), name="no_topic", every="1 second", group="lag")


def test_what_a_source_subscribes_to_is_read_from_its_plan(spark: Any, kafka: str) -> None:
    topics.create(kafka, "a", 1)
    topics.create(kafka, "b", 2)
    named = subscription(records(spark, kafka, "a,b"))
    assert named is not None and named.key == f"KafkaV2[Subscribe[a, b]]@{kafka}"

    def reading(key: str, value: str) -> Any:
        return spark.readStream.format("kafka").option("kafka.bootstrap.servers", kafka).option(key, value).load()

    pattern = subscription(reading("subscribePattern", "[ab]"))
    assert pattern is not None and pattern.key == f"KafkaV2[SubscribePattern[[ab]]]@{kafka}"
    assert subscription(reading("assign", '{"a":[0]}')) is None
    assert subscription(spark.readStream.format("rate").load()) is None
