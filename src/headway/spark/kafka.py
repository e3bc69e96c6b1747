"""Kafka under Headway: which topics an input reads, and how far they have come between batches, by their broker."""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError

from headway.errors import SettingError
from headway.loop.partitions import POLL_MS
from headway.model.message import Message, PartEnd, Reached
from headway.model.time import WallMs
from headway.spark.plan import source_leaves

ANSWER_MS = 10_000  # a broker on a busy machine takes its time
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


class Watch:
    """Asks the brokers, a few times a second, how far the topics of all inputs have come, and tells the controller."""

    def __init__(self, spark: Any, post: Callable[[Message], None]) -> None:
        self._spark, self._post = spark, post
        self._brokers: dict[tuple[tuple[str, str], ...], _Broker] = {}
        self._commits: list[tuple[Subscription, str, str]] = []
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, wanted: Subscription) -> int:
        """Look at these topics from now on. Refuses a broker that does not answer and topics that are not there.

        Returns how many partitions they have.
        """
        with self._lock:
            if wanted.settings not in self._brokers:
                self._brokers[wanted.settings] = _Broker(self._spark, wanted.settings)
        parts = self._brokers[wanted.settings].add(wanted)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="headway-kafka", daemon=True)
            self._thread.start()
        return parts

    def commit(self, wanted: Subscription, group: str, offsets: str) -> None:
        """Tell a consumer group how far a query has read, at the next look."""
        with self._lock:
            self._commits.append((wanted, group, offsets))

    def close(self) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join(timeout=ANSWER_MS / 1000 + 1)
        for broker in self._brokers.values():
            broker.close()

    def _run(self) -> None:
        while not self._over.wait(POLL_MS / 1000):
            with self._lock:
                brokers, commits = list(self._brokers.values()), self._commits
                self._commits = []
            for broker in brokers:
                for message in broker.look():
                    self._post(message)
            for wanted, group, offsets in commits:
                self._brokers[wanted.settings].commit(group, offsets)


class _Broker:
    """One broker, or cluster of them, as one source's settings reach it."""

    def __init__(self, spark: Any, settings: tuple[tuple[str, str], ...]) -> None:
        self._ends = spark._jvm.headway.Ends(dict(settings), ANSWER_MS)
        self._wanted: dict[str, tuple[Subscription, frozenset[str]]] = {}  # and the topics that there are of it
        self._resolved_at = 0.0

    def add(self, wanted: Subscription) -> int:
        try:
            topics = self._resolve(wanted)
            if missing := set(_split(wanted.topics)) - topics:
                raise SettingError(
                    "subscribe", ", ".join(sorted(missing)), f"a topic that {wanted.address} has: create it first"
                )
            self._wanted = self._wanted | {wanted.key: (wanted, topics)}
            return len(_parts(self._ends.read(",".join(sorted(topics))))) if topics else 0
        except Py4JJavaError as error:
            raise SettingError(
                "kafka.bootstrap.servers",
                wanted.address,
                f"a broker that answers within {ANSWER_MS // 1000} s ({_why(error)})",
            ) from None

    def look(self) -> list[Message]:
        at = WallMs(time.time_ns() // 1_000_000)
        try:
            if time.monotonic() - self._resolved_at > TOPICS_FOR_S:
                self._wanted = {k: (w, self._resolve(w) if w.pattern else t) for k, (w, t) in self._wanted.items()}
                self._resolved_at = time.monotonic()
            topics = frozenset().union(*(found for _, found in self._wanted.values()))
            parts = _parts(self._ends.read(",".join(sorted(topics)))) if topics else {}
        except Py4JJavaError:
            return [Reached(key, at, None) for key in self._wanted]
        return [
            Reached(key, at, {name: end for name, end in parts.items() if name[0] in found})
            for key, (_, found) in self._wanted.items()
        ]

    def commit(self, group: str, offsets: str) -> None:
        try:
            self._ends.commit(group, offsets)
        except Py4JJavaError:  # for tools that watch lag only: the next batch tells them
            return

    def close(self) -> None:
        self._ends.close()

    def _resolve(self, wanted: Subscription) -> frozenset[str]:
        return frozenset(_split(self._ends.topics(wanted.topics, wanted.pattern)))


def _parts(said: str) -> dict[tuple[str, int], PartEnd]:
    return {
        (topic, int(number)): PartEnd(end, WallMs(newest) if newest >= 0 else None)
        for topic, parts in json.loads(said).items()
        for number, (end, newest) in parts.items()
    }


def _split(topics: str | None) -> list[str]:
    return [name.strip() for name in (topics or "").split(",") if name.strip()]


def _why(error: Py4JJavaError) -> str:
    cause = error.java_exception
    return str((cause.getCause() or cause).toString()).partition("\n")[0].rpartition(".")[2]
