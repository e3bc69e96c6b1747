"""The papers' engine in virtual time: chains of operators with queues between them, cores that a scheduler hands out.

Every cycle of `r` milliseconds the policy orders the queries; each in turn gets the core time it can use, until there is
none left. The default is what an operating system does: all operators with something to do share the cores equally.

Queued events take memory. The fuller the heap, the more of the cores goes to the garbage collector: with a share `u` of it
in use, a collection costs the living `u` and lasts until the free `1 - u` is used up, so the work per event grows by
`gc x u / (1 - u)`. At the bound, sources take in nothing: backpressure. A generator that is held up makes no events
meanwhile, as a benchmark's does that waits for the system under test.
"""

from dataclasses import dataclass, field

import numpy as np

from headway.estimate.pressure import Pressure
from headway.model.arrays import Floats
from headway.model.time import WallMs
from headway.sim.delays import Delay
from headway.sim.dispatch import Dispatcher
from headway.sim.layout import OperatorLayout
from headway.sim.node import PAPER, Node
from headway.sim.pipelines import Pipeline
from headway.sim.queues import Queues
from headway.sim.scheduling import EngineViews, Scheduling
from headway.sim.watermarks import Watermarks

EPS = 1e-6


@dataclass(frozen=True, slots=True)
class EngineLoad:
    """What comes in: `queries` copies of a pipeline, and how long watermarks are under way to them."""

    pipeline: Pipeline
    queries: int
    delay: Delay
    closed: bool = True  # a generator that is held up makes nothing meanwhile


@dataclass
class EngineTrace:
    """What was seen: latencies of sweeping watermarks, and the machine over time."""

    latencies_ms: list[float] = field(default_factory=list)
    at_ms: list[int] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)  # share of the bound, cycle by cycle
    cpu: list[float] = field(default_factory=list)  # share of the cores at work, collector included
    processed: float = 0.0  # events, counted at every operator
    offered: float = 0.0
    seconds: float = 0.0
    decide_s: float = 0.0  # real time that decisions took
    ideal_ms: float = 0.0  # what one event costs through the whole chain


class Engine:
    """A load on one or more machines of one kind."""

    def __init__(
        self, load: EngineLoad, scheduling: Scheduling, *, machine: Node = PAPER, nodes: int = 1, seed: int = 0
    ) -> None:
        self.load, self.scheduling, self.machine, self.nodes = load, scheduling, machine, nodes
        chance = np.random.default_rng(seed)
        self.now = 0
        self.starts = chance.integers(0, 20_000, load.queries)
        self.queues = queues = Queues(load.pipeline, load.queries)
        self.layout = OperatorLayout.spread(load.queries, queues.k, nodes, queues.cost, queues.reach)
        self.watermarks = Watermarks(load.pipeline, load.delay, self.starts, chance)
        self.views = EngineViews(load.pipeline, machine, queues, self.layout, self.watermarks, scheduling, self.starts)
        self.dispatcher = Dispatcher(machine, queues, self.layout, scheduling, self.views)
        self.pressure = Pressure(machine.pressed, machine.calm_after_ms)
        self.trace = EngineTrace(ideal_ms=queues.whole_ms)

    def run(self, seconds: int, warm_s: int = 60) -> EngineTrace:
        """Play so many seconds; the first `warm_s` of them are not counted."""
        step = self.machine.cycle_ms if self.scheduling.policy is not None else self.machine.quantum_ms
        for start in range(0, seconds * 1000, step):
            self.cycle(start, step, count=start >= warm_s * 1000)
        self.trace.seconds = max(0, seconds - warm_s)
        self.trace.decide_s = self.dispatcher.decide_s
        return self.trace

    def cycle(self, start: int, step: int, count: bool) -> None:
        """The `step` milliseconds from `start` on: events come in, cores are handed out, watermarks are passed on."""
        self.now = start + step
        self._generate(start, step)
        before, used, machine = self.queues.done.sum(), self._memory(), self.machine
        whole = machine.cores * step * machine.speed(used)
        self.dispatcher.begin(start, self.now, whole / machine.cores)
        left = [whole - spent for spent in self._take_in(whole, used)]
        scheduling = self.scheduling
        draining = scheduling.memory_policy and scheduling.policy is not None and self.pressed(used)
        # What a node or an operator sends on, the next goes on with in the same cycle, if it has cores left.
        for turn in range(self.queues.k if scheduling.by_operator else self.nodes):
            for node in range(self.nodes):
                if left[node] > EPS:
                    left[node] = self.dispatcher.serve(node, left[node], draining, first=turn == 0)
        self._pass_watermarks(count)
        self.views.cycle_ends(self.now)
        if count:
            self.trace.processed += float(self.queues.done.sum() - before)
            self.trace.memory.append(used)
            self.trace.cpu.append(1 - sum(left) / whole / self.nodes)

    def _generate(self, start: int, step: int) -> None:
        """Events and watermarks that come in during this cycle."""
        rate = self.load.pipeline.events_per_s
        fresh: Floats = np.full(self.load.queries, step * rate / 1000)
        if self.load.closed:  # what came before a query started is there; then half a second's worth may wait outside
            most = np.maximum(0.0, rate / 2 - self.queues.outside)
            fresh = np.where(self.now > self.starts, np.minimum(fresh, most), fresh)
        self.trace.offered += float(fresh.sum())
        self.queues.generate(fresh)
        self.watermarks.generate(start, self.now, fresh, self.queues.made)

    def _memory(self) -> float:
        """Share of the bound that queued events take."""
        return self.queues.memory_bytes / (self.machine.memory_bytes * self.nodes)

    def _take_in(self, whole: float, used: float) -> list[float]:
        """Sources take in what there is, as far as memory and half of the cores go, by themselves. Returns core time."""
        queues, cost = self.queues, self.queues.cost[0]
        room = max(0.0, (1 - used) * self.machine.memory_bytes * self.nodes / queues.event_bytes)
        n = np.where(self.now > self.starts, np.minimum(queues.outside, whole / self.machine.cores / cost), 0.0)
        n *= min(1.0, room / max(EPS, float(n.sum())))
        spent = []
        for here in self.layout.here:
            first = here[:, 0]
            n[first] *= min(1.0, whole / 2 / max(EPS, float(n[first].sum()) * cost))
            spent.append(float(n[first].sum()) * cost)
        queues.take_in(n)
        return spent

    def pressed(self, used: float) -> bool:
        """Whether the memory policy is on, by the same rule as live, its rests included."""
        self.pressure = self.pressure.step(WallMs(self.now), used)
        return self.pressure.view().pressed

    def _pass_watermarks(self, count: bool) -> None:
        """Watermarks whose last event before them has passed the last operator are out."""
        for q, end in self.watermarks.passed(self.queues.done[:, -1]):
            if count:
                self.trace.latencies_ms.append(self.now - end)
                self.trace.at_ms.append(self.now)
            self.dispatcher.held[q] = False
            self.views.query_swept(q, end)
