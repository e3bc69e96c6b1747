"""Inputs under control: what stands behind `rt.watermark`, and under `rt.approximate` and `rt.merge`."""

from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

from headway.errors import SettingError
from headway.model.declared import PATIENCE, checked, patience_declares
from headway.model.message import InputSpec
from headway.model.sampling import SamplingPolicy
from headway.model.time import duration_or_never_ms
from headway.policy.patience import Fixed, PatiencePolicy
from headway.spark import jvm
from headway.spark import late as late_
from headway.spark.kafka import subscription
from headway.spark.plan import metric_name, time_column
from headway.spark.plane import Input, Plane
from headway.spark.profile import one_task, profile_of
from headway.spark.queries import Queries
from headway.spark.sampling import Sample
from headway.spark.watermark import MOST_PARTS, Marking, controlled

UNREAD_EVERY = "5 seconds"
HORIZON = "1 day"  # a time zone that was mistaken for another is not a mistake of a row
STANDS_MS = 86_400_000  # for which the watermark of a relayed input stands still if the gate is lost
_NUMBERS = count(1)  # of inputs, over all runtimes: Spark wants the name of what it observes to be unique in a query


@dataclass(frozen=True, slots=True)
class InputSettings:
    """What a user may say of an input; `Runtime.watermark` tells what each is for."""

    arrival: str | None = None
    partition: str | None = None
    parts: int | None = None
    name: str | None = None
    idle_after: str | int = "10 seconds"
    horizon: str | int = HORIZON
    unread: str | None = None
    late: str | None = None
    rows_per_batch: int | None = None
    relayed: str | None = None  # the topic in which stages say how far they are; of `headway.Relay`
    stages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SampledInput:
    """What of an input is taken: how much, as this policy says, and which rows."""

    policy: SamplingPolicy
    sample: Sample


class Inputs:
    """Makes the inputs of a runtime: under its gate if it has one, else with Spark's own watermark."""

    def __init__(self, spark: Any, queries: Queries, plane: Plane | None) -> None:
        self.spark, self.plane, self._queries = spark, plane, queries
        self.late: set[str] = set()  # folders of side tables

    def watermark(
        self, rows: DataFrame, column: str, patience: PatiencePolicy | str | int, settings: InputSettings
    ) -> DataFrame:
        """`rows` with a watermark on `column`."""
        time_column(rows, column)
        policy = Fixed(patience) if isinstance(patience, str | int | float) else patience
        checked("patience", policy, PATIENCE, "a duration, or a patience policy such as headway.patience.Quantile(0.99)")
        return self.watermarked(rows, column, policy, settings)

    def watermarked(
        self,
        rows: DataFrame,
        column: str,
        policy: PatiencePolicy,
        settings: InputSettings,
        taken: SampledInput | None = None,
    ) -> DataFrame:
        """The same, with `taken` a part of them."""
        profile = profile_of(self.spark, settings.rows_per_batch)
        _check_columns(rows, settings)
        horizon_ms = duration_or_never_ms("watermark.horizon", settings.horizon)
        late, partition = settings.late, settings.partition
        if late is not None:
            late = late_.checked(self.spark, late)
            self.late.add(late)
        if settings.unread is not None:
            self._keep_unread(rows, column, settings.unread)
        label = settings.name or f"input-{next(_NUMBERS)}"
        plane = self.plane
        if plane is None:
            marked = rows.withWatermark(column, f"{policy.delay_ms} milliseconds")
            return marked if late is None else marked.where(late_.condition(rows, column, late, label, partition))
        parts = self._registered(plane, rows, label, policy, settings, taken)
        most_ms = policy.most_ms if taken is None else taken.policy.most_ms
        if settings.relayed is not None:
            most_ms = STANDS_MS  # without the gate its stages are not heard: then the watermark waits
        how = Marking(
            settings.arrival, one_task(self.spark, profile), partition, min(MOST_PARTS, max(1, parts or MOST_PARTS)),
            late=None if late is None else partial(late_.condition, rows, column, late, label, partition),
            sample=None if taken is None else taken.sample, horizon_ms=horizon_ms,
        )  # fmt: skip
        return controlled(rows, plane.control, column, policy, metric_name(label, most_ms), how)

    def _registered(
        self,
        plane: Plane,
        rows: DataFrame,
        label: str,
        policy: PatiencePolicy,
        settings: InputSettings,
        taken: SampledInput | None,
    ) -> int | None:
        """Have the plane know of an input; how many partitions it has, if the user or a broker says so."""
        if label in plane.inputs:
            raise SettingError("watermark.name", label, "a name that no other input of this runtime has")
        parts = settings.parts
        log = subscription(rows) if jvm.present(self.spark) and settings.relayed is None else None
        if parts is not None and (not isinstance(parts, int) or not 1 <= parts <= MOST_PARTS):
            raise SettingError("watermark.parts", parts, f"a number from 1 to {MOST_PARTS}")
        in_log = None if log is None else plane.watch.add(log)
        told = parts or in_log
        spec = InputSpec(
            label, policy.delay_ms, duration_or_never_ms("idle_after", settings.idle_after),
            source=None if log is None else log.key,
            policy=policy if policy.least_ms < policy.most_ms else None, slt_ms=patience_declares(policy).slt_ms,
            parts=min(MOST_PARTS, told or 0) if settings.partition else 0, sampling=None if taken is None else taken.policy,
            arrives=settings.arrival is not None, relayed=settings.relayed, stages=settings.stages,
        )  # fmt: skip
        plane.inputs[label] = Input(spec, profile_of(self.spark, settings.rows_per_batch), log)
        return told

    def _keep_unread(self, rows: DataFrame, column: str, folder: str) -> None:
        """A plain query beside the user's: it writes each such row once, and has all the time in the world."""
        lost = rows.where(F.col(column).isNull()).writeStream.format("parquet").trigger(processingTime=UNREAD_EVERY)
        name = f"unread-{next(_NUMBERS)}"
        query = lost.queryName(name).start(folder, checkpointLocation=str(Path(folder, "_checkpoint")))
        self._queries.handles[name] = query
        self._queries.supervisor.watch(name, query)


def _check_columns(rows: DataFrame, settings: InputSettings) -> None:
    for key, column in (("arrival", settings.arrival), ("partition", settings.partition)):
        if column is not None and column not in rows.columns:
            raise SettingError(f"watermark.{key}", column, f"one of the columns {', '.join(rows.columns)}")
    arrival = settings.arrival
    if arrival is not None and not isinstance(rows.schema[arrival].dataType, TimestampType):
        kind = rows.schema[arrival].dataType.simpleString()
        raise SettingError("watermark.arrival", arrival, f"a timestamp column, but it is of type {kind}: cast it first")
