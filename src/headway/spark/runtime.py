"""The runtime: what a user holds. Two calls replace `withWatermark` and `start`.

It has no thoughts of its own. Each call is handed to the part that knows: inputs, the launch and the end of queries, how
they stand, and the plane, which is the controller with its gate and its journal.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal

from pyspark.sql import Column, DataFrame
from pyspark.sql import types as T

from headway.errors import HeadwayError, SettingError
from headway.lease.port import Leasing
from headway.model.deadline import Grid
from headway.model.decision import OrderPolicy
from headway.model.declared import ORDER, checked, order_declares
from headway.model.message import Use
from headway.model.sampling import SamplingPolicy
from headway.model.status import RuntimeStatus
from headway.model.time import duration_ms
from headway.policy.order import Klink
from headway.policy.patience import PatiencePolicy
from headway.policy.sampling import Aion
from headway.spark import ending, standing
from headway.spark import late as late_
from headway.spark.approximate import Bound, approximate
from headway.spark.inputs import HORIZON, Inputs, InputSettings
from headway.spark.late import LateCount
from headway.spark.launch import Launch, Wanted
from headway.spark.lease import Leases, SessionLeasing
from headway.spark.merge import BUCKETS, Merging, merge, patience_of
from headway.spark.merge_order import MergeStep
from headway.spark.plane import Plane
from headway.spark.queries import Queries
from headway.spark.supported import supported


class Runtime(AbstractContextManager["Runtime"]):
    """Puts the streaming queries of one Spark session under one policy."""

    def __init__(
        self,
        spark: Any,
        order: OrderPolicy | None = None,
        *,
        slots: int | Literal["auto"] = "auto",
        journal: str | Path | None = None,
        hang_after: str | int = "2 minutes",
        leasing: Leasing | None = None,
    ) -> None:
        """A batch that runs for longer than `hang_after` is told of, with its stack. `leasing` gives leases on checkpoints;
        unless told, they are locks and files beside them."""
        _check_slots(slots)
        supported(spark)
        self.spark = spark
        self._order: OrderPolicy = Klink() if order is None else order
        checked("order", self._order, ORDER, "an order policy such as headway.order.Klink()")
        declares = order_declares(self._order)
        mode = spark.sparkContext.getConf().get("spark.scheduler.mode", "FIFO")
        if declares.pools and mode != "FAIR":
            raise SettingError("spark.scheduler.mode", mode, "'FAIR', which FairPools needs, when the session is made")
        handles: dict[str, Any] = {}
        leases = Leases(leasing or SessionLeasing(spark), lambda name, why: self._queries.lost(name, why))
        hang_after_ms = duration_ms("hang_after", hang_after)
        self.plane = Plane(spark, self._order, handles, leases, slots, journal) if declares.gated else None
        self.journal_path = None if self.plane is None else self.plane.journal_path
        self._queries = Queries(spark, handles, leases, self.plane, hang_after_ms)
        self.inputs = Inputs(spark, self._queries, self.plane)
        self.launch = Launch(spark, declares, self._queries, self.plane)

    @property
    def order(self) -> OrderPolicy:
        """The policy that decides which query runs next; `use` names another."""
        return self._order

    # ---- inputs. These calls have many settings: each has a name, a default and a line here, where users look for it.

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
        horizon: str | int = HORIZON,
        unread: str | None = None,
        late: str | None = None,
        rows_per_batch: int | None = None,
    ) -> DataFrame:
        """`rows` with a watermark on `column` that Headway moves, instead of `rows.withWatermark(column, ...)`.

        `arrival` names a timestamp column with the time at which a row came in (Kafka's, say); without it the time of
        reading stands for it. `patience` may be given as a bare duration. With `partition`, a column such as Kafka's, the
        slowest partition whose rows still come decides how far the stream has come; `parts` says how many there are where no
        broker does. `idle_after` is how long a partition, or the whole input, may be silent before no window waits for it;
        with "never" rows alone move the watermark, as in stock Spark. Rows stamped further ahead of the clock than `horizon`
        are counted and set aside, unless it is "never".
        Rows without an event time, such as JSON that cannot be parsed, are in no window; they are counted, and written to
        the folder `unread` as Parquet if it is named. Rows that come too late for their windows are counted, and written to
        the folder `late` if it is named: see `late_rows`. `rows_per_batch` says how many rows a usual batch has, if that is
        far from what the session was tuned for: large batches are run by several tasks, with generated code.
        """
        settings = InputSettings(arrival, partition, parts, name, idle_after, horizon, unread, late, rows_per_batch)
        return self.inputs.watermark(rows, column, patience, settings)

    def approximate(
        self,
        rows: DataFrame,
        column: str,
        *,
        error: float = 0.05,
        confidence: float = 0.95,
        value: str | Column | None = None,
        per: str | list[str] | None = None,
        of: str = "mean",
        least: int = 1,
        by: list[str] | None = None,
        sampling: SamplingPolicy | None = None,
        arrival: str | None = None,
        name: str | None = None,
        idle_after: str | int = "10 seconds",
        late: str | None = None,
    ) -> DataFrame:
        """As many of `rows` as windows over them need, to be right within `error`, with a watermark that Headway moves.

        Windows are let go as soon as their sample is there, stragglers or not. What the bound is for is said by `of`: the
        mean, sum, count or quantile of `value`, which is a column or an expression; for a count of some rows it is their
        condition, as 0 and 1. With `per`, columns that the query groups by, each group keeps the bound for itself, and small
        groups are kept whole. Ask with `headway.approx`: each answer then has its own bound. The rows have a column
        `sampling_rate` more, which must be kept up to there. No sample of a window, or of a group of `per`, is smaller than
        `least` rows. `by` names columns that tell rows apart (all, unless told); `sampling` another policy, in place of
        `error`, `confidence`, `of` and `least`.
        """
        policy = Aion(error, confidence, of, least=least) if sampling is None else sampling
        if self.plane is None:
            why = f"{type(self.order).__name__} has no gate"
            raise HeadwayError(f"rt.approximate needs a gated order, such as Klink: {why}")
        settings = InputSettings(arrival, name=name, idle_after=idle_after, late=late)
        return approximate(self.inputs, rows, column, policy, Bound(value, per, by), settings)

    def merge(
        self,
        streams: Sequence[DataFrame],
        *,
        on: str | Sequence[str],
        time: str,
        step: MergeStep,
        output: T.StructType | str,
        slt: str | int | None = None,
        patience: PatiencePolicy | str | int | None = None,
        ties: str | Sequence[str] = (),
        buckets: int = BUCKETS,
        forget_after: str | int | None = None,
        **watermark: Any,
    ) -> DataFrame:
        """The results of `step` over the rows of all streams, key by key and in the order of their time.

        `step(key, rows, state)` returns results, as tuples of the schema `output`, and what it wants to remember of the key,
        None for nothing. `on` names the columns of the key. Rows of one moment go by their stream, then by the columns
        `ties`. `slt` is how far the slowest stream may fall behind the fastest before it is not waited for any more; other
        settings of `rt.watermark`, such as `patience` and `arrival`, may be given too. The state of a key that was silent
        for `forget_after`, in event time, is forgotten. `buckets` is how many parts the keys fall into, at most so many
        tasks.
        """
        wanted = Merging(on, time, step, output, ties, buckets, forget_after)
        return merge(self.inputs, streams, wanted, patience_of(slt, patience), watermark)

    # ---- queries

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
        return self.launch.start(writer, Wanted(name, windows, every, checkpoint, table, group, restart))

    def use(self, order: OrderPolicy, *, slots: int | Literal["auto"] | None = None) -> None:
        """Go on with another gated policy, or another number of slots; queries go on, only their turn changes."""
        checked("order", order, ORDER, "an order policy such as headway.order.Klink()")
        if self.plane is None or not order_declares(order).gated:
            raise HeadwayError("only gated policies can be exchanged while queries run: start a new Runtime instead")
        if slots is not None:
            _check_slots(slots)
        self._order = order
        self.plane.post(Use(order, slots))

    def await_termination(self, timeout_s: float | None = None) -> bool:
        """Wait until all queries have ended: True. False at the timeout. The error of one that has failed is raised,
        whenever it did; one that is to be started again has not. Ctrl-C stops all of them, between two batches."""
        return ending.await_all(self._queries, self.stop, timeout_s)

    def drain(self, name: str, timeout: str | int = "1 minute") -> bool:
        """Stop one query between two batches; its checkpoint is free when this returns. False if its batch did not end in
        time and was broken off, which Spark makes good at the next start."""
        return ending.drain(self._queries, name, duration_ms("timeout", timeout)).clean

    def stop(self, timeout: str | int = "1 minute") -> None:
        """Stop all queries between two batches, then the controller. Nothing is lost: checkpoints stay as they are.

        Batches that run get `timeout` to end; those that do not are named on standard error and broken off. Whatever raises,
        all the rest is stopped, too; then the first error is raised.
        """
        ending.stop(self._queries, duration_ms("timeout", timeout))

    # ---- what is known

    def status(self) -> RuntimeStatus:
        """How the runtime and its queries stand: an immutable value. Any thread may ask, at any time."""
        return standing.status(self._queries, self.order)

    def dashboard(
        self, port: int = 0, *, host: str = "127.0.0.1", token_file: str | None = None, target: str = "1 second"
    ) -> str:
        """The address of pages that show all of this in a browser, served by a process of its own until the runtime stops.

        Beyond loopback a token is needed: the word in `token_file`. A window is overdue that comes out later than `target`
        after it was due."""
        if self.plane is None:
            raise HeadwayError(
                f"rt.dashboard needs a gated order, such as Klink: {type(self.order).__name__} writes no journal"
            )
        options = ["--port", str(port), "--host", host, "--target", target]
        return self.plane.show(self.status, [*options, *(["--token-file", token_file] if token_file is not None else [])])

    def late_rows(self, folder: str) -> DataFrame:
        """The side table that `late` named: which query refused which row when, and by which watermark; `row` is JSON."""
        return late_.read(self.spark, folder)

    def late_counts(self) -> list[LateCount]:
        """How many rows went into no result, by query, input and reason; counted with or without a side table.

        Over all runs of a query in this runtime, also when it has ended or failed. Those that are in no side table either,
        because it could not be written, are counted again as `unkept`.
        """
        folders = () if self._queries.stopped else sorted(self.inputs.late)
        lost = [count for folder in folders for count in late_.unkept(self.spark, folder)]
        return [*(() if self.plane is None else late_.counts(self.plane.status().queries)), *lost]

    def __exit__(self, *_: object) -> None:
        self.stop()


def _check_slots(slots: Any) -> None:
    if slots != "auto" and (not isinstance(slots, int) or isinstance(slots, bool) or slots < 1):
        raise SettingError("slots", slots, "'auto' or a number of 1 or more")
