"""Putting an input under control: union with the control source, watermark, observation, and the barrier between them.

    control source --+
                     +- union - withWatermark(ts, ten years) - observe - drop control rows - the user's query
    user's source ---+

Spark pushes filters that do not mention the time column below `withWatermark`; a user's own filter, or an IS NOT NULL from
a join, would then remove the control rows, whose other columns are empty, and the watermark would stand still unseen.
Nothing is pushed through `observe`, so it is the barrier as well as the place where rows are counted.
"""

from datetime import date, datetime
from decimal import Decimal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headway.spark.control import SHIFT_DAYS
from headway.spark.plan import METRICS

_DAY, _MOMENT = date(1970, 1, 1), datetime(1970, 1, 1)
OLD_BUCKET_MS = 100  # late rows are counted to this precision where a watermark falls between two buckets


def controlled(
    rows: DataFrame, control: DataFrame, column: str, patience_ms: int, name: str, arrival: str | None = None
) -> DataFrame:
    """`rows` with a watermark on `column` that the control source moves."""
    mark = _free_name("__headway", rows.columns)
    punctuation = control.select(
        # Every column is an alias: then two inputs can share one control source in a join without a clash.
        *[(F.col("at") if f.name == column else _empty(f)).alias(f.name) for f in rows.schema.fields],
        F.lit(True).alias(mark),
    )
    watched = (
        punctuation.union(rows.select("*", F.lit(False).alias(mark)))
        .withWatermark(_quoted(column), f"{SHIFT_DAYS} days")
        .observe(METRICS + name, *_metrics(_quoted(column), mark, patience_ms, arrival and _quoted(arrival)))
        .where(~F.col(mark))
        .drop(mark)
    )
    # Spark keeps the delay in the column's metadata and dropDuplicatesWithinWatermark remembers rows for that long:
    # tell it the user's patience, not our ten years.
    return watched.withColumn(column, F.col(_quoted(column)).alias(column, metadata={"spark.watermarkDelayMs": patience_ms}))


def _metrics(column: str, mark: str, patience_ms: int, arrival: str | None) -> list[Column]:
    """One pass of counting before any aggregation. Timestamps as milliseconds: Spark would cut them to seconds."""
    data = ~F.col(mark)
    at = F.unix_millis(F.col(column))
    # Without an arrival column the moment of reading stands for it: that is the delay plus the wait in the queue.
    came = F.unix_millis(F.col(arrival)) if arrival else F.unix_millis(F.current_timestamp())
    delay = F.when(data, came - at)
    oldish = data & (F.col(column) < F.current_timestamp() - F.expr(f"interval '{patience_ms / 1000:.3f}' second"))
    wide = delay.cast("double")
    return [
        F.count(F.when(data, 1)).alias("rows"),
        F.max(F.when(data & (F.col(column) <= F.current_timestamp() + F.expr("interval 1 hour")), at)).alias("newest"),
        F.min(F.when(data, at)).alias("oldest"),
        F.max(F.when(~data, at)).alias("announced"),
        F.sum(delay).alias("delay_sum"),
        F.sum(wide * wide).alias("delay_square_sum"),
        F.min(delay).alias("delay_min"),
        F.histogram_numeric(wide, F.lit(32)).alias("delays"),
        F.histogram_numeric(F.when(oldish, F.floor(at / OLD_BUCKET_MS)), F.lit(128)).alias("old"),
    ]


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


def _free_name(wish: str, taken: list[str]) -> str:
    lower = {name.lower() for name in taken}
    while wish.lower() in lower:
        wish += "_"
    return wish


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
