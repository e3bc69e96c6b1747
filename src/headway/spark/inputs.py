"""An input under control: `rt.watermark`, instead of `rows.withWatermark`."""

from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

from headway.errors import SettingError
from headway.model.message import InputSpec
from headway.model.sampling import SamplingPolicy
from headway.model.time import duration_or_never_ms
from headway.policy.patience import Fixed, PatiencePolicy
from headway.spark import jvm
from headway.spark import late as late_
from headway.spark.kafka import subscription
from headway.spark.plan import metric_name, time_column
from headway.spark.profile import one_task, profile_of
from headway.spark.sampling import Sample
from headway.spark.watermark import MOST_PARTS, controlled

UNREAD_EVERY = "5 seconds"
HORIZON = "1 day"  # a time zone that was mistaken for another is not a mistake of a row
_NUMBERS = count(1)  # of inputs, over all runtimes: Spark wants the name of what it observes to be unique in a query


def watermark(
    runtime: Any,
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
    broker does. `idle_after` is how long a partition, or the whole input, may be silent before it holds nobody back;
    with "never" rows alone move the watermark, as in stock Spark. Rows stamped further ahead of the clock than `horizon`
    are counted and set aside, unless it is "never".
    Rows without an event time, such as JSON that cannot be parsed, are in no window; they are counted, and written to
    the folder `unread` as Parquet if it is named. Rows that come too late for their windows are counted, and written to
    the folder `late` if it is named: see `late_rows`. `rows_per_batch` says how many rows a usual batch has, if that is
    far from what the session was tuned for: large batches are run by several tasks, with generated code.
    """
    time_column(rows, column)
    policy = Fixed(patience) if isinstance(patience, str | int | float) else patience
    return watermarked(runtime, 
        rows, column, policy, arrival=arrival, partition=partition, parts=parts, name=name, idle_after=idle_after,
        horizon=horizon, unread=unread, late=late, rows_per_batch=rows_per_batch,
    )  # fmt: skip


def watermarked(
    runtime: Any,
    rows: DataFrame,
    column: str,
    policy: PatiencePolicy,
    *,
    arrival: str | None,
    partition: str | None = None,
    parts: int | None = None,
    name: str | None,
    idle_after: str | int,
    horizon: str | int = HORIZON,
    unread: str | None = None,
    late: str | None,
    sampling: SamplingPolicy | None = None,
    sample: Sample | None = None,
    rows_per_batch: int | None = None,
) -> DataFrame:
    profile = profile_of(runtime.spark, rows_per_batch)
    for key, given in (("arrival", arrival), ("partition", partition)):
        if given is not None and given not in rows.columns:
            raise SettingError(f"watermark.{key}", given, f"one of the columns {', '.join(rows.columns)}")
    if arrival is not None and not isinstance(rows.schema[arrival].dataType, TimestampType):
        kind = rows.schema[arrival].dataType.simpleString()
        raise SettingError("watermark.arrival", arrival, f"a timestamp column, but it is of type {kind}: cast it first")
    horizon_ms = duration_or_never_ms("watermark.horizon", horizon)
    if late is not None:
        late = late_.checked(runtime.spark, late)
        runtime._late.add(late)
    if unread is not None:
        _keep_unread(runtime, rows, column, unread)
    label = name or f"input-{next(_NUMBERS)}"
    if not runtime.order.gated:
        marked = rows.withWatermark(column, f"{policy.delay_ms} milliseconds")
        return marked if late is None else marked.where(late_.condition(rows, column, late, label, partition))
    if label in runtime._inputs:
        raise SettingError("watermark.name", label, "a name that no other input of this runtime has")
    log = subscription(rows) if jvm.present(runtime.spark) else None
    if parts is not None and (not isinstance(parts, int) or not 1 <= parts <= MOST_PARTS):
        raise SettingError("watermark.parts", parts, f"a number from 1 to {MOST_PARTS}")
    in_log = None if log is None else runtime._watch.add(log)
    told = parts or in_log
    source = None if log is None else log.key
    runtime._inputs[label] = InputSpec(
        label, policy.delay_ms, duration_or_never_ms("idle_after", idle_after), source=source,
        policy=policy if policy.least_ms < policy.most_ms else None, slt_ms=getattr(policy, "slt_ms", None),
        parts=min(MOST_PARTS, told or 0) if partition else 0, sampling=sampling, arrives=arrival is not None,
    )  # fmt: skip
    runtime._profiles[label] = profile
    if log is not None:
        runtime._logs[label] = log
    most_ms = policy.most_ms if sampling is None else sampling.most_ms
    return controlled(
        rows, runtime._control, column, policy, metric_name(label, most_ms), arrival,
        single=one_task(runtime.spark, profile), partition=partition, parts=min(MOST_PARTS, max(1, told or MOST_PARTS)),
        late=None if late is None else partial(late_.condition, rows, column, late, label, partition), sample=sample,
        horizon_ms=horizon_ms,
    )  # fmt: skip


def _keep_unread(runtime: Any, rows: DataFrame, column: str, folder: str) -> None:
    """A plain query beside the user's: it writes each such row once, and has all the time in the world."""
    lost = rows.where(F.col(column).isNull()).writeStream.format("parquet").trigger(processingTime=UNREAD_EVERY)
    name = f"unread-{next(_NUMBERS)}"
    runtime._queries[name] = query = lost.queryName(name).start(folder, checkpointLocation=str(Path(folder, "_checkpoint")))
    runtime._supervisor.watch(name, query)
