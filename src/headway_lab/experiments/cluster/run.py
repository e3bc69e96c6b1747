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
from dataclasses import dataclass
from pathlib import Path

from headway.errors import HeadwayError
from headway_lab.harness import children
from headway_lab.harness.checked_queries import checked_streams, start_checked
from headway_lab.harness.file_sink import SinkTally, SinkWatch, tally_all, written
from headway_lab.harness.setting import Say
from headway_lab.harness.standalone import StandaloneCluster, environment, standalone
from headway_lab.workloads.wall_clock import now_ms
from headway_lab.workloads.ysb import Ysb

EXPERIMENT = "cluster"
MODULE = "headway_lab.experiments.cluster.run"
START_LIMIT_S, STUCK_S = 180, 120
RESTARTS = 1_000
SETTINGS = {"spark.executor.memory": "512m", "spark.executor.cores": "1", "spark.ui.enabled": "false"}


@dataclass(frozen=True)
class ClusterPlan(children.StoredPlan):
    """What the child runs, and where."""

    seed: int
    epoch_ms: int
    master: str
    queries: int = 4
    rate: int = 200

    def streams(self) -> dict[str, Ysb]:
        return checked_streams(EXPERIMENT, self.seed, self.epoch_ms, self.queries, self.rate)


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
        plan = ClusterPlan(seed, now_ms(), running.url, queries)
        plan.write(work)
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
    sinks = SinkWatch(work, list(plan.streams()))

    def went_on(after_ms: int, limit_s: float, doing: str) -> None:
        children.await_child(child, lambda: sinks.all_after(after_ms), work, limit_s, lambda: say(doing, 0.0))

    went_on(now_ms(), START_LIMIT_S, "the first windows")
    killed(0)
    recovered, stuck = [], 0
    for number in range(kills):
        time.sleep(chance.uniform(0, 3))
        begun = time.monotonic()
        os.kill(_one_of(running, chance), signal.SIGKILL)
        try:
            went_on(now_ms(), STUCK_S, f"executor {number + 1} killed: waiting for windows")
            recovered.append(time.monotonic() - begun)
        except HeadwayError:
            if child.poll() is not None:
                raise
            stuck += 1
        killed(number + 1)
    until_ms = now_ms()
    went_on(until_ms + 3_000, START_LIMIT_S, "the end")
    (work / "stop").touch()
    child.wait(START_LIMIT_S)
    total = tally_all(plan.streams(), written(work), until_ms)
    return ClusterOutcome(recovered, stuck, json.loads((work / "restarts.json").read_text()), total)


def _one_of(running: StandaloneCluster, chance: random.Random) -> int:
    end = time.monotonic() + STUCK_S
    while not (found := running.executors()):
        if time.monotonic() > end:
            raise HeadwayError("spark: expected an executor to kill, but the cluster starts none")
        time.sleep(0.1)
    return chance.choice(found)


# ---- the child


def child(work: Path) -> None:
    """Run the plan's queries on its cluster until told to stop."""
    import headway as hw
    from headway.spark.session import on
    from headway_lab.jvm import JAR

    plan = ClusterPlan.read(work)
    spark = on(plan.master, SETTINGS | {"spark.jars": str(JAR)})
    with hw.Runtime(spark, hw.order.Klink(), journal=work / "journal.db") as rt:
        start_checked(rt, spark, plan.streams(), work, restart=RESTARTS)
        while not (work / "stop").exists():
            rt.await_termination(0.2)
        (work / "restarts.json").write_text(json.dumps(sum(q.restarts for q in rt.status().queries)))


if __name__ == "__main__":
    child(Path(sys.argv[2]))
