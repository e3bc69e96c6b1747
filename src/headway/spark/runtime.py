"""The runtime: what a user holds. Two calls replace `withWatermark` and `start`."""

import contextlib
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pyspark.sql import DataFrame

from headway.errors import HeadwayError, QueryFailed, SettingError, aloud
from headway.loop.controller import Controller
from headway.loop.journal import Journal
from headway.loop.journal_file import state_folder
from headway.loop.supervision import Supervision
from headway.loop.trouble import says
from headway.model.deadline import Grid
from headway.model.decision import OrderPolicy
from headway.model.message import Failed, Gone, InputSpec, Message, QuerySpec, Unreadable, Use
from headway.model.time import SystemClock, duration_ms
from headway.policy.order import FixedTrigger, Klink, RoundRobin
from headway.spark import jvm
from headway.spark import late as late_
from headway.spark.approximate import approximate
from headway.spark.batches import LongBatches
from headway.spark.channel.control import CAN_END
from headway.spark.channel.gate import Gate
from headway.spark.channel.leased_gate import LeasedGate
from headway.spark.channel.rows import control_rows
from headway.spark.ending import await_termination, drain, stop, stopped
from headway.spark.gauge import DriverGauge
from headway.spark.inputs import watermark, watermarked
from headway.spark.kafka import Subscription, Watch
from headway.spark.lease import Leases, SessionLeasing, default_fs, local_path
from headway.spark.memory import Memory
from headway.spark.merge import merge
from headway.spark.plan import inspect
from headway.spark.profile import Profile, one_task, own_work, partitions, settled, usual
from headway.spark.reports import BatchReports
from headway.spark.sampling import refuse_unbounded
from headway.spark.spec import spec_of
from headway.spark.standing import late_counts, status
from headway.spark.starting import Starting
from headway.spark.supervisor import Supervisor, check_restart
from headway.spark.supported import supported
from headway.spark.trigger import taken_over
from headway.spark.writer import option_of, output_mode

LOG = logging.getLogger("headway")
CORES = 2  # until executors have come


