"""Two queries from one Delta table into two others, killed once: `delta_child.py FOLDER`.

One appends through Delta's own streaming sink, one writes from foreachBatch under a transaction identifier. In its first run
the whole driver is killed when both have written batches and the second has not committed its last one to Spark's log.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import functions as F

import headway as hw

SECONDS, FILES, KILL_IN = 5, 6, 2  # a file of the table has so many seconds of rows, one row a second
EPOCH = 1_767_225_600


def filled(spark: Any, place: str) -> None:
    for n in range(FILES):
        rows = spark.range(n * SECONDS, (n + 1) * SECONDS)
        rows.selectExpr(f"timestamp_seconds({EPOCH} + id) as ts", "id % 2 as k").coalesce(1).write.format("delta").mode(
            "append"
        ).save(place)


def transactions(place: Path) -> list[int]:
    """The batches that Delta's own log says are in a table."""
    lines = [json.loads(line) for file in (place / "_delta_log").glob("*.json") for line in file.read_text().splitlines()]
    return sorted(line["txn"]["version"] for line in lines if "txn" in line)


def main(folder: Path) -> None:
    spark = hw.session("delta-child", memory="1g", delta=True)
    killed = folder / "killed"
    if not killed.exists():
        filled(spark, str(folder / "in"))

    def write(batch: Any, number: int) -> None:
        options = {"txnAppId": "delta-child", "txnVersion": str(number)}
        batch.write.format("delta").mode("append").options(**options).save(str(folder / "each"))
        if number >= KILL_IN and not killed.exists():
            while not transactions(folder / "append"):
                time.sleep(0.05)
            killed.write_text(str(number))
            os.kill(spark._jvm.java.lang.ProcessHandle.current().pid(), signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)

    with hw.Runtime(spark, journal=folder / "journal.db") as rt:
        rows = spark.readStream.format("delta").option("maxFilesPerTrigger", "1").load(str(folder / "in"))
        for name in ("append", "each"):
            marked = rt.watermark(rows, "ts", "500 ms").groupBy(F.window("ts", "3 seconds"), "k").count()
            counts = marked.selectExpr(f"unix_seconds(window.end) - {EPOCH} as e", "k", "count as n")
            writer = counts.writeStream.trigger(availableNow=True)
            into = str(folder / name)
            writer = writer.format("delta").option("path", into) if name == "append" else writer.foreachBatch(write)
            rt.start(writer, name=name, checkpoint=str(folder / f"{name}.checkpoint"))
        rt.await_termination()
    tables = {name: spark.read.format("delta").load(str(folder / name)) for name in ("append", "each")}
    told: dict[str, Any] = {name: sorted(map(tuple, table.collect())) for name, table in tables.items()}
    told["extensions"] = spark.conf.get("spark.sql.extensions").split(",")
    (folder / "told.json").write_text(json.dumps(told))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
