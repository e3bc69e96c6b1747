"""What a runtime of real queries pays for being looked at."""

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import psutil

from headway.dashboard.glance import Glance
from headway.errors import HeadwayError
from headway.policy.order import Klink
from headway.sim.delays import Uniform
from headway_lab.harness.bench import Bench, let_pass
from headway_lab.harness.setting import Say
from headway_lab.workloads.wall_clock import now_ms
from headway_lab.workloads.ysb import Ysb

OPENING_S = 5.0  # until the first pages have been read
WRITER = "headway-status"  # the thread that writes the status for the dashboard
# A reader of three pages: what they are sent is read and thrown away, by a process whose cost is not counted here. The
# page of a query asks again whenever a batch of it is done, the timeline once a second and at all that is new.
VIEWER = """
import json, sys, time, urllib.request
address, name = sys.argv[1:]
def ask(path): urllib.request.urlopen(address + path, timeout=30).read()
batches, drawn = -1, 0.0
for line in urllib.request.urlopen(address + "api/stream"):
    if not line.startswith(b"data: "): continue
    told = json.loads(line[6:])
    for row in told["rows"]:
        if row["name"] == name and row["batches"] != batches:
            batches = row["batches"]
            ask("api/query?name=" + name)
    if time.monotonic() - drawn > 0.25:
        drawn = time.monotonic()
        ask("api/timeline?since=%d&upto=%d" % (told["now"] - 20000, told["now"]))
"""


@dataclass(frozen=True, slots=True)
class DashboardCost:
    """Processor time while pages were open, and what came out meanwhile."""

    share: float  # of all cores: the two below, together
    process: float  # of one core: the process that serves the pages
    writer: float  # of one core: what the runtime writes for it
    batches: int  # meanwhile
    memory_mb: float  # of the process
    windows: int  # that came out meanwhile,
    windows_before: int  # and in as long a time before, when nobody looked
    latency_ms: float  # their mean
    latency_before_ms: float


def shown(bench: Bench, queries: int, rate: int, settle: float, seconds: float, seed: int, say: Say) -> DashboardCost:
    """Run queries under Klink, open the dashboard and one page of it, and read the clocks."""
    from headway.spark.runtime import Runtime
    from headway_lab.workloads.events import events

    spark, cores = bench.session("tuned"), psutil.cpu_count() or 1
    bench.runs += 1
    folder = f"{bench.folder}/{bench.runs}"
    with Runtime(spark, Klink(), journal=f"{folder}.db") as rt:
        for i in range(queries):
            stream = Ysb(1_000 * seed + i, rate, now_ms(), Uniform(0, 500))
            rows = rt.watermark(events(spark, stream), "event_time", 500, arrival="arrival")
            rt.start(stream.counts(rows).writeStream.format("memory"), name=f"shown_{bench.runs}_{i}",
                     checkpoint=f"{folder}/{i}")  # fmt: skip
            say(f"starting {i + 1}/{queries}", 0.0)
        let_pass("settling", settle, say)
        alone = now_ms()
        let_pass("measuring without", seconds, say)
        address = rt.dashboard()
        with _viewer(address, f"shown_{bench.runs}_0"):
            process = _dashboard()
            let_pass("opening", OPENING_S, say)
            before, since, looked = (_spent(process), _writer_s()), time.monotonic(), now_ms()
            done = _done(rt)
            let_pass("measuring", seconds, say)
            after, elapsed = (_spent(process), _writer_s()), time.monotonic() - since
            more = _done(rt) - done
            memory = process.memory_info().rss / 2**20
        for query in spark.streams.active:
            if (error := query.exception()) is not None:
                raise error
    served, written = ((b - a) / elapsed for a, b in zip(before, after, strict=True))
    without, watched = (_windows(Path(f"{folder}.db"), at, at + round(1000 * seconds)) for at in (alone, looked))
    return DashboardCost(
        (served + written) / cores, served, written, more, memory, len(watched), len(without), fmean(watched), fmean(without)
    )


def _windows(journal: Path, since: int, upto: int) -> list[int]:
    """The latencies of the windows that came out in this stretch."""
    glance = Glance(journal)
    while glance.look():
        continue
    found = [w.latency_ms for book in glance.book.queries.values() for w in book.windows if since <= w.out < upto]
    if not found:
        raise HeadwayError("no window came out while it was measured: take more --seconds")
    return found


def _done(rt: Any) -> int:
    """Batches of all queries so far."""
    return sum(query.batches for query in rt.status().queries)


def _dashboard() -> psutil.Process:
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if "dashboard" in child.cmdline() and "--with-parent" in child.cmdline():
                return child
    raise HeadwayError("the dashboard did not start: nothing of it runs")


def _spent(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _writer_s() -> float:
    numbers = {thread.native_id for thread in threading.enumerate() if thread.name == WRITER}
    return sum(float(t.user_time + t.system_time) for t in psutil.Process().threads() if t.id in numbers)


@contextlib.contextmanager
def _viewer(address: str, query: str) -> Iterator[None]:
    looking = subprocess.Popen([sys.executable, "-c", VIEWER, address, query], stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        looking.kill()
        looking.wait()
