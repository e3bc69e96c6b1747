"""Kill the driver at random moments, again and again, and check that no window is lost, doubled or wrong.

The child process runs Yahoo queries under Klink into files, one per query and batch, so that a batch which runs again
writes the same file again. The parent kills it with SIGKILL, JVM and all, and starts it anew on the same checkpoints.
"""

import json
import random
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from headway.sim.delays import Uniform
from headway_lab.harness.children import Child, await_child, begin, kill, work_folder
from headway_lab.harness.file_sink import SinkTally, Written, into, last_end, newest, tally, written
from headway_lab.harness.setting import Say
from headway_lab.workloads.ysb import Ysb

EXPERIMENT = "crash"
PATIENCE_MS = 500
START_LIMIT_S = 180
FINISH_S = 12  # how far the last run goes beyond its own start


@dataclass(frozen=True)
class CrashPlan:
    """What runs in every child, kept in the work folder: a restart must see the same streams."""

    seed: int
    epoch_ms: int
    queries: int = 3
    rate: int = 200

    def streams(self) -> dict[str, Ysb]:
        chance = random.Random(self.seed)
        return {
            f"crash_{i}": Ysb(
                self.seed * 1000 + i, self.rate, self.epoch_ms, Uniform(0, 500), offset_ms=chance.randrange(3_000)
            )
            for i in range(self.queries)
        }


@dataclass(frozen=True, slots=True)
class CrashOutcome:
    """What came out after all kills, compared with the truth."""

    kills: int
    windows: int
    panes: int
    missing: int
    twice: int
    miscounted: int

    @property
    def wrong(self) -> int:
        return self.missing + self.twice + self.miscounted


# ---- the parent


def crash(times: int, seed: int, say: Say, killed: Callable[[int], None], folder: Path | None = None) -> CrashOutcome:
    """Kill `times` times, then let it finish, and compare what was written with what is true."""
    with work_folder("headway-crash-", folder) as work:
        plan = CrashPlan(seed, int(time.time() * 1000))
        (work / "plan.json").write_text(json.dumps(asdict(plan)))
        chance = random.Random(seed)
        for number in range(times):
            child = begin("headway_lab.experiments.crash.run", work)
            try:
                _await_output(work, child, say)
                say("letting it run", 0.0)
                time.sleep(chance.uniform(0, 4))
            finally:
                kill(child)
            killed(number + 1)
        until_ms = int(time.time() * 1000) + FINISH_S * 1000
        child = begin("headway_lab.experiments.crash.run", work, "--until", str(until_ms))
        try:
            await_child(child, (work / "done").exists, work, START_LIMIT_S, lambda: say("last run, to the end", 0.0))
        finally:
            kill(child)
        return compare(plan, written(work), until_ms, times)


def _await_output(work: Path, child: Child, say: Say) -> None:
    """Until the child has finished its first batch. A batch that runs again replaces its file, which counts too."""
    since = time.time_ns()

    def ready() -> bool:
        return any(file.stat().st_mtime_ns > since for file in work.glob("out/*/*.json"))

    await_child(child, ready, work, START_LIMIT_S, lambda: say("waiting for a batch", 0.0))


def compare(plan: CrashPlan, rows: dict[str, Written], until_ms: int, kills: int) -> CrashOutcome:
    """Every pane of every window that ends by `until_ms` must be there, once, with its true count."""
    found = sum((tally(stream, rows.get(name, []), until_ms) for name, stream in plan.streams().items()), SinkTally())
    return CrashOutcome(kills, **asdict(found))


# ---- the child


def child(work: Path, until_ms: int | None) -> None:
    """Run the plan's queries; with `until_ms`, stop once every window that ends by then is written."""
    import headway as hw
    from headway_lab.workloads.events import events

    streams = CrashPlan(**json.loads((work / "plan.json").read_text())).streams()
    spark = hw.session("headway-crash", cores=2, memory="1g")
    with hw.Runtime(spark, hw.order.Klink(), journal=work / "journal.db") as rt:
        for name, stream in streams.items():
            marked = rt.watermark(events(spark, stream), "event_time", PATIENCE_MS, arrival="arrival")
            rows = stream.counts(marked).selectExpr("unix_millis(window.end) as end", "campaign_id", "count")
            writer = rows.writeStream.outputMode("append").foreachBatch(into(work / "out" / name))
            rt.start(writer, name=name, checkpoint=str(work / "checkpoints" / name))
        while until_ms is None or any(newest(work / "out" / n) < last_end(s, until_ms) for n, s in streams.items()):
            rt.await_termination(0.5)
    (work / "done").touch()


if __name__ == "__main__":
    _, _, folder_, *rest = sys.argv
    child(Path(folder_), int(rest[1]) if rest else None)
