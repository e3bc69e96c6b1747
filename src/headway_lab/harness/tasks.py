"""The queries that a benchmark runs: where their rows come from, what they ask, and what the true answer is."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from subprocess import DEVNULL, Popen
from typing import Any, Protocol

from headway.errors import HeadwayError, SettingError
from headway.kafka import broker, topics
from headway.model.deadline import Grid
from headway.servers.process_guard import end_with_parent
from headway.sim import delays
from headway_lab.workloads import feeds, taxi
from headway_lab.workloads.feed import Feed
from headway_lab.workloads.linear_road import accounts, queries, reports
from headway_lab.workloads.sizes import size
from headway_lab.workloads.wall_clock import now_ms
from headway_lab.workloads.ysb import Ysb

LEAD_MS, EACH_MS = 4_000, 1_500  # producers need a moment before their streams begin: all of them, and each
SPARE_MS = 100  # of patience: a producer with a neighbour on its core is late now and then, by no fault of the engine
HOURS_S = 3 * 3_600  # longer than any run; it is ended with it
PARTITIONS = 2


class Task(Protocol):
    """One query of a benchmark."""

    @property
    def rate(self) -> int:
        """Rows a second."""
        ...

    @property
    def ends(self) -> Grid:
        """When its windows end."""
        ...

    def rows(self, spark: Any) -> Any:
        """Its input, with `event_time`, and the time of arrival in the column that `arrival` names."""
        ...

    @property
    def arrival(self) -> str: ...

    def result(self, marked: Any) -> Any:
        """What it asks, of rows that have their watermark."""
        ...

    def wrong(self, spark: Any, table: str) -> int:
        """How many results differ from the truth, or are not there though they should."""
        ...


@dataclass(frozen=True)
class GeneratedViews:
    """Views by campaign, from a generator inside the engine."""

    stream: Ysb
    arrival: str = "arrival"

    @property
    def rate(self) -> int:
        return self.stream.rate

    @property
    def ends(self) -> Grid:
        return Grid(self.stream.window_ms, self.stream.offset_ms)

    def rows(self, spark: Any) -> Any:
        from headway_lab.workloads.events import events

        return events(spark, self.stream)

    def result(self, marked: Any) -> Any:
        return self.stream.counts(marked)

    def wrong(self, spark: Any, table: str) -> int:
        rows = spark.table(table).selectExpr("unix_millis(window.end)", "campaign_id", "count").collect()
        return len(self.stream.wrong({(end, campaign): count for end, campaign, count in rows}))


@dataclass(frozen=True)
class FilledTopic:
    """A topic that a producer of our own fills, so that we know every row in it."""

    feed: str
    topic: str
    address: str
    wanted: feeds.ReplayRequest

    def records(self, spark: Any) -> Any:
        options = {"kafka.bootstrap.servers": self.address, "subscribe": self.topic, "startingOffsets": "earliest"}
        return spark.readStream.format("kafka").options(**options).load().select("value", "timestamp")

    def sent(self, until_ms: int) -> Feed:
        """The rows that happened by then; later ones are never asked for."""
        seconds = max(1, -(-(until_ms - self.wanted.base_ms) // 1_000) + 1)
        return _joined(feeds.feed_named(self.feed, _covering(self.wanted, seconds)), self.feed)


def _covering(wanted: feeds.ReplayRequest, seconds: int) -> feeds.ReplayRequest:
    # Rows that are held back arrive, and are made, after the second in which they happen.
    more = -(-wanted.delay.max_ms // 1_000)
    return feeds.ReplayRequest(wanted.base_ms, seconds + more, wanted.rate, wanted.speed, wanted.delay, wanted.seed)


def _joined(pieces: Iterator[Feed], name: str) -> Feed:
    import numpy as np

    parts = list(pieces)
    event, arrival = (np.concatenate([getattr(p, at) for p in parts]) for at in ("event_ms", "arrival_ms"))
    return Feed.of(name, event, arrival, [row for part in parts for row in part.body])


@dataclass(frozen=True)
class _TopicTask:
    """What all queries of a topic have in common; their windows start at an offset of their own."""

    log: FilledTopic
    offset_ms: int = 0
    arrival: str = "timestamp"

    @property
    def rate(self) -> int:
        return self.log.wanted.rate


@dataclass(frozen=True)
class TopicViews(_TopicTask):
    """Views by campaign, from a topic of its own."""

    @property
    def stream(self) -> Ysb:
        wanted = self.log.wanted
        return Ysb(wanted.seed, wanted.rate, wanted.base_ms, wanted.delay, offset_ms=self.offset_ms)

    @property
    def ends(self) -> Grid:
        return Grid(self.stream.window_ms, self.offset_ms)

    def rows(self, spark: Any) -> Any:
        return Ysb.parsed(self.log.records(spark))

    def result(self, marked: Any) -> Any:
        return self.stream.counts(marked)

    def wrong(self, spark: Any, table: str) -> int:
        return GeneratedViews(self.stream).wrong(spark, table)


@dataclass(frozen=True)
class TopicTrips(_TopicTask):
    """Mean distance of taxi trips over sliding windows of 2 s, by borough."""

    @property
    def ends(self) -> Grid:
        return Grid(1_000, self.offset_ms % 1_000)

    def rows(self, spark: Any) -> Any:
        return taxi.chain(self.log.records(spark))

    def result(self, marked: Any) -> Any:
        return taxi.mean_distance(marked, by_borough=True, offset_ms=self.offset_ms % 1_000)

    def wrong(self, spark: Any, table: str) -> int:
        rows = spark.table(table).selectExpr("unix_millis(window.end)", "borough", "hundredths", "trips").collect()
        got = {(end, borough): (miles, trips) for end, borough, miles, trips in rows}
        truth = taxi.TripTruth(
            self.log.sent(max((end for end, _ in got), default=0)), by_borough=True, offset_ms=self.offset_ms % 1_000
        )
        return len(truth.wrong(got)) + len(rows) - len(got)


@dataclass(frozen=True)
class TopicRoad(_TopicTask):
    """Linear Road under pressure: sliding windows of 5 s every 3 s, three of them joined, a last window on top."""

    @property
    def ends(self) -> Grid:
        return Grid(3_000, (5_000 + self.offset_ms) % 3_000)

    def rows(self, spark: Any) -> Any:
        return reports.typed(self.log.records(spark))

    def result(self, marked: Any) -> Any:
        return queries.pressure(marked, offset_ms=self.offset_ms)

    def wrong(self, spark: Any, table: str) -> int:
        names = ("unix_millis(window.start)", "xway", "dir", "cars", "stopped", "speed")
        rows = spark.table(table).selectExpr(*names).collect()
        got = {(start, xway, way): (cars, stopped, speed) for start, xway, way, cars, stopped, speed in rows}
        last_ms = max((start for start, _, _ in got), default=0) + 1_000
        sent = reports.columns(self.log.sent(last_ms))
        true = {p: n for p, n in accounts.pressures(sent, 5_000, 3_000, self.offset_ms).items() if p[0] < last_ms}
        return sum(not _same(got.get(p), true.get(p)) for p in got.keys() | true.keys()) + len(rows) - len(got)


def _same(got: tuple[int, int, float] | None, true: tuple[int, int, float] | None) -> bool:
    """Counts exactly; means of speeds to the last few bits, since they are added up in any order."""
    return got is not None and true is not None and got[:2] == true[:2] and abs(got[2] - true[2]) < 1e-9


KINDS: dict[str, Callable[[FilledTopic, int], Task]] = {"ads": TopicViews, "taxi": TopicTrips, "linear-road": TopicRoad}
FEEDS = {"ads": "ysb"}  # the others are called as their streams are


@dataclass
class RunTasks:
    """All queries of one run, and what feeds them."""

    workload: str  # `ysb` within the engine, or streams through Kafka with a plus between them: `taxi+linear-road`
    queries: int
    rate: int
    delay: str
    window_ms: int
    unequal: float
    seed: int
    run: int
    server: broker.Broker | None = None
    producers: list[Popen[bytes]] = field(default_factory=list)

    @cached_property
    def tasks(self) -> list[Task]:
        chance = Random(self.seed)
        if self.workload == "ysb":
            return [self._campaigns(i, chance) for i in range(self.queries)]
        kinds = check(self.workload)
        # Many ask of the same trips and the same road; an advertiser has a stream of its own.
        shared = {kind: self._log(kind, i) for i, kind in enumerate(kinds) if kind != "ads"}
        asked = [kinds[i % len(kinds)] for i in range(self.queries)]
        logs = [shared.get(kind) or self._log(kind, 10 + i) for i, kind in enumerate(asked)]
        return [KINDS[kind](log, chance.randrange(3_000)) for kind, log in zip(asked, logs, strict=True)]

    def _campaigns(self, i: int, chance: Random) -> Task:
        offset = chance.randrange(self.window_ms)
        rate = max(1, round(self.rate * size(self.unequal, chance)))
        return GeneratedViews(Ysb(self.seed * 1000 + i, rate, now_ms(), delays.parse(self.delay), self.window_ms, offset))

    def _log(self, kind: str, i: int) -> FilledTopic:
        """A topic, and a producer in a process of its own: its work must not be taken for the engine's."""
        assert self.server is not None
        wanted = feeds.ReplayRequest(
            now_ms() + LEAD_MS + EACH_MS * (self.queries if kind == "ads" else 1),
            HOURS_S,
            self.rate,
            delay=delays.parse(self.delay),
            seed=self.seed * 100 + i,
        )
        topic = f"{kind}-{self.run}-{i}"
        topics.create(self.server.address, topic, PARTITIONS)
        options = {
            "topic": topic, "to": self.server.address, "seconds": wanted.seconds, "rate": wanted.rate, "delay": self.delay,
            "seed": wanted.seed, "base": wanted.base_ms,
        }  # fmt: skip
        words = [part for key, value in options.items() for part in (f"--{key}", str(value))]
        feed = FEEDS.get(kind, kind)
        command = [sys.executable, "-m", "headway", "kafka", "replay", feed, *words]
        self.producers.append(Popen(command, stdout=DEVNULL, stderr=DEVNULL, preexec_fn=end_with_parent()))
        return FilledTopic(feed, topic, self.server.address, wanted)

    def close(self) -> None:
        for producer in self.producers:
            if producer.poll() is not None:
                raise HeadwayError(f"a producer has ended before its time, with {producer.returncode}")
            producer.terminate()
            producer.wait()
        if self.server is not None:
            made = self.__dict__.get("tasks", ())  # none, if it was broken off while they were made
            for topic in {task.log.topic for task in made if isinstance(task, _TopicTask)}:
                topics.delete(self.server.address, topic)


def check(workload: str) -> list[str]:
    """The streams of a workload that goes through Kafka."""
    kinds = workload.split("+")
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise SettingError("workload", unknown[0], f"ysb, or {', '.join(KINDS)} with a plus between them")
    return kinds
