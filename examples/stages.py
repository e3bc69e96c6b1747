"""Views per advertisement, in two stages that may run on different nodes: the second waits for nothing but the first.

    headway kafka up
    python -c "from headway.kafka import topics; topics.create('127.0.0.1:9092', 'ysb-seconds', 2)"
    headway kafka replay ysb --seconds 300 --partitions 2 --delay uniform:0:500 &
    headway run examples/stages.py --kafka --seconds 90

Submit the file to a fleet, and each stage may be moved on its own: `headway fleet submit examples/stages.py`.
"""

import os
from typing import Any

from pyspark.sql import functions as F

import headway as hw

BROKER, TOPIC = os.environ.get("KAFKA", "127.0.0.1:9092"), os.environ.get("TOPIC", "ysb")
SCHEMA = "event_ms bigint, ad_id string, event_type string"
SECONDS = hw.Relay(BROKER, f"{TOPIC}-seconds", "ad_id string, at timestamp, views long", time="at", key="ad_id")


@hw.query()
def seconds(rt: hw.Runtime, spark: Any) -> Any:
    """Views per ad and second."""
    options = {"kafka.bootstrap.servers": BROKER, "subscribe": TOPIC, "startingOffsets": "earliest"}
    records = spark.readStream.format("kafka").options(**options).load()
    rows = records.selectExpr("timestamp", f"inline(array(from_json(cast(value as string), '{SCHEMA}')))")
    events = rt.watermark(
        rows.selectExpr("timestamp_millis(event_ms) as event_time", "*"), "event_time", "600 ms", arrival="timestamp"
    )
    views = events.where("event_type = 'view'").groupBy(F.window("event_time", "1 second"), "ad_id").count()
    results = views.select("ad_id", F.window_time("window").alias("at"), F.col("count").alias("views"))
    return results.writeStream.foreachBatch(SECONDS.writer(rt))


@hw.query()
def tens(rt: hw.Runtime, spark: Any) -> Any:
    """The busiest ads of ten seconds."""
    sums = SECONDS.rows(rt).groupBy(F.window("at", "10 seconds"), "ad_id").agg(F.sum("views").alias("views"))
    return sums.where("views > 2").writeStream.format("console").option("truncate", "false")
