"""A stream of time intervals: one row per micro-batch, saying when the rows of that batch arrive.

A workload expands `[since, until)` into events inside the JVM, so Python handles one row a batch however high the rate.
Half-open intervals between consecutive offsets partition time: no arrival falls between two batches or into both, and
replaying the offsets of a checkpoint replays the same intervals.

Every query keeps a Python process with this module in it: import nothing here that is not needed to tell the time.
"""

import time
from collections.abc import Iterator

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader
from pyspark.sql.types import StructType

NAME = "headway-clock-python"


class ClockReader(SimpleDataSourceStreamReader):
    """Wall time since `epoch_ms`, cut wherever Spark asks for a batch, and standing still from `end_ms` on."""

    def __init__(self, epoch_ms: int, end_ms: int | None = None) -> None:
        self.epoch_ms, self.end_ms = epoch_ms, end_ms

    def initialOffset(self) -> dict[str, int]:
        return {"ms": self.epoch_ms}

    def read(self, start: dict[str, int]) -> tuple[Iterator[tuple[int, int]], dict[str, int]]:
        now = int(time.time() * 1_000)
        if self.end_ms is not None:
            now = min(now, self.end_ms)
        # The wall clock may be set back, and the epoch may lie ahead; an offset must never decrease.
        end = {"ms": max(now, start["ms"])}
        return self.readBetweenOffsets(start, end), end

    def readBetweenOffsets(self, start: dict[str, int], end: dict[str, int]) -> Iterator[tuple[int, int]]:
        return iter([(start["ms"], end["ms"])] if end["ms"] > start["ms"] else [])


class ClockSource(DataSource):
    """Rows `(since, until)` in milliseconds, from option `epoch` up to option `end`."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return "since long, until long"

    def simpleStreamReader(self, schema: StructType) -> ClockReader:
        end = self.options.get("end")
        return ClockReader(int(self.options["epoch"]), None if end is None else int(end))


def intervals(spark: SparkSession, epoch_ms: int, end_ms: int | None = None) -> DataFrame:
    """The live stream of intervals from `epoch_ms` on; with `end_ms`, time stands still from then on."""
    # Here, not above: the module itself goes to every query's process, by value, and must not need headway there.
    from headway.spark.register import register

    register(spark, ClockSource)
    options = {"epoch": str(epoch_ms)} | ({} if end_ms is None else {"end": str(end_ms)})
    return spark.readStream.format(NAME).options(**options).load()
