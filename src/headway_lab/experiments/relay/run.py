"""Three stages on three nodes: how long after its end a window is out of the last stage, and whether it is right."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headway.errors import HeadwayError
from headway.kafka import broker, topics
from headway_lab.experiments.relay.sink import stamped
from headway_lab.experiments.relay.stages import WINDOW_MS, RelayPlan
from headway_lab.harness.children import Child, begin, kill, last_words, work_folder
from headway_lab.harness.file_sink import SinkTally, tally
from headway_lab.workloads.feed import Feed
from headway_lab.workloads.replay import replay
from headway_lab.workloads.wall_clock import now_ms

EXPERIMENT = "relay"
MODULE = "headway_lab.experiments.relay.node"
STAGES = (1, 2, 3)
PARTITIONS = 2
START_S, STOP_S, LEAD_S, DRAIN_S = 240.0, 90.0, 4, 8


@dataclass(frozen=True, slots=True)
class RelayRun:
    """What is to be measured once."""

    way: str
    seed: int
    pipelines: int
    rate: int
    seconds: int
    settle: int

    @property
    def setting(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name not in ("way", "seed")}


@dataclass(frozen=True, slots=True)
class RelayOutcome:
    """Latency of windows, from their end until their last row is out of the last stage; and whether all is there."""

    windows: int
    mean_ms: float
    p50_ms: float
    p99_ms: float
    worst_ms: float
    late: int  # rows, in all stages
    wrong: int
    missing: int
    twice: int


class Nodes:
    """Three Spark applications, a broker, and runs one after the other."""

    def __init__(self, work: Path, address: str, children: dict[int, Child], say: Callable[[str], None]) -> None:
        self._work, self._address, self._children, self._say = work, address, children, say
        self._number = 0

    def play(self, run: RelayRun) -> RelayOutcome:
        number, self._number = self._number, self._number + 1
        folder = self._work / f"run-{number}"
        folder.mkdir()
        for pipeline in range(run.pipelines):
            for stage in STAGES:
                topics.create(self._address, f"run-{number}-{pipeline}-{stage}", PARTITIONS)
        epoch_ms = now_ms() + LEAD_S * 1000
        plan = RelayPlan(number, run.way, run.seed, epoch_ms, self._address, run.pipelines, run.rate)
        plan.write(folder)
        (folder / "begin").touch()
        self._await([folder / f"running-{stage}" for stage in STAGES], START_S)
        whole_s = run.settle + run.seconds + DRAIN_S
        senders = [
            threading.Thread(target=replay, args=(_feeds(plan, p, whole_s), self._address, plan.topic(p, 1)), daemon=True)
            for p in range(run.pipelines)
        ]
        for sender in senders:
            sender.start()
        since, until = epoch_ms + run.settle * 1000, epoch_ms + (run.settle + run.seconds) * 1000
        self._until_out(folder, plan, until)
        for sender in senders:
            sender.join(DRAIN_S + 30)
        (folder / "end").touch()
        self._await([folder / f"done-{stage}" for stage in STAGES], STOP_S)
        return _outcome(plan, folder, since, until)

    def _until_out(self, folder: Path, plan: RelayPlan, until: int) -> None:
        """Every pipeline's last window is out, or will not come any more."""
        end = time.monotonic() + (until - now_ms()) / 1000 + 60
        last = until // WINDOW_MS * WINDOW_MS
        while time.monotonic() < end:
            self._look()
            newest = [max(stamped(folder / "out" / str(p))[1], default=0) for p in range(plan.pipelines)]
            if min(newest) > last:
                return
            self._say(f"{plan.way}, seed {plan.seed}")
            time.sleep(0.5)

    def _await(self, files: Sequence[Path], limit_s: float) -> None:
        end = time.monotonic() + limit_s
        while not all(file.exists() for file in files):
            self._look()
            if time.monotonic() > end:
                raise HeadwayError(f"a node did not get anywhere: {last_words(self._work)}")
            time.sleep(0.1)

    def _look(self) -> None:
        for stage, child in self._children.items():
            if child.poll() is not None:
                raise HeadwayError(f"the node of stage {stage} has died: {last_words(self._work)}")


@contextmanager
def nodes(memory: str, say: Callable[[str], None], folder: Path | None = None) -> Iterator[Nodes]:
    """Everything that runs take place on; nothing is left of it afterwards."""
    with work_folder("headway-relay-", folder) as work:
        server = broker.start()
        children: dict[int, Child] = {}
        try:
            for stage in STAGES:
                children[stage] = begin(MODULE, work, str(stage), memory)
            made = Nodes(work, server.address, children, say)
            say("three Spark applications")
            made._await([work / f"ready-{stage}" for stage in STAGES], START_S)
            yield made
        finally:
            (work / "over").touch()
            for child in children.values():
                kill(child)
            server.stop()


def _feeds(plan: RelayPlan, pipeline: int, seconds: int) -> Iterator[Feed]:
    one = plan.stream(pipeline)
    return (one.feed(one.epoch_ms + s * 1000, one.epoch_ms + (s + 1) * 1000) for s in range(seconds))


def _outcome(plan: RelayPlan, folder: Path, since: int, until: int) -> RelayOutcome:
    latencies: list[int] = []
    counted = SinkTally()
    for pipeline in range(plan.pipelines):
        rows, out = stamped(folder / "out" / str(pipeline))
        latencies += [at - end for end, at in out.items() if since < end <= until]
        counted += tally(plan.stream(pipeline), rows, until)
    late = sum(int((folder / f"late-{stage}").read_text()) for stage in STAGES)
    found = np.array(latencies or [0])
    p50, p99 = (float(np.percentile(found, p)) for p in (50, 99))
    return RelayOutcome(
        len(latencies), round(float(found.mean()), 1), round(p50, 1), round(p99, 1), float(found.max()), late, counted.wrong,
        counted.missing, counted.twice,
    )  # fmt: skip
