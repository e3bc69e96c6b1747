"""Kafka under Headway: which topics an input reads, and how far they have come between batches, by their broker."""

import contextlib
import json
import queue
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError

from headway.errors import SettingError, aloud
from headway.loop.partitions import POLL_MS
from headway.model.message import Message, Part, PartEnd, Reached
from headway.model.time import WallMs
from headway.spark.plan import source_leaves

ANSWER_MS = 10_000  # a broker on a busy machine takes its time
LOOK_MS = 1_000  # a look that takes longer says that something is wrong
LOST_LOOKS = 5
CLOSE_S = 2.0
TOPICS_FOR_S = 5.0  # a pattern may match new topics


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a Kafka source of Spark's was told to read."""

    topics: str | None  # with commas between them
    pattern: str | None
    settings: tuple[tuple[str, str], ...]  # of its clients

    @property
    def address(self) -> str:
        return dict(self.settings).get("bootstrap.servers", "")

    @property
    def key(self) -> str:
        """As Spark names the source in its reports, and where it is."""
        what = f"SubscribePattern[{self.pattern}]" if self.pattern else f"Subscribe[{', '.join(_split(self.topics))}]"
        return f"KafkaV2[{what}]@{self.address}"


def subscription(rows: Any) -> Subscription | None:
    """The topics that these rows come from; None if from anything but one Kafka source that subscribes."""
    found = [leaf for leaf in source_leaves(rows) if leaf.name == "kafka"]
    if len(found) != 1:
        return None
    options = {key.lower(): value for key, value in found[0].options.items()}
    topics, pattern = options.get("subscribe"), options.get("subscribepattern")
    if topics is None and pattern is None:
        return None
    settings = {key[len("kafka.") :]: value for key, value in found[0].options.items() if key.lower().startswith("kafka.")}
    return Subscription(topics, pattern, tuple(sorted(settings.items())))


class PartitionWatch:
    """Asks the brokers, a few times a second, how far the topics of all inputs have come, and tells the controller."""

    def __init__(self, spark: Any, post: Callable[[Message], None]) -> None:
        self._spark, self._post = spark, post
        self._brokers: dict[tuple[tuple[str, str], ...], _Broker] = {}
        self._adding = threading.Lock()

    def add(self, wanted: Subscription) -> int:
        """Look at these topics from now on. Refuses a broker that does not answer and topics that are not there.

        Returns how many partitions they have.
        """
        with self._adding:
            broker = self._brokers.get(wanted.settings)
            if broker is not None:
                return broker.add(wanted)
            broker = _Broker(self._spark, wanted, self._post)
            try:
                parts = broker.add(wanted)
            except BaseException:
                broker.close()
                raise
            self._brokers[wanted.settings] = broker
            broker.start()
            return parts

    def commit(self, wanted: Subscription, group: str, offsets: str) -> None:
        """Tell a consumer group how far a query has read, at the next look."""
        self._brokers[wanted.settings].commits.put((group, offsets))

    def close(self) -> None:
        for broker in self._brokers.values():
            broker.close()
        for broker in self._brokers.values():
            broker.join()


