"""The README's lines as a job for `spark-submit`: files in, windows out; told `delta`, by way of two of its tables."""

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
SCHEMA, ROWS = "ts timestamp, k int", str(folder / "rows")
into_table = "delta" in sys.argv
if into_table:
    spark.read.schema(SCHEMA).json(ROWS).write.format("delta").saveAsTable("arrived")
events = spark.readStream.table("arrived") if into_table else spark.readStream.schema(SCHEMA).json(ROWS)
clicks = rt.watermark(events, "ts", "500 ms")
counts = clicks.groupBy(F.window("ts", "3 seconds"), "k").count()
writer = counts.selectExpr("unix_millis(window.end) as e", "k", "count").writeStream.trigger(availableNow=True)
if into_table:
    rt.start(writer.format("delta"), name="submitted", checkpoint=str(folder / "checkpoint"), table="counted")
else:
    writer = writer.format("json").option("path", str(folder / "out"))
    rt.start(writer, name="submitted", checkpoint=str(folder / "checkpoint"))
rt.await_termination()
if into_table:
    spark.table("counted").write.json(str(folder / "out"))
cores = rt.status().cores
rt.stop()
keys = ("spark.sql.extensions", "spark.sql.shuffle.partitions", "spark.jars")
told = {key: spark.sparkContext.getConf().get(key, "") for key in keys} | {"jar": jvm.present(spark), "cores": cores}
(folder / "told.json").write_text(json.dumps(told))
