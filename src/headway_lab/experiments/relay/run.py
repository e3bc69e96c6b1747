"""Three stages on three nodes: how long after its end a window is out of the last stage, and whether it is right."""

import json
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from headway.errors import HeadwayError
from headway.kafka import broker, topics
from headway.loop.journal import JournalReader
from headway.loop.kernel import Entry
from headway.loop.questions.order import NAME as ORDER
from headway.model.decision import Grant
from headway_lab.experiments.relay.sink import stamped
from headway_lab.experiments.relay.stages import STAGES, WINDOW_MS, RelayPlan
from headway_lab.harness.children import Child, begin, kill, last_words, work_folder
from headway_lab.harness.file_sink import SinkTally, tally
from headway_lab.workloads.feed import Feed
from headway_lab.workloads.replay import replay
from headway_lab.workloads.wall_clock import now_ms

EXPERIMENT = "relay"
MODULE = "headway_lab.experiments.relay.node"
PARTITIONS = 2
START_S, STOP_S, LEAD_S, DRAIN_S = 240.0, 90.0, 4, 8
LOOK_MS = 600


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
    told: int  # queries of the first two stages that know what the stages behind them cost,
    untold: int  # and those that do not, where stages tell each other
    grants: int  # decisions in all stages about whose batch is next,
    contended: float  # and the share of them at which another query's batch was wanted already, too
    cores: float  # in use by the nodes, the broker and the producers together


class CoresUsed:
    """Processor time of this process and of all that it has started, from one moment on for as long as it is looked at."""

    def __init__(self, since: int, until: int) -> None:
        self._since, self._until = since, until
        self._first: tuple[float, float] | None = None
        self.cores = 0.0

    def look(self) -> None:
        if not self._since <= now_ms() <= self._until + LOOK_MS:
            return
        at, used = time.monotonic(), sum(map(_used_s, (own := psutil.Process(), *own.children(recursive=True))))
        if self._first is None:
            self._first = at, used
        elif at > self._first[0]:
            self.cores = round((used - self._first[1]) / (at - self._first[0]), 3)


def _used_s(process: psutil.Process) -> float:
    with suppress(psutil.NoSuchProcess):
        return float(sum(process.cpu_times()[:4]))  # those of its children that have ended as well
    return 0.0


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
        plan = RelayPlan(number, run.way, run.seed, epoch_ms, self._address, run.pipelines, run.rate, secrets.token_hex(16))
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
        cores = self._until_out(folder, plan, since, until)
        for sender in senders:
            sender.join(DRAIN_S + 30)
        (folder / "end").touch()
        self._await([folder / f"done-{stage}" for stage in STAGES], STOP_S)
        return _outcome(plan, folder, since, until, cores)

    def _until_out(self, folder: Path, plan: RelayPlan, since: int, until: int) -> float:
        """Every pipeline's last window is out, or will not come any more. Returns the cores that were in use meanwhile."""
        used = CoresUsed(since, until)
        end = time.monotonic() + (until - now_ms()) / 1000 + 60
        last = until // WINDOW_MS * WINDOW_MS
        while time.monotonic() < end:
            self._look()
            used.look()
            newest = [max(stamped(folder / "out" / str(p))[1], default=0) for p in range(plan.pipelines)]
            if min(newest) > last:
                break
            self._say(f"{plan.way}, seed {plan.seed}")
            time.sleep(0.5)
        return used.cores

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


def _outcome(plan: RelayPlan, folder: Path, since: int, until: int, cores: float) -> RelayOutcome:
    latencies: list[int] = []
    counted = SinkTally()
    for pipeline in range(plan.pipelines):
        rows, out = stamped(folder / "out" / str(pipeline))
        latencies += [at - end for end, at in out.items() if since < end <= until]
        counted += tally(plan.stream(pipeline), rows, until)
    late = sum(int((folder / f"late-{stage}").read_text()) for stage in STAGES)
    told, untold = _told(plan, folder)
    grants, choices = contended(_entries(folder), since)
    found = np.array(latencies or [0])
    p50, p99 = (float(np.percentile(found, p)) for p in (50, 99))
    return RelayOutcome(
        len(latencies), round(float(found.mean()), 1), round(p50, 1), round(p99, 1), float(found.max()), late, counted.wrong,
        counted.missing, counted.twice, told, untold, grants, choices, cores,
    )  # fmt: skip


def _told(plan: RelayPlan, folder: Path) -> tuple[int, int]:
    """Of the queries with a stage behind them, those that have heard what it costs, and those that have not."""
    said = [cost for stage in STAGES[:-1] for cost in json.loads((folder / f"told-{stage}").read_text()).values()]
    told = sum(cost is not None and cost > 0 for cost in said)
    return told, plan.pipelines * len(STAGES[:-1]) - told if plan.way == "relay" else 0


def _entries(folder: Path) -> Iterator[Entry]:
    for stage in STAGES:
        yield from JournalReader(folder / f"journal-{stage}.db").entries(ORDER)


def contended(entries: Iterable[Entry], since: int) -> tuple[int, float]:
    """How often a node let a batch run, and the share of these at which it had to choose: several were wanted by then."""
    grants = chosen = 0
    for entry in entries:
        if isinstance(entry.decided, Grant) and entry.at >= since:
            grants += 1
            chosen += sum(q.due is not None and q.due <= entry.at for q in entry.seen.waiting) > 1
    return grants, round(chosen / max(grants, 1), 3)
