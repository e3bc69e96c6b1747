"""One stretch of a workload on real Spark under one policy after another, every window timed and every result checked."""

import json
import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any

import psutil

from headway.errors import HeadwayError
from headway.kafka import broker
from headway.model.decision import OrderPolicy
from headway.model.declared import order_declares
from headway_lab.harness.batches import window_latencies
from headway_lab.harness.meter import Meter, heap_used, spent
from headway_lab.harness.reads import rows_read, unread
from headway_lab.harness.setting import START_S, Say, Setting, policy_named, profile_named, slots_named
from headway_lab.harness.sinks import KafkaSink, MemorySink, ResultSink
from headway_lab.harness.tasks import RunTasks, Task
from headway_lab.workloads.wall_clock import now_ms

PARTITIONS = "spark.sql.shuffle.partitions"


@dataclass(frozen=True)
class Run:
    """What one policy did in one stretch."""

    policy: str
    setting: Setting
    seed: int
    latencies_ms: list[float]  # of every window that fell due: emission - window end - patience
    due_ms: list[int]  # when each of them fell due, from the start of the stretch
    unfinished: int  # of these, windows not out by the end: they count with the time they have waited
    batches: int
    rows: int
    late_rows: int
    wrong: int  # panes whose count is not the true one
    cpu_ms: float  # of the driver, tasks included
    batch_ms: float  # mean time of a batch, without the wait at the gate
    decide_ms: float  # processor time spent in decisions, all in all
    slots: int | None = None
    since_ms: int = 0  # when the stretch began
    heap_mb: float = 0.0  # of the driver, in use after a collection when the stretch was over
    backlog: int = 0  # rows in Kafka that were not read when the stretch was over
    cpu_parts: dict[str, float] = field(default_factory=dict)  # ms of processor time per batch, by what it was for
    wall_parts: dict[str, float] = field(default_factory=dict)  # mean ms of a batch, phase by phase

    @property
    def seconds(self) -> float:
        return float(self.setting.seconds)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class _Stretch:
    """A measured part of a run: which policy, from when to when."""

    policy: str
    since_ms: int = 0
    until_ms: int = 0
    cpu_ms: float = 0.0
    decide_ms: float = 0.0
    slots: int | None = None
    spent: dict[str, float] = field(default_factory=dict)  # ms of processor time, by what it was for
    heap_mb: float = 0.0
    backlog: int = 0


