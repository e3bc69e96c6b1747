"""`rt.approximate`: as many rows as an answer needs, and a watermark that waits for no more."""

from typing import Any

from pyspark.sql import Column, DataFrame

from headway.errors import HeadwayError, SettingError
from headway.model.sampling import SamplingPolicy, StreamView
from headway.policy.patience import Fixed
from headway.policy.sampling import Aion
from headway.spark.plan import time_column
from headway.spark.sampling import sample


def approximate(
    runtime: Any,
    rows: DataFrame,
    column: str,
    *,
    error: float = 0.05,
    confidence: float = 0.95,
    value: str | Column | None = None,
    per: str | list[str] | None = None,
    of: str = "mean",
    least: int = 1,
    by: list[str] | None = None,
    sampling: SamplingPolicy | None = None,
    arrival: str | None = None,
    name: str | None = None,
    idle_after: str | int = "10 seconds",
    late: str | None = None,
) -> DataFrame:
    """As many of `rows` as windows over them need, to be right within `error`, with a watermark that Headway moves.

    Windows are let go as soon as their sample is there, stragglers or not. What the bound is for is said by `of`: the
    mean, sum, count or quantile of `value`, which is a column or an expression; for a count of some rows it is their
    condition, as 0 and 1. With `per`, columns that the query groups by, each group keeps the bound for itself, and small
    groups are kept whole. Ask with `headway.approx`: each answer then has its own bound. The rows have a column
    `sampling_rate` more, which must be kept up to there. No sample of a window, or of a group of `per`, is smaller than
    `least` rows. `by` names columns that tell rows apart (all, unless told); `sampling` another policy, in place of
    `error`, `confidence`, `of` and `least`.
    """
    policy = Aion(error, confidence, of, least=least) if sampling is None else sampling
    if not hasattr(policy, "decide") or not hasattr(policy, "confidence"):
        raise SettingError("approximate.sampling", sampling, "a sampling policy such as headway.sampling.Aion()")
    if not runtime.order.gated:
        raise HeadwayError(f"rt.approximate needs a gated order, such as Klink: {type(runtime.order).__name__} has no gate")
    time_column(rows, column)
    taken = sample(rows, value, per, by)
    start = Fixed(policy.decide(StreamView(600, 3_000, 3_000)).wait_ms)
    watermarked: DataFrame = runtime._watermarked(
        rows, column, start, arrival=arrival, name=name, idle_after=idle_after, late=late, sampling=policy, sample=taken
    )
    return watermarked
