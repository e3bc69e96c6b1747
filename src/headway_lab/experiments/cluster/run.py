"""Kill executors of a real cluster at random moments, and check that no window is lost, doubled or wrong.

The driver is a child that runs Yahoo queries under Klink on a standalone cluster of our own, into files. The parent kills
one executor after the other with SIGKILL; the cluster starts another in its place, with the state of the checkpoint.
"""

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from headway.errors import HeadwayError
from headway.sim.delays import Uniform
from headway_lab.experiments.chaos.play import Sinks
from headway_lab.harness import children
from headway_lab.harness.file_sink import SinkTally, into, tally, written
from headway_lab.harness.setting import Say
from headway_lab.harness.standalone import StandaloneCluster, environment, standalone
from headway_lab.workloads.ysb import Ysb

EXPERIMENT = "cluster"
MODULE = "headway_lab.experiments.cluster.run"
PATIENCE_MS = 500
START_LIMIT_S, STUCK_S = 180, 120
RESTARTS = 1_000
SETTINGS = {"spark.executor.memory": "512m", "spark.executor.cores": "1", "spark.ui.enabled": "false"}


@dataclass(frozen=True)
class ClusterPlan:
    """What the child runs, and where."""

    seed: int
    epoch_ms: int
    master: str
    queries: int = 4
    rate: int = 200

    def streams(self) -> dict[str, Ysb]:
        chance = random.Random(self.seed)
        return {
            f"cluster_{i}": Ysb(
                self.seed * 1000 + i, self.rate, self.epoch_ms, Uniform(0, PATIENCE_MS), offset_ms=chance.randrange(3_000)
            )
            for i in range(self.queries)
        }


@dataclass(frozen=True)
class ClusterOutcome:
    """How all went on after each kill, and what came out, compared with the truth."""

    recovered_s: list[float]  # from a kill until every query had put out a window that ended after it
    stuck: int  # kills after which one did not
    restarts: int  # of queries: Spark gives a task four tries, then its query fails
    tally: SinkTally

    @property
    def wrong(self) -> int:
        return self.tally.wrong + self.stuck


# ---- the parent


def cluster(
    kills: int, queries: int, seed: int, say: Say, killed: Callable[[int], None], folder: Path | None = None
) -> ClusterOutcome:
    """Kill so many executors, then compare what came out with what is true. `killed` hears of each, and first of none."""
    with children.work_folder("headway-bench-cluster-", folder) as work, standalone(2, work / "cluster") as running:
        plan = ClusterPlan(seed, _now_ms(), running.url, queries)
        (work / "plan.json").write_text(json.dumps(asdict(plan)))
        child = children.begin(MODULE, work, env=environment(work))
        try:
            return _played(plan, kills, work, running, child, say, killed)
        finally:
            children.kill(child)


def _played(
    plan: ClusterPlan,
    kills: int,
    work: Path,
    running: StandaloneCluster,
    child: children.Child,
    say: Say,
    killed: Callable[[int], None],
) -> ClusterOutcome:
    chance = random.Random(plan.seed)
    sinks = Sinks(work, list(plan.streams()))

    def went_on(after_ms: int, limit_s: float, doing: str) -> None:
        children.await_child(child, lambda: sinks.all_after(after_ms), work, limit_s, lambda: say(doing, 0.0))

    went_on(_now_ms(), START_LIMIT_S, "the first windows")
    killed(0)
    recovered, stuck = [], 0
    for number in range(kills):
        time.sleep(chance.uniform(0, 3))
        begun = time.monotonic()
        os.kill(_one_of(running, chance), signal.SIGKILL)
        try:
            went_on(_now_ms(), STUCK_S, f"executor {number + 1} killed: waiting for windows")
            recovered.append(time.monotonic() - begun)
        except HeadwayError:
            if child.poll() is not None:
                raise
            stuck += 1
        killed(number + 1)
    until_ms = _now_ms()
    went_on(until_ms + 3_000, START_LIMIT_S, "the end")
    (work / "stop").touch()
    child.wait(START_LIMIT_S)
    rows = written(work)
    total = sum((tally(stream, rows.get(name, []), until_ms) for name, stream in plan.streams().items()), SinkTally())
    return ClusterOutcome(recovered, stuck, json.loads((work / "restarts.json").read_text()), total)


def _one_of(running: StandaloneCluster, chance: random.Random) -> int:
    end = time.monotonic() + STUCK_S
    while not (found := running.executors()):
        if time.monotonic() > end:
            raise HeadwayError("spark: expected an executor to kill, but the cluster starts none")
        time.sleep(0.1)
    return chance.choice(found)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


# ---- the child


def child(work: Path) -> None:
    """Run the plan's queries on its cluster until told to stop."""
    import headway as hw
    from headway.spark.session import on
    from headway_lab.workloads.events import events

    plan = ClusterPlan(**json.loads((work / "plan.json").read_text()))
    spark = on(plan.master, SETTINGS)
    with hw.Runtime(spark, hw.order.Klink(), journal=work / "journal.db") as rt:
        for name, stream in plan.streams().items():
            marked = rt.watermark(events(spark, stream), "event_time", PATIENCE_MS, arrival="arrival")
            rows = stream.counts(marked).selectExpr("unix_millis(window.end) as end", "campaign_id", "count")
            writer = rows.writeStream.outputMode("append").foreachBatch(into(work / "out" / name))
            rt.start(writer, name=name, checkpoint=str(work / "checkpoints" / name), restart=RESTARTS)
        while not (work / "stop").exists():
            rt.await_termination(0.2)
        (work / "restarts.json").write_text(json.dumps(sum(q.restarts for q in rt.status().queries)))


if __name__ == "__main__":
    child(Path(sys.argv[2]))
