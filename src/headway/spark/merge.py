"""The ordered merge: the rows of several streams, key by key and in the order of their time, for code that needs the order.

    streams - union - watermark that Headway moves - bucket of the key --+
                                                                         +- union - one state per bucket - results
    control source - a tick for each bucket ----------------------------+

A row is ready when the watermark has passed it. Spark drops rows below the watermark before any operator that uses event
time; the merge wants them, flagged. So the column that Spark is told to look at is a constant that is never late, and the
time of a row travels as a plain number.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.streaming.state import GroupStateTimeout

from headway.errors import SettingError
from headway.model.time import duration_ms
from headway.policy.patience import Fixed, PatiencePolicy, SlackGate
from headway.spark.inputs import Inputs, InputSettings
from headway.spark.merge_order import AT, BUCKET, EXTRA, HASH, NEVER, NULL, SOURCE, TICK, Column, MergeLayout, MergeStep
from headway.spark.merge_state import STATE, Merger
from headway.spark.plan import hashable, quoted, time_column
from headway.spark.profile import one_task, profile_of
from headway.spark.register import ship
from headway.spark.watermark import MOST_PARTS

BUCKETS = 16
_FAR = "timestamp'2200-01-01'"
_KEYS = (T.StringType, T.IntegralType, T.BooleanType, T.DateType, T.TimestampType, T.DecimalType, T.BinaryType)
_TIES = (T.StringType, T.NumericType, T.BooleanType, T.DateType, T.TimestampType)


@dataclass(frozen=True, slots=True)
class Merging:
    """What is merged by what; `Runtime.merge` tells what each is for."""

    on: str | Sequence[str]
    time: str
    step: MergeStep
    output: T.StructType | str
    ties: str | Sequence[str] = ()
    buckets: int = BUCKETS
    forget_after: str | int | None = None


def merge(
    inputs: Inputs, streams: Sequence[DataFrame], wanted: Merging, policy: PatiencePolicy, watermark: Mapping[str, Any]
) -> DataFrame:
    """The results of `wanted.step` over the rows of all streams; `watermark` has other settings of `rt.watermark`."""
    rows, layout, schema = _laid_out(inputs.spark, streams, wanted)
    if "late" in watermark:
        raise SettingError("merge.late", watermark["late"], "nothing: a merge delivers late rows to `step`, with a flag")
    # Frontiers are kept apart by stream: the slowest of them that still speaks decides what is ready.
    apart: dict[str, Any] = {"partition": SOURCE, "parts": min(len(streams), MOST_PARTS)} if len(streams) > 1 else {}
    settings = InputSettings(**apart, **watermark)
    sent = _sent(inputs.watermark(rows, wanted.time, policy, settings), layout, wanted.time)
    if inputs.plane is not None:
        # Without these a bucket would learn of the watermark with its first row, and could not tell that it is late.
        sent = sent.unionByName(_ticks(inputs.plane.control, sent.schema, wanted.buckets))
        if one_task(inputs.spark, profile_of(inputs.spark, settings.rows_per_batch)):
            sent = sent.coalesce(1)
    never = F.expr(_FAR).alias(NEVER, metadata={"spark.watermarkDelayMs": policy.delay_ms})
    ship(inputs.spark.sparkContext)
    times = frozenset(f.name for f in schema.fields if isinstance(f.dataType, T.TimestampType | T.TimestampNTZType))
    merger = Merger(layout, wanted.step, tuple(schema.names), times)
    found: DataFrame = (
        sent.select("*", never)
        .groupBy(BUCKET)
        .applyInPandasWithState(merger, schema, STATE, "append", GroupStateTimeout.EventTimeTimeout)
    )
    return found


def _laid_out(spark: Any, streams: Sequence[DataFrame], wanted: Merging) -> tuple[DataFrame, MergeLayout, T.StructType]:
    """All rows as one stream, how they are laid out for the workers, and what comes back; refuses what cannot be."""
    if not callable(wanted.step):
        raise SettingError(
            "merge.step", wanted.step, "a function step(key, rows, state) that returns results and the next state"
        )
    buckets, on = wanted.buckets, wanted.on
    if not isinstance(buckets, int) or isinstance(buckets, bool) or buckets < 1:
        raise SettingError("merge.buckets", buckets, "a number of 1 or more")
    after = wanted.forget_after
    forget_us = None if after is None else duration_ms("merge.forget_after", after) * 1000
    rows = _together(streams, wanted.time)
    keys = _named("merge.on", on, rows, _KEYS)
    for number, stream in enumerate(streams):
        if lacking := set(keys) - set(stream.columns):
            raise SettingError(
                "merge.on", min(lacking), f"a column of every stream, but stream {number} has none of that name"
            )
    layout = MergeLayout(
        tuple(_column(f) for f in rows.drop(SOURCE).schema.fields),
        on=keys, ties=_named("merge.ties", wanted.ties, rows, _TIES, least=0),
        one_key=isinstance(on, str), buckets=buckets, zone=str(spark.conf.get("spark.sql.session.timeZone")),
        forget_us=forget_us,
    )  # fmt: skip
    return rows, layout, _output(wanted.output)


def patience_of(slt: str | int | None, patience: PatiencePolicy | str | int | None) -> PatiencePolicy:
    """How far the slowest stream may be behind, or how long stragglers are waited for: one of the two."""
    if slt is None:
        return Fixed(patience or 0) if patience is None or isinstance(patience, str | int | float) else patience
    if patience is not None:
        raise SettingError("merge.patience", patience, "either patience or slt, not both")
    return SlackGate(duration_ms("merge.slt", slt))


def _together(streams: Sequence[DataFrame], time: str) -> DataFrame:
    """All streams as one, each row with the number of its stream; a column that a stream lacks is null in its rows."""
    if isinstance(streams, DataFrame) or not streams:
        raise SettingError("merge.streams", streams, "a list of one or more streaming DataFrames")
    types: dict[str, tuple[int, str]] = {}
    for number, stream in enumerate(streams):
        time_column(stream, time)
        for field in stream.schema.fields:
            if field.name in EXTRA or field.name.startswith("__"):
                raise SettingError(
                    "merge.streams", field.name, f"a column named otherwise: {', '.join(EXTRA)} and __* are ours"
                )
            first, kind = types.setdefault(field.name, (number, field.dataType.simpleString()))
            if kind != (other := field.dataType.simpleString()):
                want = f"one type, but it is {kind} in stream {first} and {other} in stream {number}: cast it"
                raise SettingError("merge.streams", field.name, want)
    numbered = [stream.withColumn(SOURCE, F.lit(number)) for number, stream in enumerate(streams)]
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), numbered)


def _sent(rows: DataFrame, layout: MergeLayout, time: str) -> DataFrame:
    """What goes to the workers: each row's bucket and place in the order, and its columns in a form that loses nothing."""
    place = [
        F.unix_micros(quoted(time)).alias(AT),
        F.col(SOURCE),
        # The last resort between equal rows: whatever the order in which they came, they go out in the same.
        F.xxhash64(*[quoted(f.name) for f in rows.schema.fields if hashable(f.dataType)]).alias(HASH),
        F.pmod(F.xxhash64(*map(quoted, layout.on)), F.lit(layout.buckets)).cast("int").alias(BUCKET),
    ]
    masks = [F.col(quoted(c.name)).isNull().alias(NULL + c.name) for c in layout.columns if c.masked]
    return rows.where(F.col(quoted(time)).isNotNull()).select(*place, *map(_value, layout.columns), *masks)


