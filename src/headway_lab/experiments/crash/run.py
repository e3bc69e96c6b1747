"""Kill the driver at random moments, again and again, and check that no window is lost, doubled or wrong.

The child process runs Yahoo queries under Klink into files, one per query and batch, so that a batch which runs again
writes the same file again. The parent kills it with SIGKILL, JVM and all, and starts it anew on the same checkpoints.
"""

import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from headway_lab.harness.checked_queries import checked_streams, start_checked
from headway_lab.harness.children import Child, StoredPlan, await_child, begin, kill, work_folder
from headway_lab.harness.file_sink import SinkTally, last_end, newest, tally_all, written
from headway_lab.harness.setting import Say
from headway_lab.workloads.wall_clock import now_ms
from headway_lab.workloads.ysb import Ysb

EXPERIMENT = "crash"
MODULE = "headway_lab.experiments.crash.run"
START_LIMIT_S = 180
FINISH_S = 12  # how far the last run goes beyond its own start


@dataclass(frozen=True)
class CrashPlan(StoredPlan):
    """What runs in every child."""

    seed: int
    epoch_ms: int
    queries: int = 3
    rate: int = 200

    def streams(self) -> dict[str, Ysb]:
        return checked_streams(EXPERIMENT, self.seed, self.epoch_ms, self.queries, self.rate)


@dataclass(frozen=True, slots=True)
class CrashOutcome:
    """What came out after all kills, compared with the truth."""

    kills: int
    tally: SinkTally


# ---- the parent


def crash(times: int, seed: int, say: Say, killed: Callable[[int], None], folder: Path | None = None) -> CrashOutcome:
    """Kill `times` times, then let it finish, and compare what was written with what is true."""
    with work_folder("headway-crash-", folder) as work:
        plan = CrashPlan(seed, now_ms())
        plan.write(work)
        chance = random.Random(seed)
        for number in range(times):
            child = begin(MODULE, work)
            try:
                _await_output(work, child, say)
                say("letting it run", 0.0)
                time.sleep(chance.uniform(0, 4))
            finally:
                kill(child)
            killed(number + 1)
        until_ms = now_ms() + FINISH_S * 1000
        child = begin(MODULE, work, "--until", str(until_ms))
        try:
            await_child(child, (work / "done").exists, work, START_LIMIT_S, lambda: say("last run, to the end", 0.0))
        finally:
            kill(child)
        return CrashOutcome(times, tally_all(plan.streams(), written(work), until_ms))


def _await_output(work: Path, child: Child, say: Say) -> None:
    """Until the child has finished its first batch. A batch that runs again replaces its file, which counts too."""
    since = time.time_ns()

    def ready() -> bool:
        return any(file.stat().st_mtime_ns > since for file in work.glob("out/*/*.json"))

    await_child(child, ready, work, START_LIMIT_S, lambda: say("waiting for a batch", 0.0))


# ---- the child


def child(work: Path, until_ms: int | None) -> None:
    """Run the plan's queries; with `until_ms`, stop once every window that ends by then is written."""
    import headway as hw
    from headway_lab.jvm import JAR

    streams = CrashPlan.read(work).streams()
    spark = hw.session("headway-crash", cores=2, memory="1g", jars=[JAR])
    with hw.Runtime(spark, hw.order.Klink(), journal=work / "journal.db") as rt:
        start_checked(rt, spark, streams, work)
        while until_ms is None or any(newest(work / "out" / n) < last_end(s, until_ms) for n, s in streams.items()):
            rt.await_termination(0.5)
    (work / "done").touch()


if __name__ == "__main__":
    _, _, folder_, *rest = sys.argv
    child(Path(folder_), int(rest[1]) if rest else None)
