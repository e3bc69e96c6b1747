"""What the stages of a geo pipeline do to rows, as Spark does it. Each works on streams and on tables alike.

Between stages a row has the columns that are grouped by, its time `at`, and the figures of the aggregate: of a single row,
or of a part of a window, which has the window's last microsecond as its time. Both are put together in the same way.
"""

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headway.model.piece import Piece
from headway.spark.plan import quoted
from headway.wan.job import AT, GeoJob
from headway.wan.plan.query import FilterRows, TopRows, WindowAggregate

AGGREGATES = ("partial", "combine")


def parsed(records: DataFrame, job: GeoJob) -> DataFrame:
    """The rows in the records of a source's topic."""
    fields = F.from_json(F.col("value").cast("string"), job.schema)
    rows = records.select(F.inline(F.array(fields)), F.col("timestamp").alias("headway_arrival"))
    return rows.withColumn(AT, F.expr(job.time).cast("timestamp"))


def narrowed(rows: DataFrame, job: GeoJob) -> DataFrame:
    """What the query's steps leave, and of that what an aggregate needs."""
    for step in job.ordered.steps:
        rows = rows.where(step.where) if isinstance(step, FilterRows) else rows.selectExpr(*step.select, AT)
    last = job.aggregate
    if last is None:
        return rows.drop("headway_arrival")
    return rows.select(*map(quoted, last.by), AT, *(F.expr(value.row).alias(value.name) for value in last.values))


def merged(rows: DataFrame, last: WindowAggregate) -> DataFrame:
    """Groups of tumbling windows; the same again on its own results changes nothing."""
    merge = {"sum": F.sum, "min": F.min, "max": F.max}
    window = F.window(AT, f"{last.window_ms} milliseconds")
    grouped = rows.groupBy(window, *map(quoted, last.by))
    parts = grouped.agg(*(merge[value.merge](quoted(value.name)).alias(value.name) for value in last.values))
    return parts.select(*map(quoted, last.by), F.window_time("window").alias(AT), *(quoted(v.name) for v in last.values))


def best(rows: DataFrame, last: WindowAggregate, top: TopRows) -> DataFrame:
    """Of each window the greatest groups; ties go by the other columns, so that the answer is always the same."""
    others = [name for name in last.by if name not in top.per] + [v.name for v in last.values if v.name != top.by]
    ordered = F.struct((-F.col(quoted(top.by))).alias("headway_rank"), *map(quoted, others), quoted(top.by))
    window = F.window(AT, f"{last.window_ms} milliseconds")
    groups = rows.groupBy(window, *map(quoted, top.per)).agg(F.collect_list(ordered).alias("found"))
    kept = F.slice(F.sort_array("found"), 1, top.most)
    rows_of_each = groups.select(*map(quoted, top.per), F.window_time("window").alias(AT), F.inline(kept))
    return rows_of_each.drop("headway_rank")


def delivered(rows: DataFrame, last: WindowAggregate | None) -> DataFrame:
    """As the sink sees results: of a window, with its beginning and its end."""
    if last is None:
        return rows
    window = F.window(AT, f"{last.window_ms} milliseconds")
    columns = [quoted(name) for name in rows.columns if name != AT]
    ends = (window.getField("start").alias("window_start"), window.getField("end").alias("window_end"))
    return rows.select(AT, *columns).select(*ends, *columns)


def between(spark: Any, job: GeoJob) -> T.StructType:
    """The columns that rows have on their way between pieces."""
    schema = T.StructType.fromDDL("value string, timestamp timestamp")
    shape = narrowed(parsed(spark.createDataFrame([], schema), job), job)
    return (shape if job.aggregate is None else merged(shape, job.aggregate)).schema  # a sum is wider than what it adds


def transformed(rows: DataFrame, job: GeoJob, piece: Piece) -> DataFrame:
    """Everything that the stages of a piece do to rows that come from elsewhere."""
    plan = job.plan(piece.plan)
    for name in piece.stages:
        stage = plan.stage(name)
        if stage.kind in AGGREGATES:
            assert job.aggregate is not None
            rows = merged(rows, job.aggregate)
        elif stage.kind == "sink" and job.aggregate is not None and job.aggregate.top is not None:
            rows = best(rows, job.aggregate, job.aggregate.top)
    return rows
