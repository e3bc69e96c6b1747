"""Putting an input under control: union with the control source, watermark, observation, and the barrier between them.

    control source --+
                     +- union - withWatermark(ts, ten years) - observe - drop control rows - the user's query
    user's source ---+

Spark pushes filters that do not mention the time column below `withWatermark`; a user's own filter, or an IS NOT NULL from
a join, would then remove the control rows, whose other columns are empty, and the watermark would stand still unseen.
Nothing is pushed through `observe`, so it is the barrier as well as the place where rows are counted.
"""

from collections.abc import Callable
from dataclasses import fields
from datetime import date, datetime
from decimal import Decimal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headway.model.patience import PatiencePolicy
from headway.spark import jvm
from headway.spark.channel.control import SHIFT_DAYS
from headway.spark.plan import quoted
from headway.spark.sampling import Sample
from headway.spark.tally import Names, Tally

_DAY, _MOMENT = date(1970, 1, 1), datetime(1970, 1, 1)
_EVER_MS = 10**14  # longer than any clock: more would not fit a number
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
    names = Names(*_free_names(tuple(f"__headway_{field.name}" for field in fields(Names)), rows.columns))
    own: dict[str, tuple[str, Column]] = {names.mark: ("boolean", F.lit(True))}
    time = F.col(quoted(column))
    # A batch's time is in Spark's log: after a crash the same rows are set aside again. As numbers: Spark would add an
    # interval to the same moment again for every row.
    now = F.unix_micros(F.current_timestamp())
    beyond = None if horizon_ms is None else F.unix_micros(time) > now + min(horizon_ms, _EVER_MS) * 1000
    if beyond is not None:
        own[names.future] = ("timestamp", _if(beyond, time, F.lit(None).cast("timestamp")))
    tails = patience.least_ms < patience.most_ms
    tally = Tally(names, column, arrival, beyond, patience.least_ms, parts if partition else 0, tails)
    in_one_pass = jvm.present(rows.sparkSession)
    if sample:
        own |= sample.columns(names.value, names.group)
    elif not in_one_pass:
        own |= tally.columns()
    if partition:
        own[names.part] = ("int", _part(rows.schema[partition], parts))
    punctuation = control.select(
        # Every column is an alias: then two inputs can share one control source in a join without a clash.
        *[(F.col("at") if f.name == column else _unknown(_empty(f))).alias(f.name) for f in rows.schema.fields],
        *[F.lit(None).cast(kind).alias(n) for n, (kind, _) in own.items()],
    )
    harmless = time if beyond is None else _if(beyond, F.lit(_MOMENT).cast("timestamp"), time)
    data = rows.select(
        *[harmless.alias(column) if f.name == column else F.col(quoted(f.name)) for f in rows.schema.fields],
        *[made.alias(n) for n, (_, made) in own.items()],
    )
    near = F.lit(True) if beyond is None else F.col(names.future).isNull()
    if sample:
        metrics = sample.metrics(tally)
    else:
        metrics = tally.in_one_pass(rows.sparkSession._jvm) if in_one_pass else tally.by_aggregates()
    # First what is kept of late rows: rows beyond the horizon must come by there.
    witness = F.lit(True) if late is None else late(None if beyond is None else names.future)
    watched = (
        punctuation.union(data)
        .withWatermark(quoted(column), f"{SHIFT_DAYS} days")
        .observe(metric, *metrics)
        .where(F.col(names.mark).isNotNull() & witness & near)
    )
    if sample:
        watched = sample.taken(watched, column, names.group)
    watched = watched.drop(*own)
    if single:
        watched = watched.coalesce(1)  # only here: withWatermark forgets how its rows are partitioned
    # Spark keeps the delay in the column's metadata and dropDuplicatesWithinWatermark remembers rows for that long:
    # tell it the user's patience, not our ten years.
    kept = {"spark.watermarkDelayMs": patience.delay_ms}
    return watched.withColumn(column, F.col(quoted(column)).alias(column, metadata=kept))


def _if(condition: Column, then: Column, other: Column) -> Column:
    """As `F.when`, which counts its branches again for every row."""
    return F.call_function("if", condition, then, other)


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
