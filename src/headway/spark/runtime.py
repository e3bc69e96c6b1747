"""The runtime: what a user holds. Two calls replace `withWatermark` and `start`."""

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, Literal

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

from headway.errors import HeadwayError, SettingError
from headway.loop.controller import Controller
from headway.loop.journal import Journal
from headway.model.deadline import Deadlines, Grid
from headway.model.deadline import every as every_
from headway.model.decision import OrderPolicy
from headway.model.message import Gone, InputSpec, QuerySpec, Started
from headway.model.sampling import SamplingPolicy
from headway.model.time import SystemClock, duration_ms
from headway.policy.order import FixedTrigger, Klink
from headway.policy.patience import Fixed, PatiencePolicy
from headway.spark import jvm
from headway.spark import late as late_
from headway.spark.approximate import approximate
from headway.spark.control import FORMAT, SHIFT_MS, ControlSource
from headway.spark.gate import Gate
from headway.spark.gauge import DriverGauge
from headway.spark.kafka import Subscription, Watch, subscription
from headway.spark.lease import Lease, local_path, option_of, output_mode
from headway.spark.memory import Memory
from headway.spark.merge import merge
from headway.spark.plan import PlanSeen, inspect, time_column
from headway.spark.register import register
from headway.spark.reports import BatchReports
from headway.spark.sampling import Sample, refuse_unbounded
from headway.spark.watermark import MOST_PARTS, controlled

START_TIMEOUT_S = 120
UNREAD_EVERY = "5 seconds"
_NUMBERS = count(1)  # of inputs, over all runtimes: Spark wants the name of what it observes to be unique in a query


