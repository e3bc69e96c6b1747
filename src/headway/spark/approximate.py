"""A part of an input: as many rows as an answer needs, and a watermark that waits for no more."""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame

from headway.model.declared import SAMPLING, checked
from headway.model.sampling import SamplingPolicy, StreamView
from headway.policy.patience import Fixed
from headway.spark.inputs import Inputs, InputSettings, SampledInput
from headway.spark.plan import time_column
from headway.spark.sampling import sample


@dataclass(frozen=True, slots=True)
class Bound:
    """What the bound is for: `Runtime.approximate` tells what each is."""

    value: str | Column | None = None
    per: str | list[str] | None = None
    by: list[str] | None = None


def approximate(
    inputs: Inputs, rows: DataFrame, column: str, policy: SamplingPolicy, bound: Bound, settings: InputSettings
) -> DataFrame:
    """As many of `rows` as `policy` says, with a watermark on `column`."""
    checked("approximate.sampling", policy, SAMPLING, "a sampling policy such as headway.sampling.Aion()")
    time_column(rows, column)
    taken = SampledInput(policy, sample(rows, bound.value, bound.per, bound.by))
    start = Fixed(policy.decide(StreamView(600, 3_000, 3_000)).wait_ms)
    return inputs.watermarked(rows, column, start, settings, taken)
