"""A node of the experiment: one Spark application of one core, which hosts one stage of every pipeline, run after run.

It is made of what `headway node --peer` is made of: queries from a pipeline file under a host, a door that others ask for
its status, and a watch that asks theirs what the stages behind cost.

python -m headway_lab.experiments.relay.node child WORK STAGE MEMORY
"""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headway.fleet.client import NodeClient
from headway.fleet.node.app import Listening, NodeServer, application
from headway.fleet.node.desk import CommandDesk
from headway.fleet.node.machine import MachineGauge
from headway.fleet.node.reporter import StatusReporter, wall_now
from headway.fleet.node.stage_watch import StageWatch, addresses_of
from headway.fleet.node.wire import NodeCommand
from headway_lab.experiments.relay.stages import STAGES, RelayPlan

LOOK_S = 0.1
# The file of one stage of all pipelines, as a user would write it, but for the loop.
PIPELINE = """
from pathlib import Path

import headway as hw
from headway_lab.experiments.relay.stages import RelayPlan, writer

RUN = Path({run!r})
PLAN = RelayPlan.read(RUN)


def declare(pipeline):
    @hw.query(PLAN.query({stage}, pipeline))
    def built(rt, spark):
        return writer(rt, spark, PLAN, {stage}, pipeline, RUN)


for number in range(PLAN.pipelines):
    declare(number)
"""


def node(work: Path, stage: int, memory: str) -> None:
    """Runs are folders of the work folder, in which the parent puts a plan and says when it is over."""
    import headway as hw

    spark = hw.session(f"headway-relay-{stage}", cores=1, memory=memory, kafka=True)
    (work / f"ready-{stage}").touch()
    number = 0
    while not (work / "over").exists():
        run = work / f"run-{number}"
        if not (run / "begin").exists():
            time.sleep(LOOK_S)
            continue
        _play(spark, run, stage)
        number += 1
    spark.stop()


def _play(spark: Any, run: Path, stage: int) -> None:
    from headway.spark.fleet.host import RuntimeHost
    from headway.spark.runtime import Runtime

    plan = RelayPlan.read(run)
    file = run / f"stage{stage}.py"
    file.write_text(PIPELINE.format(run=str(run), stage=stage))
    with Runtime(spark, journal=run / f"journal-{stage}.db") as rt:
        host = RuntimeHost(rt, f"stage{stage}", plan.token[:8])
        with _told_of_others(rt, host, plan, run, stage) as reporter:
            for pipeline in range(plan.pipelines):
                name = plan.query(stage, pipeline)
                folder = str(run / "checkpoints" / name)
                host.obey(NodeCommand(name, "start", name, 1, file=str(file), folder=folder))
            (run / f"running-{stage}").touch()
            while not (run / "end").exists():
                rt.await_termination(LOOK_S)
            writers = [query for query in reporter.status.queries if query.writes is not None]
            (run / f"told-{stage}").write_text(json.dumps({q.name: q.below_at and q.below_ms for q in writers}))
        late = sum(count.rows for count in rt.late_counts() if count.reason == "late")
        (run / f"late-{stage}").write_text(str(late))
    (run / f"done-{stage}").touch()


@contextmanager
def _told_of_others(rt: Any, host: Any, plan: RelayPlan, run: Path, stage: int) -> Iterator[StatusReporter]:
    """Others may ask how this node stands, and it asks them."""
    reporter = StatusReporter(f"stage{stage}", host, MachineGauge())
    server = NodeServer(application(CommandDesk(host, wall_now), reporter, plan.token), Listening(plan.token))

    def listed() -> dict[str, str]:
        """Who has opened its door."""
        files = [run / f"door-{other}" for other in STAGES]
        return {file.name: file.read_text() for file in files if file.exists()}

    stages = StageWatch(
        lambda: reporter.status, addresses_of((), listed, server.address),
        lambda url: NodeClient(url, plan.token, attempts=1), rt.plane.post,
    )  # fmt: skip
    reporter.start()
    server.start()
    half = run / f"half-{stage}"
    half.write_text(server.address)
    half.rename(run / f"door-{stage}")
    stages.start()
    try:
        yield reporter
    finally:
        stages.stop()
        server.stop()
        reporter.stop()


if __name__ == "__main__":
    _, _, folder, number_, memory_ = sys.argv
    node(Path(folder), int(number_), memory_)
