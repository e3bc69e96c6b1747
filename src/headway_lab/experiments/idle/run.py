"""What queries cost that have nothing to do: processor time while they wait, and the memory of their channels."""

import gc
import shutil
import time
from dataclasses import dataclass
from typing import Any

import psutil

from headway.policy.order import Klink
from headway.sim.delays import Uniform
from headway_lab.harness.bench import Bench, let_pass
from headway_lab.harness.meter import Meter, heap_used
from headway_lab.harness.setting import Say
from headway_lab.workloads.wall_clock import now_ms
from headway_lab.workloads.ysb import Ysb

EXPERIMENT = "idle"


@dataclass(frozen=True, slots=True)
class IdleCost:
    """What was seen of queries that no row ever reaches."""

    queries: int
    cores: float  # busy while they wait, the driver and Python together
    channel_mb: float  # per query: Python, which has the gate, and its processes if there are any
    driver_mb: float  # per query: growth of the driver, most of which Spark needs for any query
    start_s: float  # per query


def idle(bench: Bench, queries: int, settle: float, seconds: float, say: Say) -> IdleCost:
    """Start queries on a stream without rows, let them settle, and watch them wait."""
    from headway.spark.runtime import Runtime
    from headway_lab.workloads.events import events

    spark = bench.session("tuned")
    bench.runs += 1
    folder = f"{bench.folder}/{bench.runs}"
    meter = Meter(psutil.Process(spark._jvm.java.lang.ProcessHandle.current().pid()))
    with Runtime(spark, Klink(), journal=f"{folder}.db") as rt:
        before = _memory(spark, meter)
        began = time.monotonic()
        for i in range(queries):
            now = now_ms()
            stream = Ysb(i, 200, now, Uniform(0, 500))
            rows = events(spark, stream, end_ms=now)
            writer = stream.counts(rt.watermark(rows, "event_time", 500, arrival="arrival")).writeStream.format("memory")
            rt.start(writer, name=f"idle_{bench.runs}_{i}", checkpoint=f"{folder}/{i}")
            say(f"starting {i + 1}/{queries}", 0.0)
        took = time.monotonic() - began
        let_pass("settling", settle, say)
        start, since = meter.read(), time.monotonic()
        let_pass("waiting", seconds, say)
        end, elapsed = meter.read(), time.monotonic() - since
        after = _memory(spark, meter)
    shutil.rmtree(folder, ignore_errors=True)
    busy_ms = end.driver - start.driver + end.python - start.python
    python, driver = ((b - a) / queries / 2**20 for a, b in zip(before, after, strict=True))
    return IdleCost(queries, busy_ms / 1000 / elapsed, python, driver, took / queries)


def _memory(spark: Any, meter: Meter) -> tuple[int, int]:
    """Bytes of Python with all its processes, and of the driver's heap after a collection."""
    gc.collect()
    workers = sum(child.memory_info().rss for child in meter.driver.children(recursive=True))
    return meter.own.memory_info().rss + workers, heap_used(spark)