class Runtime:
    """Puts the streaming queries of one Spark session under one policy."""

    def __init__(
        self,
        spark: Any,
        order: OrderPolicy | None = None,
        *,
        slots: int | Literal["auto"] = "auto",
        journal: str | Path | None = None,
        hang_after: str | int = "2 minutes",
    ) -> None:
        """A batch that runs for longer than `hang_after` is told of, with its stack."""
        _check_slots(slots)
        supported(spark)
        self.spark = spark
        self.order: OrderPolicy = Klink() if order is None else order
        if not hasattr(self.order, "decide"):
            raise SettingError("order", order, "an order policy such as headway.order.Klink()")
        mode = spark.sparkContext.getConf().get("spark.scheduler.mode", "FIFO")
        if getattr(self.order, "pools", False) and mode != "FAIR":
            raise SettingError("spark.scheduler.mode", mode, "'FAIR', which FairPools needs, when the session is made")
        self._inputs: dict[str, InputSpec] = {}
        self._profiles: dict[str, Profile] = {}  # by input
        self._logs: dict[str, Subscription] = {}  # of the inputs that read from Kafka
        self._late: set[str] = set()  # folders of side tables
        self._queries: dict[str, Any] = {}
        self._leases = Leases(SessionLeasing(spark), self._lease_lost)
        self._stopping, self._stopped = threading.RLock(), False
        hang_after_ms = duration_ms("hang_after", hang_after)
        self.journal_path: Path | None = None
        if self.order.gated:
            self._open(slots, journal)
            self._batches = LongBatches(spark, self._supervision.status, self._post, self._note, hang_after_ms)
            self._supervisor = Supervisor(self._post, self._batches)
        else:
            self._supervisor = Supervisor(lambda message: None, lambda watched: None)

    def _open(self, slots: int | Literal["auto"], journal: str | Path | None) -> None:
        named = f"{self.spark.sparkContext.applicationId}.db"
        self.journal_path = Path(journal) if journal is not None else state_folder() / named
        self._journal = Journal(self.journal_path)
        clock = SystemClock()
        self._gate = Gate(self._post, self._asked, self._line_ended, clock.now)
        self._learning = ThreadPoolExecutor(1, thread_name_prefix="headway-learning")
        gauge = DriverGauge(self.spark)
        self.controller = Controller(
            clock, self.order, LeasedGate(self._gate, self._leases), self._journal, gauge,
            slots=slots, cores=gauge.parallelism() or CORES, one_task=one_task(self.spark, usual(self.spark)),
            planning_cores=gauge.planning_cores,
            aside=self._learn,
        )  # fmt: skip
        self._supervision = Supervision(self.controller, self._gate, RoundRobin())
        self._supervision.start()
        self._by_jar = jvm.present(self.spark)
        self._control = control_rows(self.spark, self._gate, self._by_jar)
        self._starting = Starting(self._gate, self._leases, self._queries, nameless=not self._by_jar)
        self._watch = Watch(self.spark, self._post)
        self._reports = BatchReports(self._post, self._committed)

    # ---- what users call

    watermark = watermark  # an input
    _watermarked = watermarked

    def late_rows(self, folder: str) -> DataFrame:
        """The side table that `late` named: who refused which row when, and by which watermark; `row` is JSON."""
        return late_.read(self.spark, folder)

    status = status  # of the runtime and its queries
    late_counts = late_counts
    await_termination = await_termination
    drain = drain  # one query
    stop = stop  # all of them
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
        table: str | None = None,
        group: str | None = None,
        restart: int = 0,
    ) -> Any:
        """Start a query, instead of `writer.start()`; with `table`, instead of `writer.toTable(table)`.

        Returns Spark's StreamingQuery.
        Windows are found in the query's plan; state them with `windows` if they are not (see `headway.window`), or a pace
        with `every` for a query that has none. `group` names a Kafka consumer group that is told after each batch how far
        the query has read, for tools that watch lag; Spark itself goes by its checkpoint. A trigger that the writer has is
        kept: see `docs/control-channel.md`. With `restart`, a query that fails is started again up to so many times, after
        1, 2, 4 ... at most 60 seconds; ten minutes without a failure, and it has all of them again.
        `spark.streams.get(query.id)` is the run that is current.
        """
        name = name or option_of(writer, "queryName")
        if not name:
            raise SettingError("name", name, "a name for the query: rt.start(writer, name=...)")
        self._supervisor.look()  # a run that died is told of before the next begins: else that would be taken for dead
        if self._supervisor.alive(name):
            raise SettingError("name", name, "a name that no running query of this runtime has")
        if checkpoint is not None:
            writer = writer.option("checkpointLocation", checkpoint)
        if table is not None and not (isinstance(table, str) and table.strip()):
            raise SettingError("table", table, "the name of a table, such as 'sales.per_minute'")
        writer = writer.queryName(name)
        check_restart(self.spark, writer, restart)
        if not self.order.gated:
            return self._looked_after(name, lambda: self._start_gateless(writer, name, table), restart)
        writer, trigger = taken_over(writer, name, can_end=CAN_END or self._by_jar)
        seen = inspect(writer._df)
        if not seen.inputs:
            raise HeadwayError(f"query {name!r} has no watermark of Headway's: wrap an input in rt.watermark(...) first")
        self._reports.groups.pop(name, None)
        if group is not None:
            if not any(i in self._logs for i in seen.inputs):
                raise SettingError("group", group, "a query with an input that subscribes to Kafka topics")
            self._reports.groups[name] = group
        mode = output_mode(writer)
        if sampled := [i for i in seen.inputs if self._inputs[i].sampling is not None]:
            if len(sampled) > 1:
                raise HeadwayError(f"query {name!r} has {len(sampled)} inputs of rt.approximate: one of them may be sampled")
            refuse_unbounded(writer._df, name)
            if mode not in (None, "Append"):
                raise SettingError("outputMode", mode.lower(), "append: a sample is complete when its window ends")
        spec = spec_of(self._inputs, name, seen, windows, every, trigger, mode in ("Update", "Complete"))
        profile = max((self._profiles[i] for i in seen.inputs), key=lambda p: p.rows)
        return self._looked_after(name, lambda: self._start_gated(writer, spec, profile, table), restart)

    def use(self, order: OrderPolicy, *, slots: int | Literal["auto"] | None = None) -> None:
        """Go on with another gated policy, or another number of slots; the queries notice nothing but their turn."""
        if not (self.order.gated and order.gated):
            raise HeadwayError("only gated policies can be exchanged while queries run: start a new Runtime instead")
        if slots is not None:
            _check_slots(slots)
        self.order = order
        self.controller.post(Use(order, slots))

    def __enter__(self) -> "Runtime":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # ---- how it is done

    def _looked_after(self, name: str, begin: Callable[[], Any], restart: int) -> Any:
        """A query that is begun, and begun the same way again if it fails."""
        query = begin()
        self._supervisor.watch(name, query, begin if restart else None, restart)
        return query

    def _start_gated(self, writer: Any, spec: QuerySpec, profile: Profile, table: str | None) -> Any:
        own_work(writer, profile)
        query = self._starting.start(writer, spec, self._prepared, lambda: _begun(writer, profile, table))
        LOG.info("query %r: %s", spec.name, profile.says(partitions(writer._df.sparkSession, profile)))
        return query

    def _start_gateless(self, writer: Any, name: str, table: str | None) -> Any:
        if isinstance(self.order, FixedTrigger):
            writer = writer.trigger(processingTime=f"{self.order.every_ms} milliseconds")
        context = self.spark.sparkContext
        context.setLocalProperty("spark.scheduler.pool", name if getattr(self.order, "pools", False) else None)
        try:
            query = _begun(writer, usual(self.spark), table)  # settings for all policies: else a comparison would be of them
        finally:
            context.setLocalProperty("spark.scheduler.pool", None)
        self._queries[name] = query
        return query

    def _prepared(self, spec: QuerySpec, checkpoint: str | None) -> QuerySpec:
        """With what was told of sampled inputs before a restart."""
        if all(i.sampling is None for i in spec.inputs):
            return spec
        place = None if checkpoint is None else local_path(checkpoint, default_fs(self.spark))
        self._reports.memories[spec.name] = memory = Memory(place)
        return replace(spec, past=memory.past())

    def _line_ended(self, name: str) -> bool:
        """Whether the query has ended with its line; Spark says so a moment later."""
        query = self._queries.get(name)
        with contextlib.suppress(Exception):  # the query's own error is the user's to see, through query.exception()
            if query is not None and not query.awaitTermination(2):
                return False
        self._leases.release_ended()
        return True

    def _lease_lost(self, name: str, why: str) -> None:
        """Somebody else runs this query from this checkpoint. It is not started again: it would be refused."""
        error = QueryFailed(f"query {name!r} is stopped: {why}")
        aloud(str(error))
        self._note(name, str(error))
        self._supervisor.let_end(name)
        self._supervisor.ended(name, error)
        self._post(Failed(name, says(error)))
        if (query := self._queries.get(name)) is not None:
            for trouble in stopped({name: query}).values():
                aloud(str(trouble))

    def _learn(self, work: Callable[[], None]) -> None:
        """Beside the controller: it must not wait for a model to be fitted."""
        self._learning.submit(work)

    def _post(self, message: Message) -> None:
        if isinstance(message, Gone):  # its last batch may have ended since it asked
            self._asked(message.query)
        self.controller.post(message)

    def _asked(self, name: str) -> None:
        if (query := self._queries.get(name)) is not None:
            try:
                self._reports.read(name, query)
            except Exception as error:
                self.controller.post(Unreadable(name, says(error)))

    def _committed(self, group: str, source: str, offsets: str) -> None:
        """A query has read so far from what Spark calls `source`."""
        logs = {log.key: log for log in self._logs.values() if log.key.partition("@")[0] == source}  # inputs may share one
        for log in logs.values():
            self._watch.commit(log, group, offsets)

    def _note(self, query: str, text: str) -> None:
        self._journal.note(self.controller.clock.now(), query, text)


def _begun(writer: Any, profile: Profile, table: str | None) -> Any:
    """The query as Spark starts it, with settings of its own; into the table, which Spark creates if there is none."""
    with settled(writer._df.sparkSession, profile):
        return writer.start() if table is None else writer.toTable(table)


def _check_slots(slots: Any) -> None:
    if slots != "auto" and (not isinstance(slots, int) or isinstance(slots, bool) or slots < 1):
        raise SettingError("slots", slots, "'auto' or a number of 1 or more")
