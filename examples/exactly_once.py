"""Views per campaign from a Kafka topic, written to another topic and to a table that no crash can make count twice.

    headway kafka up
    headway kafka replay ysb --seconds 300 --partitions 2 --delay uniform:0:500 &
    headway run examples/exactly_once.py --kafka --seconds 60
    headway kafka down

Spark runs a batch again if it crashed before the batch was committed. It is then the same batch: same number, same rows. A
sink is exact if writing that number twice is the same as writing it once. Spark's own Kafka sink is not (its readers must
expect a row twice); the table below is, because the rows of a batch and its number go into it in one transaction.
"""

import os
import sqlite3
from pathlib import Path
from typing import Any

import headway as hw

BROKER = os.environ.get("KAFKA", "127.0.0.1:9092")
TOPIC = os.environ.get("TOPIC", "ysb")
TABLE = Path(os.environ.get("TABLE", "views.db"))
SCHEMA = "event_ms bigint, ad_id string, event_type string"


def views(rt: hw.Runtime, spark: Any) -> Any:
    """Views per ad in windows of three seconds."""
    options = {"kafka.bootstrap.servers": BROKER, "subscribe": TOPIC, "startingOffsets": "earliest"}
    records = spark.readStream.format("kafka").options(**options).load()
    # `inline` parses each row once, however many of its fields are used below.
    rows = records.selectExpr("timestamp", "partition", f"inline(array(from_json(cast(value as string), '{SCHEMA}')))")
    events = rows.selectExpr("timestamp_millis(event_ms) as event_time", "*")
    # A partition that falls silent is waited for, but for no longer than five seconds.
    marked = rt.watermark(events, "event_time", "600 ms", arrival="timestamp", partition="partition", idle_after="5 seconds")
    kept = marked.where("event_type = 'view'").selectExpr("window(event_time, '3 seconds') as window", "ad_id")
    return kept.groupBy("window", "ad_id").count()


@hw.query(group="headway-example", checkpoint=f"{TABLE}.to-table")
def to_table(rt: hw.Runtime, spark: Any) -> Any:
    return views(rt, spark).writeStream.outputMode("append").foreachBatch(write)


@hw.query(checkpoint=f"{TABLE}.to-topic")
def to_topic(rt: hw.Runtime, spark: Any) -> Any:
    rows = views(rt, spark).selectExpr("ad_id as key", "to_json(struct(window.end, count)) as value")
    return rows.writeStream.outputMode("append").format("kafka").options(
        **{"kafka.bootstrap.servers": BROKER, "topic": f"{TOPIC}-views"}
    )  # fmt: skip


def write(batch: Any, number: int) -> None:
    """All of a batch and its number, or nothing; a batch that is there already is passed over."""
    rows = batch.selectExpr("unix_millis(window.end)", "ad_id", "count").collect()
    with sqlite3.connect(TABLE) as table:  # commits at the end, takes everything back at an error
        table.execute("create table if not exists views (window_end integer, ad text, count integer)")
        table.execute("create table if not exists batches (number integer primary key)")
        if table.execute("select 1 from batches where number = ?", (number,)).fetchone():
            return
        table.executemany("insert into views values (?, ?, ?)", rows)
        table.execute("insert into batches values (?)", (number,))
