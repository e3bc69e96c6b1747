"""A long run in a small driver: minute by minute, what a leak would make grow."""

import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import psutil

from headway.policy.order import Klink
from headway.sim.delays import Uniform
from headway_lab.harness.bench import Bench, let_pass
from headway_lab.harness.meter import heap_used
from headway_lab.harness.setting import Say
from headway_lab.workloads.wall_clock import now_ms
from headway_lab.workloads.ysb import Ysb

EXPERIMENT = "hour"
PATIENCE_MS = 500


@dataclass(frozen=True, slots=True)
class MinuteCounts:
    """What was there at the end of one minute."""

    heap_mb: float  # the driver's, after a collection
    threads: float  # of the driver and of Python
    open_files: float
    journal_mb: float  # with its log beside it
    python_mb: float
    batches: float  # in this minute


GROWS = tuple(f.name for f in fields(MinuteCounts) if f.name != "batches")


def hour(bench: Bench, queries: int, rate: int, window_ms: int, minutes: int, say: Say) -> list[MinuteCounts]:
    """Queries under Klink for so many minutes; at each one's end everything is counted."""
    from headway.spark.runtime import Runtime
    from headway_lab.workloads.events import events

    spark = bench.session("tuned")
    bench.runs += 1
    folder = Path(bench.folder) / str(bench.runs)
    driver, own = psutil.Process(spark._jvm.java.lang.ProcessHandle.current().pid()), psutil.Process()
    found: list[MinuteCounts] = []
    with Runtime(spark, Klink(), journal=f"{folder}.db") as rt:
        for i in range(queries):
            stream = Ysb(i, rate, now_ms(), Uniform(0, PATIENCE_MS), window_ms, i * 97 % window_ms)
            rows = rt.watermark(events(spark, stream), "event_time", PATIENCE_MS, arrival="arrival")
            writer = stream.counts(rows).writeStream.format("noop")
            rt.start(writer, name=f"hour_{bench.runs}_{i}", checkpoint=str(folder / str(i)))
            say(f"starting {i + 1}/{queries}", 0.0)
        before = _batches(rt)
        for minute in range(minutes):
            let_pass(f"minute {minute + 1}/{minutes}", 60, say)
            batches = _batches(rt)
            journal = sum(f.stat().st_size for f in folder.parent.glob(f"{folder.name}.db*"))
            threads, files = (driver.num_threads() + own.num_threads(), driver.num_fds() + own.num_fds())
            sizes = (journal / 2**20, own.memory_info().rss / 2**20)
            found.append(MinuteCounts(heap_used(spark) / 2**20, threads, files, *sizes, batches - before))
            before = batches
        if trouble := [f"{q.name}: {q.state}" for q in rt.status().queries if q.state in ("failed", "put aside")]:
            raise RuntimeError(f"queries are in trouble: {', '.join(trouble)}")
    shutil.rmtree(folder, ignore_errors=True)
    return found


def growth(minutes: Sequence[MinuteCounts]) -> dict[str, float]:
    """The last third of the run over the one before: the first one fills caches."""
    third = max(1, len(minutes) // 3)
    last, before = minutes[-third:], minutes[-2 * third : -third]
    return {name: _mean(last, name) / max(1e-9, _mean(before, name)) for name in GROWS}


def series(minutes: Sequence[MinuteCounts]) -> dict[str, list[float]]:
    rows = [asdict(minute) for minute in minutes]
    return {name: [round(row[name], 1) for row in rows] for name in rows[0]}


def _mean(minutes: Sequence[MinuteCounts], name: str) -> float:
    return sum(float(getattr(minute, name)) for minute in minutes) / max(1, len(minutes))


def _batches(rt: Any) -> int:
    return sum(q.last.number + 1 for q in rt.status().queries if q.last is not None)
