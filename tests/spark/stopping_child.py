"""A process that waits for its query, in whose batches it takes its time; Ctrl-C must let the batch finish."""

import sys
import time
from pathlib import Path
from typing import Any

import headway as hw


def task(folder: str) -> None:
    Path(folder, "began").touch()
    time.sleep(4)


def main(folder: Path) -> None:
    def slow(frame: Any, number: int) -> None:
        # Spark's own handler of Ctrl-C would break off this job.
        spark.sparkContext.parallelize([str(folder)]).foreach(task)
        (folder / "ended").touch()

    spark = hw.session("stopping", memory="1g")
    rt = hw.Runtime(spark, journal=folder / "journal.db")
    rows = rt.watermark(spark.readStream.format("rate").load(), "timestamp", "1 second")
    rt.start(rows.writeStream.foreachBatch(slow), name="slow", checkpoint=str(folder / "cp"))
    ended = rt.await_termination()
    print("ended", ended, [q.state for q in rt.status().queries], flush=True)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
