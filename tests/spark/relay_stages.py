"""A pipeline in two stages: views per advertisement and second, and from these, views per campaign and window."""

from pathlib import Path
from typing import Any

from pyspark.sql import functions as F

import headway as hw
from headway.sim.delays import Uniform
from headway_lab.workloads.sql import entry
from headway_lab.workloads.ysb import Ysb

WINDOW_MS, PATIENCE = 3_000, "800 ms"


def stream(seed: int, epoch_ms: int, rate: int = 100) -> Ysb:
    return Ysb(seed, rate, epoch_ms, Uniform(0, 200), WINDOW_MS)


def relay(address: str, topic: str, **more: Any) -> Any:
    return hw.Relay(address, topic, "ad_id int, at timestamp, views long", time="at", key="ad_id", **more)


def first(rt: hw.Runtime, spark: Any, address: str, source: str, topic: str, folder: Path, **more: Any) -> Any:
    """Views per advertisement and second, to a topic."""
    wanted = {"kafka.bootstrap.servers": address, "subscribe": source, "startingOffsets": "earliest"}
    records = spark.readStream.format("kafka").options(**wanted).load().select("value", "timestamp", "partition")
    events = rt.watermark(Ysb.parsed(records), "event_time", PATIENCE, arrival="timestamp", idle_after="3 seconds")
    views = events.where("event_type = 'view'").selectExpr("window(event_time, '1 second') as window", "int(ad_id) as ad_id")
    counts = views.groupBy("window", "ad_id").count()
    rows = counts.select("ad_id", F.window_time("window").alias("at"), F.col("count").alias("views"))
    name = more.pop("name", "first")
    writer = rows.writeStream.foreachBatch(relay(address, topic).writer(rt))
    return rt.start(writer, name=name, checkpoint=str(folder / name), **more)


def second(rt: hw.Runtime, one: Ysb, address: str, topic: str, folder: Path, name: str = "second", **more: Any) -> Any:
    """Views per campaign and window, of what the first stage has written."""
    rows = relay(address, topic, **more).rows(rt)
    panes = rows.selectExpr(
        f"window(at, '{WINDOW_MS} milliseconds') as window", f"{entry(one.campaign_of, 'ad_id')} as campaign_id", "views"
    )
    counts = panes.groupBy("window", "campaign_id").agg(F.sum("views").alias("count"))
    return rt.start(counts.writeStream.format("memory"), name=name, checkpoint=str(folder / name))
