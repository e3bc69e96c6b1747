"""The watcher of Kafka topics, on real brokers and a JVM of its own: what goes wrong with one hides no other."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pyspark
import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from headway.errors import SettingError
from headway.java import java as java_program
from headway.kafka import broker, jars, topics
from headway.loop.partitions import Partitions
from headway.model.message import Message, Reached
from headway.spark import jvm
from headway.spark.kafka import PartitionWatch, Subscription
from spark.scripted import wait_until
from spark.two_brokers import join

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


class Jvm:
    """A JVM with Headway's jar and Spark's connector, but without Spark: all that the watcher asks of a session."""

    def __init__(self) -> None:
        spark_jars = Path(pyspark.__file__).parent / "jars"
        classpath = os.pathsep.join(map(str, [spark_jars / "*", *jars.connector(), jvm.JAR]))
        port, self.process = launch_gateway(
            jarpath=str(next(spark_jars.glob("py4j-*.jar"))), classpath=classpath, die_on_exit=True, return_proc=True,
            javaopts=["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"], java_path=java_program(),
        )  # fmt: skip
        self.gateway = JavaGateway(
            gateway_parameters=GatewayParameters(port=port, auto_convert=True, enable_memory_management=False)
        )
        self.session = SimpleNamespace(_jvm=self.gateway.jvm)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


class ReachedBook(list[Reached]):
    """What the controller would have been told."""

    def post(self, message: Message) -> None:
        assert isinstance(message, Reached)
        self.append(message)

    def of(self, wanted: Subscription) -> list[Reached]:
        return [seen for seen in list(self) if seen.source == wanted.key]

    def ends(self, wanted: Subscription, back: int = 1) -> dict[int, int | None] | None:
        """What was said last, or before: how far each partition has come."""
        said = self.of(wanted)
        parts = said[-back].parts if len(said) >= back else None
        return None if parts is None else {n: None if end is None else end.end for (_, n), end in parts.items()}

    def steadily(self, wanted: Subscription, ends: dict[int, int | None], looks: int = 5) -> None:
        """Wait until it is said so many times in a row."""
        true = [ends] * looks
        wait_until(lambda: [self.ends(wanted, back + 1) for back in range(looks)] == true, f"{ends} again and again")

    def more(self, wanted: Subscription, count: int = 5) -> None:
        """Wait for so many more."""
        before = len(self.of(wanted))
        wait_until(lambda: len(self.of(wanted)) >= before + count, f"{count} more looks at {wanted.key}")


@pytest.fixture(scope="module")
def java() -> Iterator[Any]:
    running = Jvm()
    yield running.session
    running.close()


@pytest.fixture
def told() -> ReachedBook:
    return ReachedBook()


@pytest.fixture
def watch(java: Any, told: ReachedBook) -> Iterator[PartitionWatch]:
    made = PartitionWatch(java, told.post)
    yield made
    made.close()


@pytest.fixture(scope="module")
def second_cluster() -> Iterator[broker.Broker]:
    running = broker.start(heap="192m")
    yield running
    running.stop()


@pytest.fixture
def other(second_cluster: broker.Broker) -> Iterator[broker.Broker]:
    """A broker that may be made to hang."""
    yield second_cluster
    psutil.Process(second_cluster.pid).resume()


@pytest.fixture
def second(other: broker.Broker, tmp_path: Path) -> Iterator[broker.Broker]:
    """Another one of the same cluster."""
    running = join(other, tmp_path / "second")
    yield running
    running.stop()


def reading(address: str, topic: str | None, pattern: str | None = None, **settings: str) -> Subscription:
    every = {"bootstrap.servers": address} | settings
    return Subscription(topic, pattern, tuple(sorted(every.items())))


def write(address: str, topic: str, rows: int, partition: int = 0) -> None:
    producer = topics.client("producer", address)
    for _ in range(rows):
        producer.produce(topic, b"row", partition=partition)
    assert producer.flush(30) == 0


def test_a_topic_that_is_deleted_hides_no_other_and_is_gone(watch: PartitionWatch, told: ReachedBook, kafka: str) -> None:
    topics.create(kafka, "kept", 2)
    topics.create(kafka, "doomed", 2)
    write(kafka, "kept", 7)
    kept, doomed = reading(kafka, "kept"), reading(kafka, "doomed")
    assert watch.add(kept) == 2 and watch.add(doomed) == 2
    wait_until(lambda: told.ends(doomed) == {0: 0, 1: 0}, "a first look")
    topics.delete(kafka, "doomed")
    wait_until(lambda: told.ends(doomed) == {}, "the topic to be gone")
    told.steadily(kept, {0: 7, 1: 0})


def test_a_topic_that_is_made_again_is_seen_from_its_beginning(watch: PartitionWatch, told: ReachedBook, kafka: str) -> None:
    topics.create(kafka, "again", 2)
    write(kafka, "again", 50)
    wanted, log = reading(kafka, "again"), Partitions()
    watch.add(wanted)
    wait_until(lambda: told.ends(wanted) == {0: 50, 1: 0}, "fifty rows")
    topics.delete(kafka, "again")
    wait_until(lambda: "again" not in topics.listed(kafka), "the broker to forget it")
    topics.create(kafka, "again", 1)
    write(kafka, "again", 3)
    wait_until(lambda: told.ends(wanted) == {0: 3}, "the new topic")
    for seen in told.of(wanted):
        log.reached(seen)
    assert log.total == 3


def test_partitions_and_topics_that_come_later_are_seen(watch: PartitionWatch, told: ReachedBook, kafka: str) -> None:
    topics.create(kafka, "grows-1", 1)
    wanted = reading(kafka, None, pattern="grows-[0-9]")
    assert watch.add(wanted) == 1
    wait_until(lambda: told.ends(wanted) == {0: 0}, "one partition")
    topics.grow(kafka, "grows-1", 3)
    wait_until(lambda: told.ends(wanted) == {0: 0, 1: 0, 2: 0}, "three partitions")
    topics.create(kafka, "grows-2", 5)
    wait_until(lambda: len((told[-1].parts) or ()) == 8, "a second topic")


def test_a_partition_without_a_leader_is_told_as_mute_and_the_others_as_ever(
    watch: PartitionWatch, other: broker.Broker, second: broker.Broker, told: ReachedBook
) -> None:
    from confluent_kafka.admin import NewTopic

    admin = topics.client("admin", other.address)
    wait_until(lambda: len(admin.list_topics(timeout=10).brokers) == 2, "two brokers")
    for future in admin.create_topics([NewTopic("split", 2, replica_assignment=[[1], [2]])]).values():
        future.result(30)
    write(other.address, "split", 4, partition=0)
    write(other.address, "split", 5, partition=1)
    wanted = reading(other.address, "split")
    watch.add(wanted)
    wait_until(lambda: told.ends(wanted) == {0: 4, 1: 5}, "both partitions")

    def leaderless() -> bool:
        return bool(admin.list_topics("split", timeout=10).topics["split"].partitions[1].leader == -1)

    second.kill()  # at first it is still taken for the leader, and does not answer; then there is none
    wait_until(lambda: told.ends(wanted) == {0: 4, 1: None}, "one of them only")
    write(other.address, "split", 2)
    told.steadily(wanted, {0: 6, 1: None})
    wait_until(leaderless, "the cluster to notice")
    write(other.address, "split", 2)
    told.steadily(wanted, {0: 8, 1: None}, looks=15)


def test_a_broker_that_hangs_is_away_and_is_heard_again(
    watch: PartitionWatch, told: ReachedBook, other: broker.Broker
) -> None:
    topics.create(other.address, "hangs", 2)
    wanted = reading(other.address, "hangs")
    watch.add(wanted)
    wait_until(lambda: told.ends(wanted) == {0: 0, 1: 0}, "a first look")
    psutil.Process(other.pid).suspend()
    wait_until(lambda: told.of(wanted)[-1].parts is None, "it to be away")
    told.more(wanted)
    assert told.ends(wanted) is None
    watch.commit(wanted, "hangs-lag", '{"hangs":{"0":0}}')
    told.more(wanted)  # that its group does not answer stops no look
    psutil.Process(other.pid).resume()
    wait_until(lambda: told.ends(wanted) == {0: 0, 1: 0}, "it to be back")


def test_a_group_that_hangs_keeps_nobody_and_hears_the_newest_in_the_end(java: Any, other: broker.Broker) -> None:
    from confluent_kafka import TopicPartition

    topics.create(other.address, "grouped", 2)
    ends = java._jvm.headway.PartitionEnds({"bootstrap.servers": other.address}, 60_000)
    reader = topics.client("consumer", other.address, **{"group.id": "grouped-lag"})

    def committed() -> list[int]:
        return [p.offset for p in reader.committed([TopicPartition("grouped", n) for n in range(2)], timeout=30)]

    ends.commit("grouped-lag", '{"grouped":{"0":1,"1":1}}')
    wait_until(lambda: committed() == [1, 1], "the group to hear of it")
    psutil.Process(other.pid).suspend()
    for offset in range(2, 9):
        ends.commit("grouped-lag", f'{{"grouped":{{"0":{offset}}}}}')
    ends.commit("grouped-lag", '{"grouped":{"1":5}}')
    psutil.Process(other.pid).resume()
    wait_until(lambda: committed() == [8, 5], "the group to hear the newest")
    ends.close()
    reader.close()


def test_one_broker_waits_for_no_other(java: Any, other: broker.Broker, told: ReachedBook, kafka: str) -> None:
    topics.create(other.address, "slow", 1)
    topics.create(kafka, "swift", 1)
    slow, swift = reading(other.address, "slow"), reading(kafka, "swift")
    stuck = threading.Event()

    def post(seen: Any) -> None:
        told.post(seen)
        if seen.source == slow.key:
            stuck.wait()

    watch = PartitionWatch(java, post)
    try:
        watch.add(slow)
        watch.add(swift)
        wait_until(lambda: told.of(slow), "the slow one to be stuck")
        told.more(swift)
        assert len(told.of(slow)) == 1
    finally:
        stuck.set()
        watch.close()


def test_to_close_it_does_not_take_a_broker_that_answers(java: Any, other: broker.Broker, told: ReachedBook) -> None:
    topics.create(other.address, "closed", 1)
    watch, wanted = PartitionWatch(java, told.post), reading(other.address, "closed")
    watch.add(wanted)
    wait_until(lambda: told.ends(wanted) == {0: 0}, "a first look")
    psutil.Process(other.pid).suspend()
    watch.commit(wanted, "closed-lag", '{"closed":{"0":0}}')
    watch.close()
    assert not [thread for thread in threading.enumerate() if other.address in thread.name]


def test_what_goes_wrong_in_a_look_is_said_once_and_ends_nothing(
    java: Any, told: ReachedBook, kafka: str, capfd: pytest.CaptureFixture[str]
) -> None:
    topics.create(kafka, "wrong", 1)
    broken = threading.Event()

    def post(seen: Any) -> None:
        told.post(seen)
        if broken.is_set():
            raise LookupError("a bad answer")

    watch, wanted = PartitionWatch(java, post), reading(kafka, "wrong")
    try:
        watch.add(wanted)
        broken.set()
        told.more(wanted, 10)
        broken.clear()
        told.more(wanted)
        wait_until(lambda: told.ends(wanted) == {0: 0}, "it to go on")
    finally:
        watch.close()
    assert capfd.readouterr().err.count("LookupError('a bad answer')") == 1


def test_when_the_jvm_is_gone_the_watcher_says_so_and_ends(
    told: ReachedBook, kafka: str, capfd: pytest.CaptureFixture[str]
) -> None:
    topics.create(kafka, "orphaned", 1)
    doomed = Jvm()
    watch, wanted = PartitionWatch(doomed.session, told.post), reading(kafka, "orphaned", **{"client.id": "orphan"})
    watch.add(wanted)
    wait_until(lambda: told.ends(wanted) == {0: 0}, "a first look")
    (thread,) = [broker._thread for broker in watch._brokers.values()]
    doomed.close()
    wait_until(lambda: not thread.is_alive(), "its thread to end")
    assert told.ends(wanted) is None, "nobody is held by what was said before"
    said = capfd.readouterr().err
    assert said.count("cannot be looked at") == 1 and said.count("the JVM is gone") == 1
    watch.close()


def test_a_broker_whose_name_is_not_known_is_named_at_once(watch: PartitionWatch) -> None:
    with pytest.raises(SettingError, match=r"kafka.bootstrap.servers = 'nowhere\.invalid:9092': expected a broker that"):
        watch.add(reading("nowhere.invalid:9092", "nothing"))
