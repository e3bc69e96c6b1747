"""A driver with two queries from one Delta table into two others, killed when it is told to: `delta_child.py FOLDER TOLD`.

`append` writes through Delta's own sink, `each` from foreachBatch under a transaction identifier. TOLD is JSON: `death` is
the batch of `each` in which the whole driver is killed, and whether `before` or `after` Delta's commit; `conf` is for the
session, and `restart` for both queries.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import functions as F

import headway as hw

SECONDS, FILES = 5, 6  # a file of the table has so many seconds of rows, one row a second
EPOCH = 1_767_225_600


def filled(spark: Any, place: Path) -> None:
    for n in range(FILES):
        ids = spark.range(n * SECONDS, (n + 1) * SECONDS, numPartitions=1)
        rows = ids.selectExpr(f"timestamp_seconds({EPOCH} + id) as ts", "id % 2 as k")
        rows.write.format("delta").mode("append").save(str(place))


def transactions(place: Path) -> list[int]:
    """The batches that Delta's own log says are in a table."""
    lines = [json.loads(line) for file in (place / "_delta_log").glob("*.json") for line in file.read_text().splitlines()]
    return sorted(line["txn"]["version"] for line in lines if "txn" in line)


def dies(spark: Any, folder: Path, number: int) -> None:
    while not transactions(folder / "append"):  # it is killed in mid-run, too
        time.sleep(0.05)
    (folder / "died").write_text(str(number))
    os.kill(spark._jvm.java.lang.ProcessHandle.current().pid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def writing(spark: Any, folder: Path, death: tuple[int, str] | None) -> Callable[[Any, int], None]:
    def write(batch: Any, number: int) -> None:
        if death == (number, "before"):
            dies(spark, folder, number)
        once = {"txnAppId": "delta-child", "txnVersion": str(number)}
        batch.write.format("delta").mode("append").options(**once).save(str(folder / "each"))
        if death == (number, "after"):
            dies(spark, folder, number)

    return write


def main(folder: Path, death: list[Any] | None = None, conf: dict[str, Any] | None = None, restart: int = 0) -> None:
    spark = hw.session("delta-child", memory="1g", delta=True, **(conf or {}))
    if not (folder / "in").exists():
        filled(spark, folder / "in")
    with hw.Runtime(spark, journal=folder / "journal.db") as rt:
        rows = spark.readStream.format("delta").option("maxFilesPerTrigger", "1").load(str(folder / "in"))
        for name in ("append", "each"):
            windows = rt.watermark(rows, "ts", "500 ms").groupBy(F.window("ts", "3 seconds"), "k").count()
            counts = windows.selectExpr(f"unix_seconds(window.end) - {EPOCH} as e", "k", "count as n")
            writer = counts.writeStream.trigger(availableNow=True)
            if name == "append":
                writer = writer.format("delta").option("path", str(folder / name))
            else:
                writer = writer.foreachBatch(writing(spark, folder, None if death is None else (death[0], death[1])))
            rt.start(writer, name=name, checkpoint=str(folder / f"{name}.checkpoint"), restart=restart)
        rt.await_termination()
        told: dict[str, Any] = {"restarts": {q.name: q.restarts for q in rt.status().queries}}
    for name in ("append", "each"):
        told[name] = sorted(map(tuple, spark.read.format("delta").load(str(folder / name)).collect()))
    told["extensions"] = spark.conf.get("spark.sql.extensions").split(",")
    (folder / "told.json").write_text(json.dumps(told))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), **json.loads(sys.argv[2]))
