"""The Yahoo workload's events as a live stream."""

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headway_lab import jvm
from headway_lab.workloads import clock


def events(spark: SparkSession, work: Any, end_ms: int | None = None, boot_ms: int | None = None) -> DataFrame:
    """The events of `work` (a `headway_lab.workloads.ysb.Ysb`) from its epoch on, as they arrive; with `end_ms`, until then.

    With `boot_ms`, the wall time at which the monotonic clock stood at zero, they come as from another machine, by
    whose clock they arrive: they stay as they are if the clock of this one is set. That needs the jar.

    With the laboratory's jar they come from a source of their own, as a user's would from Kafka. Without it, SQL makes them
    out of intervals of time: the same events, but a batch then pays for planning that too.
    """
    if not jvm.present(spark):
        made: DataFrame = work.expand(clock.intervals(spark, work.epoch_ms, end_ms))
        return made
    limits = {"end": end_ms, "boot": boot_ms}
    options = work.options() | {name: str(ms) for name, ms in limits.items() if ms is not None}
    return spark.readStream.format(jvm.EVENTS).options(**options).load()
