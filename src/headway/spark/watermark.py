"""Putting an input under control: union with the control source, watermark, observation, and the barrier between them.

    control source --+
                     +- union - withWatermark(ts, ten years) - observe - drop control rows - the user's query
    user's source ---+

Spark pushes filters that do not mention the time column below `withWatermark`; a user's own filter, or an IS NOT NULL from
a join, would then remove the control rows, whose other columns are empty, and the watermark would stand still unseen.
Nothing is pushed through `observe`, so it is the barrier as well as the place where rows are counted.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
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


@dataclass(frozen=True, slots=True)
class Marking:
    """How an input is put under control."""

    arrival: str | None = None  # the column that says when a row came in
    single: bool = False  # all rows of a batch in one task, which then needs no shuffle to aggregate them
    partition: str | None = None  # frontiers are kept apart by this column,
    parts: int = 1  # in so many of them
    late: Callable[[str | None], Column] | None = None  # makes a condition that rows meet anyway (see `late.py`)
    sample: Sample | None = None  # a part of the rows goes on, when all are counted (see `sampling.py`)
    horizon_ms: int | None = None  # rows stamped further ahead of the batch's own time are counted and set aside


def controlled(
    rows: DataFrame, control: DataFrame, column: str, patience: PatiencePolicy, metric: str, how: Marking
) -> DataFrame:
    """`rows` with a watermark on `column` that the control source moves, counted under the name `metric`."""
    names = Names(*_free_names(tuple(f"__headway_{field.name}" for field in fields(Names)), rows.columns))
    time = F.col(quoted(column))
    # A batch's time is in Spark's log: after a crash the same rows are set aside again. As numbers: Spark would add an
    # interval to the same moment again for every row.
    now = F.unix_micros(F.current_timestamp())
    beyond = None if how.horizon_ms is None else F.unix_micros(time) > now + min(how.horizon_ms, _EVER_MS) * 1000
    tails = patience.least_ms < patience.most_ms
    tally = Tally(names, column, how.arrival, beyond, patience.least_ms, how.parts if how.partition else 0, tails)
    own = _own(rows, how, tally, None if beyond is None else _if(beyond, time, F.lit(None).cast("timestamp")))
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
    # First what is kept of late rows: rows beyond the horizon must come by there.
    witness = F.lit(True) if how.late is None else how.late(None if beyond is None else names.future)
    watched = (
        punctuation.union(data)
        .withWatermark(quoted(column), f"{SHIFT_DAYS} days")
        .observe(metric, *_metrics(rows, how, tally))
        .where(F.col(names.mark).isNotNull() & witness & near)
    )
    if how.sample:
        watched = how.sample.taken(watched, column, names.group)
    watched = watched.drop(*own)
    if how.single:
        watched = watched.coalesce(1)  # only here: withWatermark forgets how its rows are partitioned
    # Spark keeps the delay in the column's metadata and dropDuplicatesWithinWatermark remembers rows for that long:
    # tell it the user's patience, not our ten years.
    kept = {"spark.watermarkDelayMs": patience.delay_ms}
    return watched.withColumn(column, F.col(quoted(column)).alias(column, metadata=kept))


def _own(rows: DataFrame, how: Marking, tally: Tally, future: Column | None) -> dict[str, tuple[str, Column]]:
    """The columns that are ours while rows are counted, by name: type and value. `future` is a time beyond the horizon."""
    names = tally.names
    own: dict[str, tuple[str, Column]] = {names.mark: ("boolean", F.lit(True))}
    if future is not None:
        own[names.future] = ("timestamp", future)
    if how.sample:
        own |= how.sample.columns(names.value, names.group)
    elif not jvm.present(rows.sparkSession):
        own |= tally.columns()
    if how.partition:
        own[names.part] = ("int", _part(rows.schema[how.partition], how.parts))
    return own


def _metrics(rows: DataFrame, how: Marking, tally: Tally) -> list[Column]:
    """What a batch tells of its rows: in one pass where the session has our jar."""
    if how.sample:
        return how.sample.metrics(tally)
    session = rows.sparkSession
    return tally.in_one_pass(session._jvm) if jvm.present(session) else tally.by_aggregates()


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
    """What a control row holds in this column: null, or where that is not allowed, a zero or an empty value of its type."""
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
