"""The tutorial's two queries: sensors counted every three seconds, and every ten by their kind.

headway run examples/tutorial.py --seconds 30
"""

from typing import Any

from pyspark.sql import functions as F

import headway as hw


def readings(rt: hw.Runtime, spark: Any) -> Any:
    """Rows that Spark makes by itself; a job of yours reads Kafka or files here."""
    rows = spark.readStream.format("rate").option("rowsPerSecond", 200).load()
    return rt.watermark(rows, "timestamp", "500 ms")  # in place of rows.withWatermark("timestamp", "500 ms")


@hw.query()
def sensors(rt: hw.Runtime, spark: Any) -> Any:
    counts = readings(rt, spark).groupBy(F.window("timestamp", "3 seconds"), (F.col("value") % 10).alias("sensor")).count()
    return counts.writeStream.outputMode("append").format("memory")


@hw.query()
def kinds(rt: hw.Runtime, spark: Any) -> Any:
    counts = readings(rt, spark).groupBy(F.window("timestamp", "10 seconds"), (F.col("value") % 3).alias("kind")).count()
    return counts.writeStream.outputMode("append").format("memory")
