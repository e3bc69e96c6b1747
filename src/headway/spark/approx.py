"""Answers from a sample, each with its bound: aggregates for windows over `rt.approximate`.

    rows.groupBy(F.window("event_time", "3 seconds")).agg(hw.approx.mean("distance").alias("distance"))

Each is a struct: `estimate`, `lower` and `upper`; `sample`, the rows that it rests upon; `seen`, the share of the window
that had come in; and `sound`, which is false where the normal curve cannot be trusted, because rows are few or the tail is
long: the bound is then Chebyshev's, which holds for any. The arithmetic is in `jvm/headway/Answer.java`: as expressions it
would make plans of a hundred thousand letters, and Spark plans every batch anew.
"""

from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from headway.errors import SettingError
from headway.spark.sampling import RATE, _jvm

PERCENT = [p / 100 for p in range(101)]


def mean(column: str | Column) -> Column:
    """The mean of a column's values in a window."""
    return _answer("mean", _column(column))


def sum(column: str | Column) -> Column:
    """The sum of a column's values in a window, with rows that were left out and stragglers."""
    return _answer("total", _column(column))


def count(column: str | Column | None = None) -> Column:
    """The number of rows in a window, or of those with a value in this column."""
    return _answer("number", F.lit(1) if column is None else F.when(_column(column).isNotNull(), F.lit(1)))


def quantile(column: str | Column, share: float) -> Column:
    """The value that this share of a window's values does not exceed; its bounds are those of its rank."""
    if not isinstance(share, int | float) or not 0 < share < 1:
        raise SettingError("approx.quantile", share, "a share between 0 and 1, e.g. 0.5 for the median")
    y = _column(column).cast("double")
    u = F.when(y.isNotNull(), 1 / F.col(RATE))
    at = F.percentile(y, [*PERCENT, float(share)], F.round(1000 * u).cast("long"))
    none = F.array().cast("array<double>")
    arguments = [F.lit(float(share)), F.count(u), F.coalesce(F.sum(u), F.lit(0.0)), F.coalesce(at, none)]
    return Column(_jvm().headway.Sampling.quantileOf(*[c._jc for c in arguments]))


def collect(*columns: str) -> Column:
    """The rows of a window's sample as they are, for a function of one's own in `mapInPandas`.

    Not an answer but a struct of `rows`, a list with these columns and `sampling_rate`, and `seen`: each row stands for
    1 / (sampling_rate seen) rows of the window.
    """
    rows = F.collect_list(F.struct(*dict.fromkeys((*columns, RATE))))
    return F.struct(rows.alias("rows"), Column(_jvm().headway.Sampling.shareSeen(rows._jc)).alias("seen"))


def _answer(kind: str, column: Column) -> Column:
    y = column.cast("double")
    u = F.when(y.isNotNull(), 1 / F.col(RATE))  # a row without a value is none
    sums = [F.count(u), *[F.coalesce(F.sum(product), F.lit(0.0)) for product in _products(u, y)]]
    context: Any = _jvm()
    arguments = context.PythonUtils.toSeq([c._jc for c in sums])
    return Column(context.headway.Sampling.answer(kind, arguments))


def _products(u: Column, y: Column) -> list[Column]:
    """In the order of `Answer`."""
    return [u, u * u, u * y, u * y * y, u * y * y * y, u * u * y, u * u * y * y]


def _column(column: str | Column) -> Column:
    return F.col(column) if isinstance(column, str) else column
