"""Where processor time goes: the driver's threads by what they do, and the Python processes beside it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

# The kernel keeps the first fifteen letters of a thread's name; the first entry that fits counts.
KINDS = (
    ("stream executio", "planning"),  # plans the batch, writes its logs, hands its tasks over
    ("Executor task", "tasks"),
    ("C1 Compiler", "jit"),
    ("C2 Compiler", "jit"),
    ("Sweeper", "jit"),
    ("GC Thread", "gc"),
    ("G1 ", "gc"),
    ("VM Thread", "gc"),
    ("dag-scheduler", "scheduling"),
    ("task-result", "scheduling"),
    ("dispatcher", "scheduling"),
    ("netty", "scheduling"),
    ("block-manager", "scheduling"),
    ("spark-listener", "listening"),
    ("element-trackin", "listening"),
    ("state-store", "state upkeep"),
    ("process reaper", "forks"),
)
PARTS = (*dict.fromkeys(kind for _, kind in KINDS), "other", "python")


@dataclass(frozen=True, slots=True)
class Reading:
    """Processor time used so far, in ms."""

    threads: dict[int, tuple[str, float]]  # of the driver, by thread: what it does, and its time
    driver: float
    python: float  # the controller, and Spark's Python workers

    @property
    def total(self) -> float:
        return self.driver + self.python


class Meter:
    """Reads a driver's clocks."""

    def __init__(self, driver: psutil.Process) -> None:
        self.driver, self.own = driver, psutil.Process()

    def read(self) -> Reading:
        # A process that has ended is counted with its parent: without that, time would run backwards when a worker ends.
        workers = sum(_ms(child, ended=True) for child in self.driver.children(recursive=True)) + _ended_ms(self.driver)
        threads = {t.id: (self._kind(t.id), (t.user_time + t.system_time) * 1000) for t in self.driver.threads()}
        return Reading(threads, _ms(self.driver), _ms(self.own) + workers)

    def _kind(self, thread: int) -> str:
        try:
            name = Path(f"/proc/{self.driver.pid}/task/{thread}/comm").read_text()
        except OSError:  # it has ended, or this is no Linux, where threads have no names to read
            return "other"
        return next((kind for start, kind in KINDS if name.startswith(start)), "other")


def spent(before: Reading, after: Reading) -> dict[str, float]:
    """What was used between two readings, by kind. Threads that ended meanwhile are among the `other`."""
    out = dict.fromkeys(PARTS, 0.0)
    for thread, (kind, ms) in after.threads.items():
        out[kind] += ms - before.threads.get(thread, ("", 0.0))[1]
    out["other"] += max(0.0, after.driver - before.driver - sum(out.values()))
    out["python"] = after.python - before.python
    return out


def _ms(process: Any, ended: bool = False) -> float:
    """Of a process, and if wanted of those of its children that have ended."""
    try:
        times = process.cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system) * 1000 + (_ended_ms(process) if ended else 0.0)


def _ended_ms(process: Any) -> float:
    try:
        times = process.cpu_times()
    except psutil.Error:
        return 0.0
    return float(getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)) * 1000  # not on every system


def heap_used(spark: Any) -> int:
    """Bytes of the driver's heap in use after a collection: the least of three, since batches go on meanwhile."""
    heap, readings = spark._jvm.java.lang.Runtime.getRuntime(), []
    for _ in range(3):
        heap.gc()
        readings.append(int(heap.totalMemory() - heap.freeMemory()))
    return min(readings)
