"""Putting an input under control: union with the control source, watermark, observation, and the barrier between them.

    control source --+
                     +- union - withWatermark(ts, ten years) - observe - drop control rows - the user's query
    user's source ---+

Spark pushes filters that do not mention the time column below `withWatermark`; a user's own filter, or an IS NOT NULL from
a join, would then remove the control rows, whose other columns are empty, and the watermark would stand still unseen.
Nothing is pushed through `observe`, so it is the barrier as well as the place where rows are counted.
"""

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headway.loop.liveness import LEAD_MS
from headway.loop.sampler import CELL_MS
from headway.model.patience import PatiencePolicy
from headway.spark.control import SHIFT_DAYS
from headway.spark.plan import quoted
from headway.spark.sampling import SAMPLED, Sample

_DAY, _MOMENT = date(1970, 1, 1), datetime(1970, 1, 1)
NEWEST, FASTEST, DELAYS = "newest_", "fastest_", "delays_"  # metrics of one partition
FUTURE = "future"  # metric: rows beyond the horizon
PART_BINS = 16
MOST_PARTS = 16  # frontiers that are kept apart: each costs something for every row


def controlled(
    rows: DataFrame,
    control: DataFrame,
    column: str,
    patience: PatiencePolicy,
    metric: str,
    arrival: str | None = None,
    single: bool = False,
    partition: str | None = None,
    parts: int = 1,
    late: Callable[[str | None], Column] | None = None,
    sample: Sample | None = None,
    horizon_ms: int | None = None,
) -> DataFrame:
    """`rows` with a watermark on `column` that the control source moves, counted under the name `metric`.

    `single` brings all rows of a batch together in one task, which then needs no shuffle to aggregate them. With `partition`
    frontiers are kept apart by that column, in `parts` of them. `late` makes a condition that rows meet anyway (see
    `late.py`). With `sample` a part of the rows goes on, when all are counted (see `sampling.py`). Rows stamped further
    ahead of the batch's own time than `horizon_ms` are counted and set aside.
    """
    mark, at, delay, part, value, group, future = _free_names(
        tuple("__headway" + name for name in ("", "_at", "_delay", "_part", "_value", "_group", "_future")), rows.columns
    )
    own: dict[str, tuple[str, Column]] = {mark: ("boolean", F.lit(True))}
    time = F.col(quoted(column))
    # A batch's time is in Spark's log: after a crash the same rows are set aside again.
    beyond = (
        None if horizon_ms is None else time > F.current_timestamp() + F.expr(f"INTERVAL {horizon_ms / 1000:.3f} SECOND")
    )
    if beyond is not None:
        own[future] = ("timestamp", F.when(beyond, time))
    if sample:
        own |= sample.columns(value, group)
    else:
        moment = F.unix_millis(time)  # Spark would cut a timestamp to seconds
        moment = moment if beyond is None else F.when(~beyond, moment)
        own |= {at: ("long", moment), delay: ("double", (_came(arrival) - moment).cast("double"))}
    if partition:
        own[part] = ("int", _part(rows.schema[partition], parts))
    punctuation = control.select(
        # Every column is an alias: then two inputs can share one control source in a join without a clash.
        *[(F.col("at") if f.name == column else _unknown(_empty(f))).alias(f.name) for f in rows.schema.fields],
        *[F.lit(None).cast(kind).alias(n) for n, (kind, _) in own.items()],
    )
    harmless = time if beyond is None else F.when(beyond, F.lit(_MOMENT).cast("timestamp")).otherwise(time)
    data = rows.select(
        *[harmless.alias(column) if f.name == column else F.col(quoted(f.name)) for f in rows.schema.fields],
        *[made.alias(n) for n, (_, made) in own.items()],
    )
    near = F.lit(True) if beyond is None else F.col(future).isNull()
    if sample:
        metrics = [sample.metric(mark, F.when(near, time), arrival, value, group).alias(SAMPLED)]
    else:
        tails = patience.least_ms < patience.most_ms
        metrics = _metrics(mark, at, delay, patience.least_ms) + _part_metrics(
            at, delay, part, parts if partition else 0, tails
        )
    if beyond is not None:
        metrics.append(F.count(future).alias(FUTURE))
    # First what is kept of late rows: rows beyond the horizon must come by there.
    witness = F.lit(True) if late is None else late(None if beyond is None else future)
    watched = (
        punctuation.union(data)
        .withWatermark(quoted(column), f"{SHIFT_DAYS} days")
        .observe(metric, *metrics)
        .where(F.col(mark).isNotNull() & witness & near)
    )
    if sample:
        watched = sample.taken(watched, column, group)
    watched = watched.drop(*own)
    if single:
        watched = watched.coalesce(1)  # only here: withWatermark forgets how its rows are partitioned
    # Spark keeps the delay in the column's metadata and dropDuplicatesWithinWatermark remembers rows for that long:
    # tell it the user's patience, not our ten years.
    kept = {"spark.watermarkDelayMs": patience.delay_ms}
    return watched.withColumn(column, F.col(quoted(column)).alias(column, metadata=kept))


