"""A node of the experiment: one Spark application of one core, which hosts one stage of every pipeline, run after run.

python -m headway_lab.experiments.relay.node child WORK STAGE MEMORY
"""

import sys
import time
from pathlib import Path

from headway_lab.experiments.relay.stages import RelayPlan, start

LOOK_S = 0.1


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
        _play(hw, spark, run, stage)
        number += 1
    spark.stop()


def _play(hw: object, spark: object, run: Path, stage: int) -> None:
    from headway.spark.runtime import Runtime

    plan = RelayPlan.read(run)
    with Runtime(spark, journal=run / f"journal-{stage}.db") as rt:
        for pipeline in range(plan.pipelines):
            start(rt, spark, plan, stage, pipeline, run)
        (run / f"running-{stage}").touch()
        while not (run / "end").exists():
            rt.await_termination(LOOK_S)
        late = sum(count.rows for count in rt.late_counts() if count.reason == "late")
        (run / f"late-{stage}").write_text(str(late))
    (run / f"done-{stage}").touch()


if __name__ == "__main__":
    _, _, folder, number_, memory_ = sys.argv
    node(Path(folder), int(number_), memory_)
