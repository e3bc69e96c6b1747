"""A partition that stops for a while and comes back with what it owes: how long windows waited, and what was too late."""

import json
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from headway.errors import HeadwayError
from headway.kafka import topics
from headway.sim.delays import Uniform
from headway_lab.harness.bench import let_pass
from headway_lab.harness.setting import Say
from headway_lab.workloads.feed import Feed
from headway_lab.workloads.wall_clock import now_ms
from headway_lab.workloads.ysb import Ysb

EXPERIMENT = "silence"
WINDOW_MS, PATIENCE_MS = 1_000, 500
LEAD_S, BEFORE_S, AFTER_S = 5, 15, 20  # until the stream begins, until the stop, and after it


@dataclass(frozen=True, slots=True)
class SilenceOutcome:
    """Waits are counted from when patience alone would have closed a window."""

    windows: int
    median_ms: float
    worst_ms: float
    rows: int  # that were sent for these windows
    missing: int  # not in any result
    late: int  # counted as late
    twice: int  # windows that came out more than once


@dataclass(frozen=True, slots=True)
class SilencePlan:
    """Two partitions; the second is silent for `stop_s` seconds, then sends what it held back, at once."""

    stop_s: int
    idle_after_s: int
    rate: int
    seed: int


def silence(spark: Any, address: str, plan: SilencePlan, folder: Path, say: Say) -> SilenceOutcome:
    """Play the plan on a broker at this address."""
    from headway.spark.runtime import Runtime

    stop_s, idle_after_s = plan.stop_s, plan.idle_after_s
    topic = name = f"silent_{stop_s}_{idle_after_s}_{plan.seed}"
    topics.create(address, topic, 2)
    stream = Ysb(plan.seed, plan.rate, now_ms() + LEAD_S * 1000, Uniform(0, 300), WINDOW_MS)
    seconds = BEFORE_S + stop_s + AFTER_S
    halves = [every_second_event(stream, part, seconds) for part in range(2)]
    begun = stream.epoch_ms + BEFORE_S * 1000
    feeds = [halves[0], held_back(halves[1], begun, begun + stop_s * 1000)]
    source = {"kafka.bootstrap.servers": address, "subscribe": topic, "startingOffsets": "earliest"}
    with Runtime(spark, journal=folder / f"{name}.db") as rt:
        records = spark.readStream.format("kafka").options(**source).load().select("value", "timestamp", "partition")
        events = rt.watermark(
            Ysb.parsed(records), "event_time", PATIENCE_MS, arrival="timestamp", partition="partition",
            idle_after=f"{idle_after_s} seconds",
        )  # fmt: skip
        counts = events.selectExpr(f"window(event_time, '{WINDOW_MS} milliseconds') as window").groupBy("window").count()
        query = rt.start(counts.writeStream.format("memory"), name=name, checkpoint=str(folder / name))
        senders = [threading.Thread(target=send, args=(f, address, topic, p), daemon=True) for p, f in enumerate(feeds)]
        for sender in senders:
            sender.start()
        let_pass(f"a partition silent for {stop_s} s, idle after {idle_after_s} s", LEAD_S + seconds, say)
        until = (stream.epoch_ms + (seconds - 3) * 1000) // WINDOW_MS * WINDOW_MS
        _await(lambda: _emitted(spark, name)[-1][0] >= until, query, idle_after_s + 60, say)
        for sender in senders:
            sender.join()
        closed = _closed(query)
        late = sum(count.rows for count in rt.late_counts() if count.reason == "late")
        got = _emitted(spark, name)
    return _outcome(feeds, got, closed, stream.epoch_ms, until, late)


def _outcome(
    feeds: list[Feed], got: list[tuple[int, int]], closed: list[tuple[int, int]], epoch_ms: int, until: int, late: int
) -> SilenceOutcome:
    ends = np.concatenate([(f.event_ms // WINDOW_MS + 1) * WINDOW_MS for f in feeds])
    sent = int((ends <= until).sum())
    first = (epoch_ms // WINDOW_MS + 2) * WINDOW_MS
    waits = []
    for end in range(first, until + 1, WINDOW_MS):
        out = next((at for watermark, at in closed if watermark >= end), None)
        if out is not None:
            waits.append(float(out - end - PATIENCE_MS))
    counted = sum(n for end, n in got if end <= until)
    twice = len(got) - len({end for end, _ in got})
    return SilenceOutcome(len(waits), median(waits), max(waits), sent, sent - counted, late, twice)


def every_second_event(stream: Ysb, part: int, seconds: int) -> Feed:
    """Every second event."""
    whole = stream.feed(stream.epoch_ms, stream.epoch_ms + seconds * 1000)
    return Feed("half", whole.event_ms[part::2], whole.arrival_ms[part::2], whole.body[part::2])


def held_back(feed: Feed, since_ms: int, until_ms: int) -> Feed:
    """The same with all that would have come meanwhile held back until the end."""
    stopped = (feed.arrival_ms >= since_ms) & (feed.arrival_ms < until_ms)
    return Feed.of("held", feed.event_ms, np.where(stopped, until_ms, feed.arrival_ms), feed.body)


def send(feed: Feed, address: str, topic: str, part: int) -> None:
    """Rows for one partition, at their times."""
    producer = topics.client("producer", address, **{"linger.ms": 5})
    for at, value, _ in feed.rows():
        while (left := at - now_ms()) > 0:
            time.sleep(left / 1000)
        producer.produce(topic, value, partition=part)
        producer.poll(0)
    producer.flush(30)


def _emitted(spark: Any, name: str) -> list[tuple[int, int]]:
    rows = spark.table(name).selectExpr("unix_millis(window.end) as e", "count as n").collect()
    return sorted((r.e, r.n) for r in rows) or [(0, 0)]


def _closed(query: Any) -> list[tuple[int, int]]:
    """Watermarks, and when the batches that acted upon them ended."""
    from headway.spark.listening.progress import batch_seen

    seen = (batch_seen(json.loads(p.json())) for p in query._jsq.recentProgress())
    return [(b.watermark or 0, b.ended) for b in seen if b is not None]


def _await(done: Any, query: Any, seconds: float, say: Say) -> None:
    end = time.monotonic() + seconds
    while not done():
        if (error := query.exception()) is not None:
            raise error
        if time.monotonic() > end:
            raise HeadwayError(f"query {query.name!r}: its last windows did not come out within {seconds:.0f} s")
        let_pass("the last windows", 1, say)
