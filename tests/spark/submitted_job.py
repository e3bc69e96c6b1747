"""The README's lines as a job for `spark-submit`: files in, windows out."""

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import headway as hw
from headway.spark import jvm

folder = Path(sys.argv[1])
builder = SparkSession.builder
spark = (builder if "untuned" in sys.argv else hw.tune(builder)).getOrCreate()
rt = hw.Runtime(spark, journal=folder / "journal.db")
events = spark.readStream.schema("ts timestamp, k int").json(str(folder / "rows"))
clicks = rt.watermark(events, "ts", "500 ms")
counts = clicks.groupBy(F.window("ts", "3 seconds"), "k").count()
writer = counts.selectExpr("unix_millis(window.end) as e", "k", "count").writeStream.format("json")
writer = writer.option("path", str(folder / "out")).trigger(availableNow=True)
rt.start(writer, name="submitted", checkpoint=str(folder / "checkpoint"))
rt.await_termination()
cores = rt.controller.slots.cores
rt.stop()
keys = ("spark.sql.extensions", "spark.sql.shuffle.partitions", "spark.jars")
told = {key: spark.sparkContext.getConf().get(key, "") for key in keys} | {"jar": jvm.present(spark), "cores": cores}
(folder / "told.json").write_text(json.dumps(told))
