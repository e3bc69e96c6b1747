"""What is seen of a fleet while it runs: second by second, by the nodes' own word, and why queries were moved."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from headway.errors import HeadwayError
from headway.fleet.client import NodeClient
from headway.fleet.node.wire import HostedQuery, NodeStatus
from headway.fleet.orchestrator.translate import NOT_RUNNING
from headway.loop.journal import JournalReader
from headway.loop.questions.placement import PLACEMENT
from headway.model.placement import Move, Placements
from headway_lab.experiments.fleet_live.feed import RowFeed
from headway_lab.workloads.wall_clock import now_ms

EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class SinkWindow:
    """A window that has come out."""

    query: str
    node: str
    latency_ms: int  # from its end until the batch that emitted it was done


@dataclass(frozen=True, slots=True)
class FleetSample:
    """The fleet at one moment."""

    at_ms: int
    sent: int  # rows, all in all
    read: int
    loads: Mapping[str, float]  # load per core, by node
    homes: Mapping[str, str]  # where each query runs
    out: tuple[SinkWindow, ...] = ()  # since the sample before

    @property
    def spread(self) -> float:
        """Of the loads: their standard deviation."""
        return float(np.std(list(self.loads.values()))) if self.loads else 0.0


@dataclass(frozen=True, slots=True)
class FleetMove:
    """A move that was decided, and why."""

    at_ms: int
    query: str
    source: str
    target: str
    because: str


class FleetWatch:
    """A thread that asks every node. Rows are counted by lives of a query, whose counters begin with nothing."""

    def __init__(self, nodes: Mapping[str, NodeClient], feed: RowFeed) -> None:
        self._nodes, self._feed = nodes, feed
        self.samples: list[FleetSample] = []
        self.seen: Callable[[FleetSample], None] = lambda sample: None
        self._rows: dict[tuple[str, int], int] = {}  # by query and epoch
        self._emitted: dict[str, int] = {}  # the last watermark of a query
        self._homes: dict[str, str] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headway-fleet-watch", daemon=True)
        self._thread.start()

    @property
    def read(self) -> int:
        return sum(self._rows.values())

    def stop(self) -> None:
        self._over.set()
        self._thread.join(10)

    def _run(self) -> None:
        while not self._over.wait(EVERY_S):
            self.samples.append(sample := self._look())
            self.seen(sample)

    def _look(self) -> FleetSample:
        loads: dict[str, float] = {}
        out: list[SinkWindow] = []
        for name, node in self._nodes.items():
            try:
                status = node.status()
            except HeadwayError:
                continue  # it is busy; its counters tell of it later
            loads[name] = status.machine.load_average / status.machine.cores
            out += self._of_queries(name, status)
        return FleetSample(now_ms(), self._feed.total, self.read, loads, dict(self._homes), tuple(out))

    def _of_queries(self, node: str, status: NodeStatus) -> list[SinkWindow]:
        out = []
        for query in status.queries:
            life = query.name, query.epoch
            self._rows[life] = max(self._rows.get(life, 0), query.rows)
            if query.state not in NOT_RUNNING:
                self._homes[query.name] = node
            if (window := self._window(node, query)) is not None:
                out.append(window)
        return out

    def _window(self, node: str, query: HostedQuery) -> SinkWindow | None:
        if query.watermark is None or query.latency_ms is None or query.watermark <= self._emitted.get(query.name, 0):
            return None
        self._emitted[query.name] = query.watermark
        return SinkWindow(query.name, node, query.latency_ms)


def within(samples: Sequence[FleetSample], since_ms: int, until_ms: int) -> list[FleetSample]:
    return [sample for sample in samples if since_ms <= sample.at_ms <= until_ms]


def rows_per_s(samples: Sequence[FleetSample]) -> float:
    """Rows that were read between the first of these and the last."""
    if len(samples) < 2:
        return 0.0
    return 1000 * (samples[-1].read - samples[0].read) / (samples[-1].at_ms - samples[0].at_ms)


def moves_in(folder: Path) -> list[FleetMove]:
    """What the orchestrators of a fleet have decided, by their journals."""
    found = []
    for journal in sorted(folder.glob("o*/journal.db")):
        for entry in JournalReader(journal).entries(PLACEMENT):
            choices = entry.decided.choices if isinstance(entry.decided, Placements) else ()
            found += [
                FleetMove(entry.at, one.query, one.source, one.target, one.because)
                for one in choices
                if isinstance(one, Move)
            ]
    return sorted(found, key=lambda move: move.at_ms)


def wait_until(true: Callable[[], bool], seconds: float) -> bool:
    """Whether it has become so in time."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.2)
    return True
