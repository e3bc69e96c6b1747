"""From one Delta table into another: readings per sensor and window.

    python examples/delta.py

Delta Lake is fetched by its coordinates. It was tried on Spark 4.2; none is released for 4.3, where one line says so.
"""

import sys
import tempfile
from pathlib import Path

import headway as hw

folder = Path(tempfile.mkdtemp(prefix="headway-delta-"))
try:
    spark = hw.session("delta", delta=True, spark__sql__warehouse__dir=str(folder / "warehouse"))
except hw.HeadwayError as error:
    print(error, file=sys.stderr)
    sys.exit(2)

# Another team's job, as it stands: it fills the first table.
rate = spark.readStream.format("rate").option("rowsPerSecond", "20").load()
filling = rate.selectExpr("timestamp as at", "value % 4 as sensor").writeStream.format("delta")
feed = filling.option("checkpointLocation", str(folder / "feed")).toTable("readings")

rt = hw.Runtime(spark)
readings = rt.watermark(spark.readStream.table("readings"), "at", "2 seconds")
windows = readings.selectExpr("window(at, '3 seconds') as window", "sensor").groupBy("window", "sensor").count()
writer = windows.selectExpr("window.end as until", "sensor", "count").writeStream.format("delta")

# was: writer.queryName("sensors").option("checkpointLocation", ...).toTable("sensors")
rt.start(writer, name="sensors", table="sensors", checkpoint=str(folder / "sensors"))

rt.await_termination(timeout_s=40)
rt.stop()
feed.stop()
spark.table("sensors").orderBy("until", "sensor").show(truncate=False)
spark.stop()
