"""The Yahoo workload's events as a live stream."""

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headway.spark import clock, jvm


def events(spark: SparkSession, work: Any, end_ms: int | None = None) -> DataFrame:
    """The events of `work` (a `headway.workloads.ysb.Ysb`) from its epoch on, as they arrive; with `end_ms`, until then.

    With Headway's jar they come from a source of their own, as a user's would from Kafka. Without it, SQL makes them out of
    intervals of time: the same events, but a batch then pays for planning that too.
    """
    if not jvm.present(spark):
        made: DataFrame = work.expand(clock.intervals(spark, work.epoch_ms, end_ms))
        return made
    options = work.options() | ({} if end_ms is None else {"end": str(end_ms)})
    return spark.readStream.format(jvm.EVENTS).options(**options).load()
