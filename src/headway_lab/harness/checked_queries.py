"""Yahoo queries under Headway that write into files, so that every count can be checked after whatever was done to them."""

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from headway.sim.delays import Uniform
from headway_lab.harness.file_sink import batch_writer
from headway_lab.workloads.ysb import Ysb

PATIENCE_MS = 500
WINDOW_MS = 3_000


def checked_streams(experiment: str, seed: int, epoch_ms: int, queries: int, rate: int) -> dict[str, Ysb]:
    """By the name of their query. No row is delayed for longer than `PATIENCE_MS`; windows end at random moments."""
    chance = random.Random(seed)
    return {
        f"{experiment}_{i}": Ysb(
            seed * 1000 + i, rate, epoch_ms, Uniform(0, PATIENCE_MS), WINDOW_MS, offset_ms=chance.randrange(WINDOW_MS)
        )
        for i in range(queries)
    }


def start_checked(rt: Any, spark: Any, streams: Mapping[str, Ysb], work: Path, **settings: Any) -> None:
    """Start a query for each stream; `settings` are those of `rt.start`."""
    from headway_lab.workloads.events import events

    for name, stream in streams.items():
        marked = rt.watermark(events(spark, stream), "event_time", PATIENCE_MS, arrival="arrival")
        start_counting(rt, stream, marked, name, work, **settings)


def start_counting(
    rt: Any, stream: Ysb, marked: Any, name: str, work: Path, before: Callable[[], None] = lambda: None, **settings: Any
) -> None:
    """Start the query that counts views in these rows; its sink calls `before` at the begin of each batch."""
    counts = stream.counts(marked).selectExpr("unix_millis(window.end) as end", "campaign_id", "count")
    writer = counts.writeStream.outputMode("append").foreachBatch(batch_writer(work / "out" / name, before))
    rt.start(writer, name=name, checkpoint=str(work / "checkpoints" / name), **settings)