@dataclass
class Bench:
    """A warm Spark session on which policies take turns."""

    spark: Any
    sessions: dict[str, Any] = field(default_factory=dict)
    folder: str = field(default_factory=lambda: tempfile.mkdtemp(prefix="headway-bench-"))
    runs: int = 0
    server: broker.Broker | None = None  # started when the first workload needs it
    keeps: bool = True  # results in the driver's heap, or in Kafka: for runs so long that the heap would fill with them

    def session(self, profile: str) -> Any:
        """Sessions share the JVM, so its warmth, but not their settings."""
        from headway.spark.profile import OWN

        if profile not in self.sessions:
            made, wanted = self.spark.newSession(), profile_named(profile)
            made.conf.set(OWN, "false")  # its settings are the ones to be compared
            for key in profile_named("tuned"):
                made.conf.set(key, wanted[key]) if key in wanted else made.conf.unset(key)
            if (
                PARTITIONS not in wanted
            ):  # Spark's own 200 for some hundred rows would make a baseline too weak to compare with
                made.conf.set(PARTITIONS, "1" if profile == "plain" else str(self.spark.sparkContext.defaultParallelism))
            self.sessions[profile] = made
        return self.sessions[profile]

    def run(self, policies: Sequence[str], setting: Setting, seed: int, say: Say) -> Iterator[Run]:
        """Gated policies take turns over the same running queries; a gateless one must stand alone.

        `stock` is Spark as it comes; `stock-tuned`, and every other policy, runs with the tuned settings.
        """
        orders = [policy_named(p) for p in policies]
        if len(orders) > 1 and not all(order_declares(o).gated for o in orders):
            raise HeadwayError("only gated policies can take turns over the same queries")
        yield from _QueryRun(self, list(policies), orders, setting, seed, say).play()

    def run_tasks(self, setting: Setting, seed: int) -> RunTasks:
        """The queries of a run, and what feeds them."""
        if setting.workload != "ysb" and self.server is None:
            self.server = broker.start()
        return RunTasks(
            setting.workload, setting.queries, setting.rate, setting.delay, setting.window_ms, setting.unequal, seed,
            self.runs, self.server if setting.workload != "ysb" else None,
        )  # fmt: skip

    def close(self) -> None:
        if self.server is not None:
            self.server.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def let_pass(what: str, seconds: float, say: Say) -> None:
    """Wait, and say for how much longer."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        say(what, left)
        time.sleep(min(0.5, left))


def take_in(fresh: list[dict[str, Any]], known: dict[int, dict[str, Any]], query: str) -> None:
    """Add reports to those by batch. A window whose report is missing would count as one that came out later."""
    if fresh and fresh[0]["batchId"] > (last := max(known, default=-1)) + 1:
        raise HeadwayError(f"reports of {query} are missing after batch {last}: it ran too many batches")
    known.update({report["batchId"]: report for report in fresh})


class _QueryRun:
    """The queries of one run, started, measured, stopped and checked."""

    def __init__(
        self, bench: Bench, names: list[str], orders: list[OrderPolicy], setting: Setting, seed: int, say: Say
    ) -> None:
        from headway.spark.runtime import Runtime

        bench.runs += 1
        bench.spark.sparkContext.setLogLevel(
            "OFF"
        )  # stopping a gateless query breaks off its batch, which Spark calls an error
        self.names, self.orders, self.setting, self.seed, self.say = names, orders, setting, seed, say
        self.spark = bench.session("plain" if names[0] == "stock" else setting.profile)
        a_second = 3 if order_declares(orders[0]).gated else 60  # batches of one query, at most
        self.spark.conf.set(
            "spark.sql.streaming.numRecentProgressUpdates", str(a_second * (setting.seconds + setting.settle) + 100)
        )
        self.folder = f"{bench.folder}/{bench.runs}"
        self.rt = Runtime(self.spark, orders[0], journal=f"{bench.folder}/{bench.runs}.db")
        jvm_pid = self.spark._jvm.java.lang.ProcessHandle.current().pid()
        self.meter = Meter(psutil.Process(jvm_pid))
        self.run_tasks = bench.run_tasks(setting, seed)
        self.sink: ResultSink = MemorySink() if bench.keeps or bench.server is None else KafkaSink(bench.server.address)
        self.progress: list[dict[int, dict[str, Any]]] = [{} for _ in range(setting.queries)]  # by batch
        self.tasks: list[Task] = []
        self.queries: list[Any] = []
        self.tables = [f"bench_{bench.runs}_{i}" for i in range(setting.queries)]

    def play(self) -> Iterator[Run]:
        try:
            self._start()
            # Every query that starts holds up those before it, the longer the more there are: let that pass first.
            if self.setting.settle:
                let_pass("catching up after the start", START_S * self.setting.queries, self.say)
            stretches = [self._stretch(name, order) for name, order in zip(self.names, self.orders, strict=True)]
            for query in self.queries:
                if (error := query.exception()) is not None:
                    raise error
            late = self._late_rows()
        finally:
            self.rt.stop()
            self.run_tasks.close()
        wrong = 0
        for task, table in zip(self.tasks, self.tables, strict=True):
            self.sink.show(self.spark, table)
            wrong += task.wrong(self.spark, table)
            self.sink.drop(self.spark, table)
        shutil.rmtree(self.folder, ignore_errors=True)
        reports = [[of[batch] for batch in sorted(of)] for of in self.progress]
        for stretch in stretches:
            yield self._result(stretch, reports, late, wrong)

    def _start(self) -> None:
        self.tasks = self.run_tasks.tasks
        # Without a gate queries may start side by side; with a gate, one by one, so that it can tell them apart.
        with ThreadPoolExecutor(1 if order_declares(self.orders[0]).gated else 2) as pool:
            started = pool.map(self._start_one, self.tasks, self.tables)
            for done, query in enumerate(started, start=1):
                self.queries.append(query)
                self.say(f"starting {done}/{len(self.tasks)}", 0.0)

    def _start_one(self, task: Task, table: str) -> Any:
        arrival = task.arrival if order_declares(self.rt.order).gated else None
        marked = self.rt.watermark(task.rows(self.spark), "event_time", self.setting.patience_ms, arrival=arrival)
        if not order_declares(self.orders[0]).gated and self.names[0] != "stock":
            marked = marked.coalesce(1)  # as the gated ones have it: one task a batch, and no shuffle
        writer = self.sink.writer(task.result(marked), table)
        query = self.rt.start(writer, name=table, checkpoint=f"{self.folder}/{table}")
        # Spark gives a source's process ten seconds to call back. Forty of them at once need more, so wait for each.
        while query.isActive and query.status["message"] == "Initializing sources":
            time.sleep(0.05)
        return query

    def _stretch(self, name: str, order: OrderPolicy) -> _Stretch:
        if order_declares(order).gated:
            self.rt.use(order, slots=slots_named(name))
        let_pass(f"{name}: settling", self.setting.settle, self.say)
        decide = self.rt.status().decided_ms
        stretch, before = _Stretch(name, now_ms()), self.meter.read()
        let_pass(f"{name}: measuring", self.setting.seconds, self.say)
        stretch.until_ms = now_ms()
        after = self.meter.read()
        self._gather()
        stretch.backlog = sum(map(unread, self.tasks, self.progress))
        stretch.cpu_ms, stretch.spent = after.driver - before.driver, spent(before, after)
        told = self.rt.status()
        stretch.decide_ms, stretch.slots = told.decided_ms - decide, told.slots
        stretch.heap_mb = heap_used(self.spark) / 2**20
        return stretch

    def _gather(self) -> None:
        """Take in the reports that Spark will forget."""
        for query, known in zip(self.queries, self.progress, strict=True):
            take_in([json.loads(p.json()) for p in query._jsq.recentProgress()], known, query.name)

    def _late_rows(self) -> int:
        return sum(i.late for q in self.rt.status().queries for i in q.inputs)

    def _result(self, stretch: _Stretch, progress: list[list[dict[str, Any]]], late: int, wrong: int) -> Run:
        from headway.spark.listening.progress import batch_seen, phases

        latencies: list[float] = []
        dues: list[int] = []
        unfinished = batches = rows = dropped = 0
        took = 0.0
        walls: dict[str, float] = defaultdict(float)
        for task, reports in zip(self.tasks, progress, strict=True):
            seen = [b for b in map(batch_seen, reports) if b is not None]
            emitted = [(b.watermark or 0, b.ended) for b in seen]
            waits, due, open_ = window_latencies(task.ends, emitted, stretch, self.setting.patience_ms)
            latencies += waits
            dues += due
            unfinished += open_
            inside = [b for b in seen if stretch.since_ms <= b.ended < stretch.until_ms]
            batches += len(inside)
            took += sum(b.took_ms for b in inside)
            rows += rows_read(reports, stretch, task.rate)
            dropped += sum(b.dropped for b in seen)
            ended = {b.batch for b in inside}
            for report in reports:
                if report["batchId"] in ended and "addBatch" in report["durationMs"]:
                    for phase, ms in phases(report).items():
                        walls[phase] += ms
        each = max(1, batches)
        return Run(
            stretch.policy, self.setting, self.seed, latencies, dues, unfinished, batches, rows, max(late, dropped), wrong,
            stretch.cpu_ms, took / each, stretch.decide_ms, stretch.slots, stretch.since_ms, stretch.heap_mb,
            stretch.backlog,
            {part: ms / each for part, ms in stretch.spent.items()}, {phase: ms / each for phase, ms in walls.items()},
        )  # fmt: skip