def _came(arrival: str | None) -> Column:
    """When a row came. The moment of reading stands for it where nobody says: then the wait in the queue is in its delay."""
    now = F.unix_millis(F.current_timestamp())
    if arrival is None:
        return now
    stamped = F.unix_millis(F.col(quoted(arrival)))
    # Kafka says "one millisecond before 1970" of a record without a timestamp.
    return F.when(stamped >= 0, stamped).otherwise(now)


def _metrics(mark: str, at: str, delay: str, least_ms: int) -> list[Column]:
    """One pass of counting before any aggregation.

    It is paid for every row, so it asks for little: control rows are empty in all three columns, which aggregates pass
    over by themselves, and the histogram of delays tells their mean, mean square and minimum as well.
    """
    moment, now = F.col(at), F.unix_millis(F.current_timestamp())
    return [
        F.count(mark).alias("rows"),
        F.count(at).alias("timed"),  # a row that could not be read has no event time, and every window would drop it unseen
        F.max(F.when(moment <= now + LEAD_MS, moment)).alias("newest"),
        F.max(moment).alias("foremost"),
        F.min(moment).alias("oldest"),
        F.histogram_numeric(F.col(delay), F.lit(32)).alias("delays"),
        F.histogram_numeric(F.when(moment < now - least_ms, F.floor(moment / CELL_MS)), F.lit(128)).alias("old"),
    ]


def _part_metrics(at: str, delay: str, part: str, parts: int, tails: bool) -> list[Column]:
    """Two figures for each of the partitions that are told apart, and its delays if patience adapts to them."""
    of = [F.col(part) == k for k in range(parts)]
    moment, now = F.col(at), F.unix_millis(F.current_timestamp())
    return [
        *[F.max(F.when(mine & (moment <= now + LEAD_MS), moment)).alias(f"{NEWEST}{k}") for k, mine in enumerate(of)],
        *[F.min(F.when(mine, F.col(delay))).alias(f"{FASTEST}{k}") for k, mine in enumerate(of)],
        *[
            F.histogram_numeric(F.when(mine, F.col(delay)), F.lit(PART_BINS)).alias(f"{DELAYS}{k}")
            for k, mine in enumerate(of)
            if tails
        ],
    ]


def _part(field: T.StructField, parts: int) -> Column:
    """Which of the partitions a row belongs to; numbers as they are, so that few partitions are kept apart exactly."""
    column = F.col(quoted(field.name))
    number = column if isinstance(field.dataType, T.IntegralType) else F.hash(column)
    return F.pmod(number, F.lit(parts)).cast("int")


def _unknown(value: Column) -> Column:
    """The same value, but the optimizer cannot know it.

    It knew once that in a batch of control rows alone a join's key was null, and looked for null in the static table. That
    found nothing, and a broadcast join with nothing to join with does not even read its stream: the watermark stood still.
    """
    return F.when(F.spark_partition_id() < 0, value).otherwise(value)


def _empty(field: T.StructField) -> Column:
    """What a control row holds in this column: nothing, or where that is forbidden, the plainest value of its type."""
    kind = field.dataType
    if field.nullable:
        return F.lit(None).cast(kind)
    match kind:
        case T.StructType(fields=fields):
            return F.struct(*[_empty(f).alias(f.name) for f in fields])
        case T.ArrayType():
            return F.array().cast(kind)
        case T.MapType():
            return F.create_map().cast(kind)
        case T.StringType() | T.BinaryType():
            return F.lit("").cast(kind)
        case T.BooleanType():
            return F.lit(False)
        case T.TimestampType() | T.TimestampNTZType() | T.DateType():
            # From a literal of the type itself: a cast from text may fail, and is nullable for that.
            return F.lit(_DAY if isinstance(kind, T.DateType) else _MOMENT).cast(kind)
        case T.DecimalType():
            return F.lit(Decimal(0)).cast(kind)
        case T.NumericType():
            return F.lit(0).cast(kind)
        case _:  # a rarer type: the column becomes nullable, its values stay
            return F.lit(None).cast(kind)


def _free_names(wishes: tuple[str, ...], taken: list[str]) -> list[str]:
    """Names that no column has: with as many more underscores as that takes."""
    lower = {name.lower() for name in taken}
    while any(wish in lower for wish in wishes):
        wishes = tuple(wish + "_" for wish in wishes)
    return list(wishes)
