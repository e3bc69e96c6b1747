"""A driver on a cluster: five queries over files, into files; it says how it stands until it is told to stop."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import headway as hw

SCHEMA = "ts timestamp, k int, id int, kind string, pad int"
# A row takes its time, so that there is a task to be killed: a batch of a hundred rows a second or so.
SLOW = "java_method('java.lang.Thread', 'sleep', cast(pad as bigint)) is null or true"


def put(path: Path, text: str) -> None:
    part = path.with_suffix(".part")
    part.write_text(text)
    part.rename(path)


def into(folder: Path) -> Callable[[DataFrame, int], None]:
    """A batch that runs again writes its file again."""
    folder.mkdir(parents=True, exist_ok=True)

    def write(batch: DataFrame, number: int) -> None:
        put(folder / f"{number}.json", json.dumps([list(row) for row in batch.collect()]))

    return write


def last(key: str, rows: list[Any], seen: int | None) -> tuple[list[tuple[str, int, int]], int]:
    """How many rows of a key came before each."""
    before = seen or 0
    return [(key, row.id, before + n) for n, row in enumerate(rows)], before + len(rows)


def queries(rt: hw.Runtime, folder: Path) -> dict[str, DataFrame]:
    spark = rt.spark

    def rows(kind: str | None = None) -> DataFrame:
        found: DataFrame = spark.readStream.schema(SCHEMA).json(str(folder / "rows"))
        return found if kind is None else found.where(F.col("kind") == kind)

    slow = rt.watermark(rows().where(F.expr(SLOW)), "ts", "1 second", late=str(folder / "late"))
    brief = slow.groupBy(F.window("ts", "3 seconds"), "k").count()
    sliding = rt.watermark(rows(), "ts", "1 second").groupBy(F.window("ts", "10 seconds", "5 seconds"), "k").count()
    long = rt.watermark(rows(), "ts", "1 second").groupBy(F.window("ts", "10 seconds")).count()
    left = rt.watermark(rows("left"), "ts", "1 second").select("id", F.col("ts").alias("at"))
    right = rt.watermark(rows("right"), "ts", "1 second").select(F.col("id").alias("of"), "ts")
    joined = left.join(right, F.expr("id = of and ts >= at and ts <= at + interval 2 seconds")).select("id", "of")
    merged = rt.merge([rows().select("ts", "kind", "id")], on="kind", time="ts", patience="1 second", ties="id",
                      step=last, output="kind string, id int, before long")  # fmt: skip
    end = "unix_millis(window.end) as e"
    return {
        "brief": brief.selectExpr(end, "k", "count"),
        "sliding": sliding.selectExpr(end, "k", "count"),
        "long": long.selectExpr(end, "count"),
        "joined": joined,
        "merged": merged,
    }


def main(master: str, folder: Path, conf: dict[str, str]) -> None:
    builder = hw.tune(SparkSession.builder.master(master).appName("cluster"))
    for key, value in conf.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    with hw.Runtime(spark) as rt:
        for name, rows in queries(rt, folder).items():
            writer = rows.writeStream.foreachBatch(into(folder / "out" / name))
            rt.start(writer, name=name, checkpoint=str(folder / "checkpoints" / name))
        tracker = spark.sparkContext.statusTracker()
        while not (folder / "stop").exists():
            tasks = [info.numActiveTasks for s in tracker.getActiveStageIds() if (info := tracker.getStageInfo(s))]
            status = rt.status()
            standing = {
                "cores": rt.status().cores,
                "slots": status.slots,
                "tasks": sum(tasks),
                "queries": {q.name: [q.state, q.error] for q in status.queries},
                "unkept": sum(c.rows for c in rt.late_counts() if c.reason == "unkept"),
                "journal": str(rt.journal_path),
            }
            put(folder / "standing.json", json.dumps(standing))
            time.sleep(0.1)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3]))