class Runtime:
    """Puts the streaming queries of one Spark session under one policy."""

    def __init__(
        self,
        spark: Any,
        order: OrderPolicy | None = None,
        *,
        slots: int | Literal["auto"] = "auto",
        journal: str | Path | None = None,
        fallback: str | int = "10 seconds",
    ) -> None:
        _check_slots(slots)
        self.spark = spark
        self.order: OrderPolicy = Klink() if order is None else order
        if not hasattr(self.order, "decide"):
            raise SettingError("order", order, "an order policy such as headway.order.Klink()")
        mode = spark.sparkContext.getConf().get("spark.scheduler.mode", "FIFO")
        if getattr(self.order, "pools", False) and mode != "FAIR":
            raise SettingError("spark.scheduler.mode", mode, "'FAIR', which FairPools needs, when the session is made")
        self._inputs: dict[str, InputSpec] = {}
        self._logs: dict[str, Subscription] = {}  # of the inputs that read from Kafka
        self._late: set[str] = set()  # folders of side tables
        self._queries: dict[str, Any] = {}
        self._leases: dict[str, Lease] = {}
        self._starting = threading.Lock()
        self._fallback_ms = duration_ms("fallback", fallback)
        self.journal_path: Path | None = None
        if self.order.gated:
            self._open(slots, journal)

    def _open(self, slots: int | Literal["auto"], journal: str | Path | None) -> None:
        self.journal_path = Path(journal) if journal is not None else _default_journal(self.spark)
        self._journal = Journal(self.journal_path)
        self._gate = Gate(self._post, self._asked)
        self._learning = ThreadPoolExecutor(1, thread_name_prefix="headway-learning")
        self.controller = Controller(
            SystemClock(), self.order, self._gate, self._journal, DriverGauge(self.spark),
            slots=slots, cores=self.spark.sparkContext.defaultParallelism, one_task=self._one_task,
            aside=self._learn,
        )  # fmt: skip
        self._thread = self.controller.thread(self._failed)
        self._control = self._control_rows()
        self._watch = Watch(self.spark, self._post)
        self._reports = BatchReports(self._post, self._committed)

    @property
    def _one_task(self) -> bool:
        """With one shuffle partition a batch is aggregated by one task anyway; let that task read the rows as well."""
        return bool(self.spark.conf.get("spark.sql.shuffle.partitions") == "1")

    def _control_rows(self) -> DataFrame:
        kind = jvm.CONTROL
        if not jvm.present(self.spark):
            register(self.spark, ControlSource)
            kind = FORMAT
        options = {"host": "127.0.0.1", "port": self._gate.port, "secret": self._gate.secret}
        reader = self.spark.readStream.format(kind).options(**options, fallback_ms=self._fallback_ms, shift_ms=SHIFT_MS)
        rows: DataFrame = reader.load()
        return rows

    # ---- what users call

    def watermark(
        self,
        rows: DataFrame,
        column: str,
        patience: PatiencePolicy | str | int,
        *,
        arrival: str | None = None,
        partition: str | None = None,
        parts: int | None = None,
        name: str | None = None,
        idle_after: str | int = "10 seconds",
        unread: str | None = None,
        late: str | None = None,
    ) -> DataFrame:
        """`rows` with a watermark on `column` that Headway moves, instead of `rows.withWatermark(column, ...)`.

        `arrival` names a timestamp column with the time at which a row came in (Kafka's, say); without it the time of
        reading stands for it. `patience` may be given as a bare duration. With `partition`, a column such as Kafka's, the
        slowest partition whose rows still come decides how far the stream has come; `parts` says how many there are where no
        broker does. `idle_after` is how long a partition, or the whole input, may be silent before it holds nobody back.
        Rows without an event time, such as JSON that cannot be parsed, are in no window; they are counted, and written to
        the folder `unread` as Parquet if it is named. Rows that come too late for their windows are counted, and written to
        the folder `late` if it is named: see `late_rows`.
        """
        time_column(rows, column)
        policy = Fixed(patience) if isinstance(patience, str | int | float) else patience
        return self._watermarked(
            rows, column, policy, arrival=arrival, partition=partition, parts=parts, name=name, idle_after=idle_after,
            unread=unread, late=late,
        )  # fmt: skip

    def _watermarked(
        self,
        rows: DataFrame,
        column: str,
        policy: PatiencePolicy,
        *,
        arrival: str | None,
        partition: str | None = None,
        parts: int | None = None,
        name: str | None,
        idle_after: str | int,
        unread: str | None = None,
        late: str | None,
        sampling: SamplingPolicy | None = None,
        sample: Sample | None = None,
    ) -> DataFrame:
        for key, given in (("arrival", arrival), ("partition", partition)):
            if given is not None and given not in rows.columns:
                raise SettingError(f"watermark.{key}", given, f"one of the columns {', '.join(rows.columns)}")
        if arrival is not None and not isinstance(rows.schema[arrival].dataType, TimestampType):
            kind = rows.schema[arrival].dataType.simpleString()
            raise SettingError("watermark.arrival", arrival, f"a timestamp column, but it is of type {kind}: cast it first")
        if late is not None:
            late = late_.checked(self.spark, late)
            self._late.add(late)
        if unread is not None:
            self._keep_unread(rows, column, unread)
        label = name or f"input-{next(_NUMBERS)}"
        if not self.order.gated:
            marked = rows.withWatermark(column, f"{policy.delay_ms} milliseconds")
            return marked if late is None else marked.where(late_.condition(rows, column, late, label, partition))
        if label in self._inputs:
            raise SettingError("watermark.name", label, "a name that no other input of this runtime has")
        log = subscription(rows) if jvm.present(self.spark) else None
        if parts is not None and (not isinstance(parts, int) or not 1 <= parts <= MOST_PARTS):
            raise SettingError("watermark.parts", parts, f"a number from 1 to {MOST_PARTS}")
        in_log = None if log is None else self._watch.add(log)
        told = parts or in_log
        source = None if log is None else log.key
        self._inputs[label] = InputSpec(
            label, policy.delay_ms, duration_ms("idle_after", idle_after), source=source,
            policy=policy if policy.least_ms < policy.most_ms else None, slt_ms=getattr(policy, "slt_ms", None),
            parts=min(MOST_PARTS, told or 0) if partition else 0, sampling=sampling,
        )  # fmt: skip
        if log is not None:
            self._logs[label] = log
        return controlled(
            rows, self._control, column, policy, label, arrival,
            single=self._one_task, partition=partition, parts=min(MOST_PARTS, max(1, told or MOST_PARTS)),
            late=None if late is None else late_.condition(rows, column, late, label, partition), sample=sample,
        )  # fmt: skip

    def late_rows(self, folder: str) -> DataFrame:
        """The side table that `late` named: who refused which row when, and by which watermark; `row` is JSON."""
        return late_.read(self.spark, folder)

    def late_counts(self) -> list[late_.LateCount]:
        """How many rows went into no result, by query, input and reason; counted with or without a side table.

        Those that are in no side table either, because it could not be written, are counted again as `unkept`.
        """
        queries = self.controller.queries if self.order.gated else {}
        counts = late_.counts({name: [i.view for i in q.inputs.values()] for name, q in list(queries.items())})
        return [*counts, *(lost for folder in sorted(self._late) for lost in late_.unkept(self.spark, folder))]

    approximate = approximate  # as many rows as an answer needs
    merge = merge  # the rows of several streams in the order of their time

    def start(
        self,
        writer: Any,
        name: str | None = None,
        *,
        windows: list[Grid] | None = None,
        every: str | int | None = None,
        checkpoint: str | None = None,
        group: str | None = None,
    ) -> Any:
        """Start a query, instead of `writer.start()`; returns Spark's StreamingQuery.

        Windows are found in the query's plan; state them with `windows` if they are not (see `headway.window`), or a pace
        with `every` for a query that has none. `group` names a Kafka consumer group that is told after each batch how far
        the query has read, for tools that watch lag; Spark itself goes by its checkpoint.
        """
        name = name or option_of(writer, "queryName")
        if not name:
            raise SettingError("name", name, "a name for the query: rt.start(writer, name=...)")
        if name in self._queries and self._queries[name].isActive:
            raise SettingError("name", name, "a name that no running query of this runtime has")
        if checkpoint is not None:
            writer = writer.option("checkpointLocation", checkpoint)
        writer = writer.queryName(name)
        if not self.order.gated:
            return self._start_gateless(writer, name)
        seen = inspect(writer._df)
        if not seen.inputs:
            raise HeadwayError(f"query {name!r} has no watermark of Headway's: wrap an input in rt.watermark(...) first")
        self._reports.groups.pop(name, None)
        if group is not None:
            if not any(i in self._logs for i in seen.inputs):
                raise SettingError("group", group, "a query with an input that subscribes to Kafka topics")
            self._reports.groups[name] = group
        if sampled := [i for i in seen.inputs if self._inputs[i].sampling is not None]:
            if len(sampled) > 1:
                raise HeadwayError(f"query {name!r} has {len(sampled)} inputs of rt.approximate: one of them may be sampled")
            refuse_unbounded(writer._df, name)
            if (mode := output_mode(writer)) not in (None, "Append"):
                raise SettingError("outputMode", mode.lower(), "append: a sample is complete when its window ends")
        spec = self._spec(name, seen, windows, every)
        with self._starting:
            return self._start_gated(writer, spec)

    def await_termination(self, timeout_s: float | None = None) -> bool:
        """Wait until all queries have ended or one has failed (its error is raised); Ctrl-C stops all of them."""
        end = None if timeout_s is None else time.monotonic() + timeout_s
        try:
            while any(q.isActive for q in self._queries.values()):
                for query in list(self._queries.values()):
                    if (error := query.exception()) is not None:
                        raise error
                    if end is not None and time.monotonic() >= end:
                        return False
                    query.awaitTermination(0.2)
        except KeyboardInterrupt:
            self.stop()
        return True

    def use(self, order: OrderPolicy, *, slots: int | Literal["auto"] | None = None) -> None:
        """Go on with another gated policy, or another number of slots; the queries notice nothing but their turn."""
        if not (self.order.gated and order.gated):
            raise HeadwayError("only gated policies can be exchanged while queries run: start a new Runtime instead")
        if slots is not None:
            _check_slots(slots)
            self.controller.fix_slots(slots)
        self.order = self.controller.policy = order

    def stop(self) -> None:
        """Stop all queries between two batches, then the controller. Nothing is lost: checkpoints stay as they are."""
        if self.order.gated:
            self.controller.drain(timeout_s=10)
        for query in self._queries.values():
            if query.isActive:
                query.stop()
        self._queries.clear()
        for lease in self._leases.values():
            lease.release()
        if self.order.gated:
            self.controller.stop()
            self._thread.join(timeout=10)
            self._gate.close()
            self._learning.shutdown(cancel_futures=True)
            self._watch.close()
            self._journal.close()

    def __enter__(self) -> "Runtime":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # ---- how it is done

    def _keep_unread(self, rows: DataFrame, column: str, folder: str) -> None:
        """A plain query beside the user's: it writes each such row once, and has all the time in the world."""
        lost = rows.where(F.col(column).isNull()).writeStream.format("parquet").trigger(processingTime=UNREAD_EVERY)
        name = f"unread-{next(_NUMBERS)}"
        self._queries[name] = lost.queryName(name).start(folder, checkpointLocation=str(Path(folder, "_checkpoint")))

    def _spec(self, name: str, seen: PlanSeen, windows: list[Grid] | None, every: str | int | None) -> QuerySpec:
        deadlines = seen.deadlines
        if windows:
            deadlines = Deadlines(tuple(windows))
        if every is not None:
            deadlines = Deadlines((*(deadlines.grids if seen.found or windows else ()), every_(every)))
        inputs = tuple(replace(self._inputs[i], limited=seen.limited) for i in seen.inputs)
        return QuerySpec(name, inputs, deadlines, ahead=seen.ordered and not seen.limited, window_ms=seen.window_ms)

    def _start_gateless(self, writer: Any, name: str) -> Any:
        if isinstance(self.order, FixedTrigger):
            writer = writer.trigger(processingTime=f"{self.order.every_ms} milliseconds")
        context = self.spark.sparkContext
        context.setLocalProperty("spark.scheduler.pool", name if getattr(self.order, "pools", False) else None)
        try:
            query = writer.start()
        finally:
            context.setLocalProperty("spark.scheduler.pool", None)
        self._queries[name] = query
        return query

    def _start_gated(self, writer: Any, spec: QuerySpec) -> Any:
        place = option_of(writer, "checkpointLocation")
        lease = Lease(place, spec.name) if place else None
        if any(i.sampling is not None for i in spec.inputs):
            self._reports.memories[spec.name] = memory = Memory(local_path(place) if place else None)
            spec = replace(spec, past=memory.past())
        called = self._gate.admit(spec.name)
        self.controller.post(Started(spec))
        try:
            query = writer.start()
            self._queries[spec.name] = query
            self._await_call(query, called, spec.name)
        except BaseException:
            self.controller.post(Gone(spec.name))
            if lease is not None:
                lease.release()
            raise
        if lease is not None:
            if old := self._leases.pop(spec.name, None):
                old.release()
            self._leases[spec.name] = lease
            threading.Thread(target=_release_at_end, args=(query, lease), daemon=True).start()
        return query

    @staticmethod
    def _await_call(query: Any, called: threading.Event, name: str) -> None:
        """Until its control source has called, no other query may start: it would be taken for this one."""
        end = time.monotonic() + START_TIMEOUT_S
        while not called.wait(0.2):
            if (error := query.exception()) is not None:
                raise error
            if not query.isActive or time.monotonic() > end:
                raise HeadwayError(f"query {name!r}: its control source did not call within {START_TIMEOUT_S} s")

    def _learn(self, work: Callable[[], None]) -> None:
        """Beside the controller: it must not wait for a model to be fitted."""
        self._learning.submit(work).add_done_callback(_learnt)

    def _post(self, message: Any) -> None:
        self.controller.post(message)

    def _asked(self, name: str) -> None:
        if (query := self._queries.get(name)) is not None:
            self._reports.read(name, query)

    def _committed(self, group: str, source: str, offsets: str) -> None:
        """A query has read so far from what Spark calls `source`."""
        logs = {log.key: log for log in self._logs.values() if log.key.partition("@")[0] == source}  # inputs may share one
        for log in logs.values():
            self._watch.commit(log, group, offsets)

    def _failed(self, error: BaseException) -> None:
        """Fail open: hang up, so that every query goes on ungated, and say so loudly."""
        import traceback

        traceback.print_exception(error)
        sys.stderr.write(f"headway: the controller has failed ({error!r}); queries go on ungated\n")
        self._gate.close()


def _learnt(done: "Future[None]") -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        sys.stderr.write(f"headway: the slack threshold stays as it is: learning has failed ({error!r})\n")


def _check_slots(slots: Any) -> None:
    if slots != "auto" and (not isinstance(slots, int) or isinstance(slots, bool) or slots < 1):
        raise SettingError("slots", slots, "'auto' or a number of 1 or more")


def _release_at_end(query: Any, lease: Lease) -> None:
    with contextlib.suppress(Exception):  # the query's own error is the user's to see, through query.exception()
        query.awaitTermination()
    lease.release()


def _default_journal(spark: Any) -> Path:
    home = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "headway"
    home.mkdir(parents=True, exist_ok=True)
    return home / f"{spark.sparkContext.applicationId}.db"
