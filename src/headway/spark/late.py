"""Late rows: how many came from where, and on request the rows themselves, in a side table.

The side table is a condition right above the watermark that every row meets. In each batch's plan the jar puts into it the
watermark by which Spark itself refuses rows in that batch, and how to find a row's windows (`jvm/headway/LateRule.java`).
A row in time costs one comparison. One that is refused is written as a line of JSON, below
`<folder>/query=<name>/batch=<number>/`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headway.errors import SettingError
from headway.model.status import QueryStatus
from headway.spark import jvm

SCHEMA = (
    "source string, partition string, reason string, event_time timestamp, watermark timestamp,"
    " windows int, missed int, row string, query string, batch long"
)
# Spark would cut timestamps to milliseconds, and leave out what is null.
_JSON = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "ignoreNullFields": "false"}


@dataclass(frozen=True, slots=True)
class LateCount:
    """How many rows of one input went into no result, so far, and why."""

    query: str
    source: str
    reason: (
        str  # `late`: windows closed; `timeless`: no event time; `future`: beyond the horizon; `unkept`: in no side table
    )
    rows: int


def counts(queries: Iterable[QueryStatus]) -> list[LateCount]:
    """Rows that went into no result, by query, input and reason; what has not happened is not listed."""
    found = [
        LateCount(query.name, seen.name, reason, rows)
        for query in queries
        for seen in query.inputs
        for reason, rows in (("late", seen.late), ("timeless", seen.timeless), ("future", seen.future))
    ]
    return [count for count in found if count.rows]


def checked(spark: Any, folder: str) -> str:
    """The folder by its full name, or one line that says why no side table can be kept there."""
    if not isinstance(folder, str) or not folder:
        raise SettingError("watermark.late", folder, "the name of a folder")
    if not jvm.present(spark):
        raise SettingError("watermark.late", folder, "a session with Headway's jar: make it with headway.session()")
    if jvm.EXTENSIONS not in spark.sparkContext.getConf().get("spark.sql.extensions", "").split(","):
        raise SettingError("watermark.late", folder, f"a session with {jvm.EXTENSIONS} among spark.sql.extensions")
    late, conf = spark._jvm.headway.Late, spark._jsparkSession.sessionState().newHadoopConf()
    if why := late.refusal(folder, conf):
        raise SettingError("watermark.late", folder, f"a folder that can be written to, but {why}")
    return str(late.qualified(folder, conf))


def condition(
    rows: DataFrame, column: str, folder: str, source: str, partition: str | None = None, future: str | None = None
) -> Column:
    """True for each of `rows`; those that a query above refuses, for all or some of their windows, it writes to `folder`.

    `future` names a column with the true event time of rows that are set aside, because it is beyond the horizon: they are
    written as well.
    """
    time = _named(column) if future is None else F.coalesce(_named(future), _named(column))
    whole = F.to_json(F.struct(*[time.alias(column) if n == column else _named(n) for n in rows.columns]), _JSON)
    part = F.lit(None) if partition is None else _named(partition)
    beyond = F.lit(None).cast("timestamp") if future is None else _named(future)
    arguments = [_named(column), whole, part.cast("string"), beyond]
    java: Any = rows.sparkSession._jvm
    return Column(java.headway.Late.column(folder, source, *[c._jc for c in arguments]))


def read(spark: Any, folder: str) -> DataFrame:
    """A side table: a row each time that a row was refused. `row` is the row itself, as JSON."""
    table: DataFrame = spark.read.schema(SCHEMA).json(folder)
    return table


def unkept(spark: Any, folder: str) -> list[LateCount]:
    """Late rows that could not be written to this folder since this process was started: the disk was full, say."""
    if not jvm.present(spark):
        return []
    java = spark._jvm.headway
    lost = java.LateLoss.unkept(java.Late.qualified(folder, spark._jsparkSession.sessionState().newHadoopConf()))
    return sorted(
        (LateCount(found.query(), found.source(), "unkept", found.rows()) for found in lost),
        key=lambda count: (count.query, count.source),
    )


def _named(name: str) -> Column:
    return F.col("`" + name.replace("`", "``") + "`")