class _Broker:
    """One broker, or cluster of them, as one source's settings reach it. It has a thread of its own: others must not wait
    for it."""

    def __init__(self, spark: Any, wanted: Subscription, post: Callable[[Message], None]) -> None:
        self.commits: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()  # a group, and what it is to be told
        self._address, self._post = wanted.address, post
        self._wanted: dict[str, Subscription] = {}  # written by the caller that adds one, and by the thread below
        self._topics: dict[str, frozenset[str]] = {}
        self._resolved_at = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"headway-kafka-{self._address}", daemon=True)
        try:
            self._ends = spark._jvm.headway.PartitionEnds(dict(wanted.settings), ANSWER_MS)
        except Py4JJavaError as error:
            raise self._refused(error) from None

    def add(self, wanted: Subscription) -> int:
        try:
            topics = self._resolve(wanted, ANSWER_MS)
            if missing := set(_split(wanted.topics)) - topics:
                raise SettingError(
                    "subscribe", ", ".join(sorted(missing)), f"a topic that {wanted.address} has: create it first"
                )
            parts = self._read(topics, ANSWER_MS)
        except Py4JJavaError as error:
            raise self._refused(error) from None
        self._topics[wanted.key] = topics
        self._wanted[wanted.key] = wanted
        return sum(map(len, parts.values()))

    def _refused(self, error: Py4JJavaError) -> SettingError:
        want = f"a broker that answers within {ANSWER_MS // 1000} s ({_why(error)})"
        return SettingError("kafka.bootstrap.servers", self._address, want)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """What it is asked now fails at once, so that its thread ends: see `join`."""
        self._over.set()
        with contextlib.suppress(Py4JError, OSError):  # the JVM may be gone
            self._ends.close()

    def join(self) -> None:
        self._thread.join(timeout=CLOSE_S)

    def _run(self) -> None:
        """Look and tell until closed, or until there is no JVM to ask. Nothing else may end this thread: the controller
        would go on with what it was told last."""
        trouble: str | None = None
        lost = 0  # looks in a row for which the JVM could not be reached
        while not self._over.wait(POLL_MS / 1000):
            at = _now()
            try:
                self._look(at)
                trouble, lost = None, 0
            except Exception as error:
                if self._over.is_set():
                    return
                answered = isinstance(error, Py4JJavaError) or not isinstance(error, Py4JError | OSError)
                lost = 0 if answered else lost + 1
                if trouble != (trouble := type(error).__name__):
                    aloud(f"the broker {self._address} cannot be looked at ({error!r}); it is tried again")
                with contextlib.suppress(Exception):  # that may be what went wrong
                    self._tell(at, None)
                if lost == LOST_LOOKS:
                    aloud(f"the broker {self._address} is not looked at any more: the JVM is gone")
                    return

    def _look(self, at: WallMs) -> None:
        self._resolve_patterns()
        parts = None
        with contextlib.suppress(Py4JJavaError):  # it does not answer
            parts = self._read(frozenset[str]().union(*list(self._topics.values())), LOOK_MS)
        if self._over.is_set():  # no wonder that there was no answer
            return
        self._tell(at, parts)
        while not self.commits.empty():
            self._ends.commit(*self.commits.get())

    def _tell(self, at: WallMs, parts: Mapping[str, dict[Part, PartEnd | None]] | None) -> None:
        for key in list(self._wanted):
            found = None
            if parts is not None:
                found = {part: end for topic in self._topics[key] for part, end in parts.get(topic, {}).items()}
            self._post(Reached(key, at, found))

    def _resolve_patterns(self) -> None:
        """A pattern may match topics that are new. If that is not answered, those that are known are looked at."""
        if time.monotonic() - self._resolved_at <= TOPICS_FOR_S:
            return
        self._resolved_at = time.monotonic()
        with contextlib.suppress(Py4JJavaError):
            for key, wanted in list(self._wanted.items()):
                if wanted.pattern:
                    self._topics[key] = self._resolve(wanted, LOOK_MS)

    def _resolve(self, wanted: Subscription, wait_ms: int) -> frozenset[str]:
        return frozenset(_split(self._ends.topics(wanted.topics, wanted.pattern, wait_ms)))

    def _read(self, topics: frozenset[str], wait_ms: int) -> dict[str, dict[Part, PartEnd | None]]:
        said = json.loads(self._ends.read(",".join(sorted(topics)), wait_ms)) if topics else {}
        return {
            topic: {(topic, int(number)): None if end is None else _part_end(*end) for number, end in parts.items()}
            for topic, parts in said.items()
        }


def _part_end(end: int, newest: int) -> PartEnd:
    return PartEnd(end, WallMs(newest) if newest >= 0 else None)


def _now() -> WallMs:
    return WallMs(time.time_ns() // 1_000_000)


def _split(topics: str | None) -> list[str]:
    return [name.strip() for name in (topics or "").split(",") if name.strip()]


def _why(error: Py4JJavaError) -> str:
    cause = error.java_exception
    return str((cause.getCause() or cause).toString()).partition("\n")[0].rpartition(".")[2]
