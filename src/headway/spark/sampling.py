"""Taking a part of a stream's rows: which part, is said by each batch's control offset (`jvm/headway/Sampling.java`).

    observed rows (all) - sampling_rate - where hash(row) < sampling_rate - the user's query

Whether a row is taken is decided by a hash of it, so a batch that is run again takes the same rows. What is counted of
sub-streams is counted before, of all rows; and whatever costs much comes after.
"""

from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headway.errors import HeadwayError, SettingError
from headway.loop.liveness import LEAD_MS
from headway.loop.sampler import CELL_MS
from headway.spark import jvm
from headway.spark.plan import METRICS, hashable, quoted
from headway.spark.tally import TALLY, Tally

RATE = "sampling_rate"


@dataclass(frozen=True)
class Sample:
    """What is sampled by what."""

    value: Column  # a number
    group: Column | None  # a long
    by: tuple[str, ...]  # columns that tell rows apart
    made: bool = True  # a user expression: valid on user rows only, never on control rows

    def columns(self, value: str, group: str) -> dict[str, tuple[str, Column]]:
        """What rows need to have for this, by name: its type and itself."""
        values = {value: ("double", self.value)} if self.made else {}
        return values | ({} if self.group is None else {group: ("long", self.group)})

    def metrics(self, tally: Tally) -> list[Column]:
        """What a batch tells of its rows, sub-streams and groups."""
        key = F.lit(None).cast("long") if self.group is None else F.col(tally.names.group)
        value = F.col(tally.names.value) if self.made else self.value
        context = _jvm()
        arguments = context.PythonUtils.toSeq([column._jc for column in (*tally.asked(), value, key)])
        return [Column(context.headway.SubStreams.column(arguments, LEAD_MS, CELL_MS)).alias(TALLY)]

    def taken(self, rows: DataFrame, column: str, group: str) -> DataFrame:
        """Those of `rows` that are in the sample, each with the probability it had to be."""
        ours = _jvm().headway.Sampling
        moment = F.unix_millis(F.col(quoted(column)))._jc
        key = (F.lit(0).cast("long") if self.group is None else F.col(group))._jc
        dice = F.xxhash64(F.lit("headway"), *[F.col(quoted(name)) for name in self.by])._jc
        return rows.where(Column(ours.isTaken(moment, key, dice))).withColumn(RATE, Column(ours.rateOf(moment, key)))


def sample(rows: DataFrame, value: Any, per: str | list[str] | None, by: list[str] | None) -> Sample:
    """Refuses, in one line, what cannot be sampled so."""
    spark = rows.sparkSession
    extensions = spark.sparkContext.getConf().get("spark.sql.extensions", "").split(",")
    if not jvm.present(spark) or jvm.EXTENSIONS not in extensions:
        raise HeadwayError("rt.approximate needs a session with Headway's jar: make it with headway.session()")
    if RATE in map(str.lower, rows.columns):
        raise SettingError("approximate", RATE, "rows without a column of that name: it says how much was taken")
    names = rows.columns
    groups = [per] if isinstance(per, str) else list(per or ())
    for key, wanted in (("per", groups), ("by", list(by or ())), ("value", [value] if isinstance(value, str) else [])):
        for name in wanted:
            if name not in names:
                raise SettingError(f"approximate.{key}", name, f"one of the columns {', '.join(names)}")
    if isinstance(value, str) and not isinstance(rows.schema[value].dataType, T.NumericType | T.BooleanType):
        kind = rows.schema[value].dataType.simpleString()
        raise SettingError("approximate.value", value, f"a column of numbers, but it is of type {kind}")
    hashed = [f.name for f in rows.schema.fields if hashable(f.dataType)]
    return Sample(
        _number(rows, value),
        F.xxhash64(*[F.col(quoted(name)) for name in groups]) if groups else None,
        tuple(by or hashed),
        made=value is not None and not isinstance(value, str),
    )


def _number(rows: DataFrame, value: Any) -> Column:
    if value is None:
        return F.lit(1.0)
    if not isinstance(value, str):
        number: Column = value.cast("double")
        return number
    column = F.col(quoted(value))
    plain = isinstance(rows.schema[value].dataType, T.IntegralType | T.FloatType | T.DoubleType)
    return column if plain else column.cast("double")


def refuse_unbounded(frame: Any, name: str) -> None:
    """A plain aggregate of a sample is an answer without a bound, or simply wrong: say what there is instead."""
    for found in _aggregates(frame._jdf.queryExecution().analyzed()):
        if not any(attribute.name() == RATE for attribute in _items(found.references().toSeq())):
            raise HeadwayError(
                f"query {name!r} asks a sample for {found.aggregateFunction().sql()}: approximate answers are"
                " headway.approx.mean, sum, count and quantile, and collect for code of your own; for anything else use"
                " rt.watermark"
            )


def _aggregates(plan: Any) -> list[Any]:
    """The aggregate functions of a plan that are above a sample."""
    found = [a for child in _items(plan.children()) for a in _aggregates(child)]
    if plan.getClass().getSimpleName() == "Aggregate" and f"CollectMetrics {METRICS}" in plan.toString():
        found += [a for e in _items(plan.aggregateExpressions()) for a in _within(e)]
    return found


def _within(expression: Any) -> list[Any]:
    if expression.getClass().getSimpleName() == "AggregateExpression":
        return [expression]
    return [found for child in _items(expression.children()) for found in _within(child)]


def _items(seq: Any) -> list[Any]:
    return [seq.apply(i) for i in range(seq.size())]


def _jvm() -> Any:
    from pyspark import SparkContext

    context: Any = SparkContext._active_spark_context
    return context._jvm