def _ticks(control: DataFrame, schema: T.StructType, buckets: int) -> DataFrame:
    """A row for each bucket whenever a watermark is announced. Its numbers are zeros: a null would make floats of all."""
    empty = [
        F.lit(0 if isinstance(f.dataType, T.NumericType | T.BooleanType) else None).cast(f.dataType).alias(f.name)
        for f in schema.fields
        if f.name not in (BUCKET, SOURCE)
    ]
    every = F.explode(F.sequence(F.lit(0), F.lit(buckets - 1))).alias(BUCKET)
    return control.select(every, F.lit(TICK).alias(SOURCE), *empty)


def _value(column: Column) -> SparkColumn:
    found = F.col(quoted(column.name))
    if column.kind == "time":
        found = F.unix_micros(found)
    if column.masked:
        found = F.coalesce(found, F.lit(0).cast("long" if column.kind == "time" else column.type))
    return found.alias(column.name)


def _column(field: T.StructField) -> Column:
    match field.dataType:
        case T.TimestampType():
            kind = "time"
        case T.IntegralType() | T.BooleanType() | T.FloatType() | T.DoubleType():
            kind = "number"
        case _:
            kind = "object"
    return Column(field.name, kind, field.nullable, field.dataType.simpleString())


def _named(
    key: str, columns: str | Sequence[str], rows: DataFrame, kinds: tuple[type, ...], least: int = 1
) -> tuple[str, ...]:
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    there = [n for n in rows.columns if n != SOURCE]
    if len(names) < least:
        raise SettingError(key, columns, f"one or more of the columns {', '.join(there)}")
    for name in names:
        if name not in there:
            raise SettingError(key, name, f"one of the columns {', '.join(there)}")
        if not isinstance(kind := rows.schema[name].dataType, kinds):
            raise SettingError(key, name, f"a column of a plain type, but it is {kind.simpleString()}")
    return names


def _output(output: T.StructType | str) -> T.StructType:
    want = "a schema such as 'area string, at timestamp, speed double'"
    try:
        schema = T.StructType.fromDDL(output) if isinstance(output, str) else output
    except Exception as error:  # Spark's own is a page long
        raise SettingError("merge.output", output, want) from error
    if not isinstance(schema, T.StructType):
        raise SettingError("merge.output", output, want)
    return schema
