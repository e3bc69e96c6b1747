"""The two lines that change in a job of your own: `withWatermark` and `start`.

python examples/two_lines.py
"""

import headway as hw

spark = hw.session("two-lines")  # any SparkSession will do
rt = hw.Runtime(spark)

readings = spark.readStream.format("rate").option("rowsPerSecond", "100").load()

# was: marked = readings.withWatermark("timestamp", "2 seconds")
marked = rt.watermark(readings, "timestamp", "2 seconds")

counts = marked.selectExpr("window(timestamp, '3 seconds') as window", "value % 10 as sensor")
writer = counts.groupBy("window", "sensor").count().writeStream.outputMode("append").format("memory")

# was: writer.queryName("sensors").start()
rt.start(writer, name="sensors")

rt.await_termination(timeout_s=20)
rt.stop()
spark.table("sensors").orderBy("window", "sensor").show(truncate=False)
spark.stop()
