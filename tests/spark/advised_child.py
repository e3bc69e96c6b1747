"""A job of somebody's, with stock Spark alone, one line of ours, and an event log: EVENTS_FOLDER, ROWS_FOLDER."""

import sys
from datetime import datetime, timedelta
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import headway as hw

if __name__ == "__main__":
    events, rows = sys.argv[1], Path(sys.argv[2])
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.dir", events)
        .config("spark.sql.shuffle.partitions", "6")
        .getOrCreate()
    )
    (rows / "in").mkdir()
    seen = spark.readStream.schema("at timestamp, campaign string").json(str(rows / "in"))
    counts = seen.withWatermark("at", "2 seconds").groupBy(F.window("at", "10 seconds"), "campaign").count()
    query = (
        counts.writeStream.format("memory").queryName("clicks").trigger(processingTime="50 milliseconds")
        .option("checkpointLocation", str(rows / "checkpoint")).start()
    )  # fmt: skip
    for batch in range(14):
        if batch == 10:  # it has run for a while when somebody asks: what Spark has kept is read, and what is still to come
            advising = hw.advise(spark, "5 seconds", out=rows / "advice.html")
        at = datetime(2026, 1, 1) + timedelta(seconds=4 * batch)
        (rows / "next").write_text(f'{{"at": "{at.isoformat()}", "campaign": "a"}}\n' * 3)
        (rows / "next").rename(rows / "in" / f"{batch}.json")
        query.processAllAvailable()
    print(advising.advice().text())
    facts = advising.advice().job.queries[0].plan
    print("FACTS", facts.deadlines, facts.delay_ms, facts.trigger_ms)
    advising.wait()  # it tells by itself
    query.stop()
    spark.stop()
