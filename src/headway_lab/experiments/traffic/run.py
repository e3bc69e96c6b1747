"""The run behind `headway demo traffic`: one query for each kind of patience, side by side over the same two streams."""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from headway.errors import HeadwayError
from headway.loop.trouble import says
from headway.policy.patience import PatiencePolicy
from headway_lab.harness.batches import ProgressReports, latencies_ms
from headway_lab.workloads.bus_delays import Growing, Holdup, Periodic
from headway_lab.workloads.feed import Feed
from headway_lab.workloads.traffic import Streets, buses, congestion, found, held_up, one_city, roads, troubles
from headway_lab.workloads.traffic.truth import SLIDE_MS, Event, Seen
from headway_lab.workloads.wall_clock import now_ms

LEAD_S = 3  # streams begin so long after now: they must be made
SETTLE_S, QUIET_S = 8, 3  # before anything is counted; after that, until the buses' line becomes slow
OVER_S = 15  # streams go on for so long after the end, since it takes rows to close the last windows
LOOK_S = 0.25
TAPE = "tape.json"
SPEED, NOON = 400.0, 12.0  # of the real streams: as many reports a second as of the made ones


@dataclass(frozen=True)
class TrafficPlan:
    """What is played: the streams, and a query for each kind of patience."""

    policies: Mapping[str, PatiencePolicy]  # by the name of the query
    base_ms: int = 0  # from then on windows count: set when the queries have started
    seconds: int = 45
    rate: int = 500
    city: tuple[Feed, Feed] | None = None  # real buses and roads, in place of made ones
    growing: bool = False  # the buses fall behind for ever, instead of again and again
    seed: int = 1
    lead_s: int = LEAD_S
    settle_s: int = SETTLE_S
    quiet_s: int = QUIET_S

    @property
    def until_ms(self) -> int:
        return self.base_ms + self.seconds * 1_000

    @property
    def ends_ms(self) -> list[int]:
        """Of the windows that count."""
        return list(range(self.base_ms // SLIDE_MS * SLIDE_MS + SLIDE_MS, self.until_ms, SLIDE_MS))

    def streams(self) -> tuple[Feed, Feed]:
        """Buses, whose reports fall behind, and roads."""
        start_ms, seconds = self.base_ms - self.settle_s * 1_000, self.settle_s + self.seconds + OVER_S
        periodic = Periodic(from_s=Periodic().period_s - self.settle_s - self.quiet_s)
        slow: Holdup = Growing() if self.growing else periodic
        if self.city is None:
            streets = Streets(self.seed, start_ms, seconds, self.rate, slow)
            return streets.bus(), streets.road()
        bus, road = (
            feed.between(start_ms, start_ms + seconds * 1_000) for feed in one_city(*self.city, start_ms, SPEED, NOON)
        )
        return held_up(bus, slow, self.seed, start_ms), road


@dataclass
class WatchedQuery:
    """What was seen of one query while it ran."""

    batches: list[tuple[int, int, int]] = field(default_factory=list)  # when it ended, its watermark, events it brought
    states: list[tuple[int, int, int]] = field(default_factory=list)  # when we looked, the wait in ms, late rows so far

    @property
    def watermark(self) -> int:
        return max((watermark for _, watermark, _ in self.batches), default=0)


@dataclass(frozen=True)
class TrafficOutcome:
    """What came of one query."""

    name: str
    watched: WatchedQuery
    latencies_ms: list[float]  # of every window, from its end to its result
    events: dict[Event, Seen]

    @property
    def late(self) -> int:
        return self.watched.states[-1][2] if self.watched.states else 0


@dataclass(frozen=True)
class TrafficResult:
    """A run, and what it should have said."""

    plan: TrafficPlan
    truth: dict[Event, Seen]
    behind_s: list[float]  # how far the buses were behind, second by second
    outcomes: list[TrafficOutcome]


def counting(plan: TrafficPlan, events: Mapping[Event, Seen]) -> dict[Event, Seen]:
    """Those of the windows that count."""
    return {event: seen for event, seen in events.items() if plan.base_ms < event[0] < plan.until_ms}


Show = Callable[[TrafficPlan, dict[str, WatchedQuery], Mapping[Event, Seen]], None]


def play(spark: Any, plan: TrafficPlan, folder: Path, show: Show) -> TrafficResult:
    """Start the queries, then the streams, and go on until the last window that counts is out.

    `show` is called a few times a second, with what was seen so far and the true events of all windows.
    """
    from headway.spark.runtime import Runtime
    from headway_lab.workloads.player import record

    with Runtime(spark, journal=folder / "journal.db") as rt:
        handles = {name: _start(rt, spark, folder, name, patience) for name, patience in plan.policies.items()}
        plan = replace(plan, base_ms=now_ms() + (plan.lead_s + plan.settle_s) * 1_000)
        bus, road = plan.streams()
        truth = found(troubles(bus, "bus"), troubles(road, "road"))
        record({"bus": bus, "road": road}, folder / TAPE)
        watches = {name: _Watch(rt, name, handle) for name, handle in handles.items()}
        while _goes_on(plan, watches):
            time.sleep(LOOK_S)
            for watch in watches.values():
                watch.look(now_ms())
            show(plan, {name: watch.watched for name, watch in watches.items()}, truth)
    outcomes = [_outcome(spark, plan, name, watch.watched) for name, watch in watches.items()]
    return TrafficResult(plan, counting(plan, truth), _behind_s(plan, bus), outcomes)


def _start(rt: Any, spark: Any, folder: Path, name: str, patience: PatiencePolicy) -> Any:
    from headway_lab.workloads.player import play as played

    rows = played(spark, folder / TAPE)
    inputs = [
        rt.watermark(
            read(rows.where(f"topic = '{topic}'")), "event_time", patience, arrival="timestamp", name=f"{name}-{topic}"
        )
        for topic, read in (("bus", buses), ("road", roads))
    ]
    writer = congestion(*inputs).writeStream.outputMode("append").format("memory")
    return rt.start(writer, name=name, checkpoint=str(folder / name))


def _goes_on(plan: TrafficPlan, watches: Mapping[str, "_Watch"]) -> bool:
    """Until every window that counts is out, or it is too late for it to come."""
    now = now_ms()
    out = all(watch.watched.watermark >= plan.ends_ms[-1] for watch in watches.values())
    return not out and now < plan.until_ms + OVER_S * 1_000


class _Watch:
    """Reads what Spark reports of finished batches, and what the controller makes of it."""

    def __init__(self, rt: Any, name: str, handle: Any) -> None:
        self._rt, self._name, self._handle = rt, name, handle
        self._reports = ProgressReports(handle)
        self.watched = WatchedQuery()

    def look(self, now_ms: int) -> None:
        from headway.spark.listening.progress import batch_seen

        if (error := self._handle.exception()) is not None:
            raise HeadwayError(f"query {self._name} failed: {says(error)}")
        for report in self._reports.new():
            if (batch := batch_seen(report, self._name)) is not None:
                out = max(0, report["sink"].get("numOutputRows") or 0)
                self.watched.batches.append((batch.ended, batch.watermark or 0, out))
        told = self._rt.status().query(self._name)
        if told is not None and told.view is not None:
            views = told.view.inputs
            waits = [view.patience_ms if view.slt_ms is None else view.slt_ms for view in views]
            self.watched.states.append((now_ms, max(waits), sum(view.late_rows for view in views)))


def _outcome(spark: Any, plan: TrafficPlan, name: str, watched: WatchedQuery) -> TrafficOutcome:
    rows = spark.table(name).selectExpr("unix_millis(window.end) as end_ms", "area", "buses", "roads").collect()
    events = counting(plan, {(r.end_ms, r.area): (r.buses, r.roads) for r in rows})
    spark.catalog.dropTempView(name)
    return TrafficOutcome(name, watched, latencies_ms(watched.batches, plan.ends_ms, now_ms()), events)


def _behind_s(plan: TrafficPlan, bus: Feed) -> list[float]:
    moments = plan.base_ms + 1_000 * np.arange(plan.seconds)
    newest = np.searchsorted(bus.arrival_ms, moments, side="right") - 1
    return [float(s) for s in (moments - bus.event_ms[np.maximum(newest, 0)]) / 1_000]


def per_window(plan: TrafficPlan, events: Mapping[Event, Seen]) -> list[int]:
    """How many events each window has."""
    counts = Counter(end for end, _ in events)
    return [counts[end] for end in plan.ends_ms]
