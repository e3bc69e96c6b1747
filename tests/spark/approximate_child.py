"""The process that a test kills: ten batches of a sampled query under a scripted gate, answers written batch by batch."""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import functions as F

import headway as hw
from spark.scripted import Stage, wait_until

STEPS = 10
ROWS = 6_000  # of a window


def rows(step: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(step)
    at = np.sort(rng.uniform(3.0 * step, 3.0 * step + 3, ROWS)).round(6).tolist()
    return [
        {"ts": t, "k": i % 7, "v": v}
        for i, (t, v) in enumerate(zip(at, rng.gamma(4, 2, ROWS).round(6).tolist(), strict=True))
    ]


def main(folder: Path, kill_at: int) -> None:
    out = folder / "out"
    out.mkdir(exist_ok=True)
    spark = hw.session("headway-killed", memory="1g")
    stage = Stage(spark, folder)

    def write(batch: Any, number: int) -> None:
        found = [{"end": r.end, **r.m.asDict()} for r in batch.orderBy("end").collect()]
        (out / (f"{number}-first.json" if number == kill_at else f"{number}.json")).write_text(json.dumps(found))
        if number == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    sampled = stage.rt.approximate(stage.raw("a"), "ts", value="v", name="a", arrival="ts")
    asked = sampled.groupBy(F.window("ts", "3 seconds")).agg(hw.approx.mean("v").alias("m"))
    writer = asked.selectExpr("unix_millis(window.end) as end", "m").writeStream.outputMode("append").foreachBatch(write)
    stage.query = stage.rt.start(writer, name="killed", checkpoint=str(folder / "checkpoint"))
    wait_until(lambda: stage.at_gate, "the first question at the gate", stage.query)
    for step in range(len(list((folder / "a").glob("*.json"))), STEPS):
        stage.put("a", rows(step))
        stage.step(3.0 * step)
    stage.close()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
