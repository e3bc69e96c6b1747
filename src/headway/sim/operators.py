"""The papers' engine in virtual time: chains of operators with queues between them, cores that a scheduler hands out.

Every cycle of `r` milliseconds the policy orders the queries; each in turn gets the core time it can use, until there is
none left. The default is what an operating system does: all operators with something to do share the cores equally.

Queued events take memory. The fuller the heap, the more of the cores goes to the garbage collector: with a share `u` of it
in use, a collection costs the living `u` and lasts until the free `1 - u` is used up, so the work per event grows by
`gc x u / (1 - u)`. At the bound, sources take in nothing: backpressure. A generator that is held up makes no events
meanwhile, as a benchmark's does that waits for the system under test.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from time import process_time
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from headway.estimate.delays import Epochs
from headway.estimate.pressure import Pressure
from headway.model.arrays import Floats
from headway.model.deadline import Deadlines, Grid
from headway.model.time import EventMs, WallMs
from headway.model.view import InputView, QueryView
from headway.sim.delays import Delay
from headway.sim.draining import most_freed
from headway.sim.layout import OperatorLayout, tail_costs
from headway.sim.pipelines import Pipeline
from headway.sim.sharing import water_fill

EPS = 1e-6


class Order(Protocol):
    """What the engine asks of a policy: who goes first. Every order policy of ours can say, of queries or of operators."""

    def urgency(self, queries: Sequence[Any], now: WallMs) -> Floats: ...


@dataclass(slots=True)
class OperatorView:
    """An operator as a policy sees it: the part of a `QueryView` that orders operators, cheap to make thousands of."""

    waiting_since: WallMs
    granted_at: WallMs  # its oldest queued event came then
    rows_per_s: float
    fixed_ms: float
    per_row_ms: float  # from here to the end of the chain
    selectivity: float
    pace_ms: int = 1_000

    def queued(self, now: WallMs) -> float:
        return self.rows_per_s * max(0, now - self.granted_at) / 1000

    def cost_ms(self, now: WallMs) -> float:
        return self.fixed_ms + self.per_row_ms * self.queued(now)


@dataclass(frozen=True, slots=True)
class Node:
    """One node of the paper's cluster."""

    cores: int = 24
    memory_bytes: float = 17.5e9  # of queued events; more is not taken in
    heap_bytes: float = 19.5e9
    gc: float = 0.035  # what the collector adds to the work while as much of the heap lives as is free
    cycle_ms: int = 120  # r
    switch_ms: float = 0.5  # a core that turns to another query
    quantum_ms: int = 20  # how finely the operating system shares, for the default
    pressed: float = 0.8  # b: from this share of the bound on, Klink's memory policy is on
    calm_after_ms: int = 3_000  # it ends after that, or when half is freed, and rests as long


PAPER = Node()


@dataclass(slots=True)
class _WatermarksUnderWay:
    """The sweeping watermarks of one query that are on their way."""

    coming: deque[tuple[float, int]] = field(default_factory=deque)  # when it is ingested, window end
    inside: deque[tuple[float, int]] = field(default_factory=deque)  # what the last operator must have seen, window end


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
    """`queries` copies of a pipeline on one or more machines."""

    def __init__(
        self,
        pipeline: Pipeline,
        queries: int,
        policy: Order | None,
        delay: Delay,
        *,
        seed: int = 0,
        machine: Node = PAPER,
        nodes: int = 1,
        memory_policy: bool = False,
        closed: bool = True,
        by_operator: bool = False,
        holds: bool = False,
        confidence: float = 0.95,
    ) -> None:
        """Without a policy all operators share the cores. `closed`: a generator that is held up makes nothing meanwhile.
        `by_operator`: the policy orders single operators; else a query's turn runs events to the end of its chain.
        `holds`: a turn lasts until a watermark is through, and keeps a core until then, whether or not there are events."""
        self.pipeline, self.policy, self.machine, self.nodes = pipeline, policy, machine, nodes
        self.memory_policy, self.closed, self.by_operator, self.holds = memory_policy, closed, by_operator, holds
        self.confidence, self.delay = confidence, delay
        self.chance = np.random.default_rng(seed)
        self.n, self.k = queries, len(pipeline.operators)
        self.cost, self.selectivity = np.array(pipeline.costs_ms), np.array([o.selectivity for o in pipeline.operators])
        self.reach = np.array(pipeline.reach)
        self.whole_ms = float((self.cost * self.reach).sum())
        self.layout = OperatorLayout.spread(queries, self.k, nodes, self.cost, self.reach)
        self.now = 0
        self.starts = self.chance.integers(0, 20_000, queries)
        self.outside = np.zeros(queries)  # generated, not yet taken in
        self.made = np.zeros(queries)  # generated in all
        self.queue = np.zeros((queries, self.k))
        self.done = np.zeros((queries, self.k))
        self.head = np.full(queries, np.inf)  # what the last operator must have seen for the next mark to be through
        self.marks = [_WatermarksUnderWay() for _ in range(queries)]
        # Windows begin with their query: deployed at random moments, queries have their deadlines at random ones (6.2.1).
        self.deadlines = [
            Deadlines(tuple(Grid(g.period_ms, (g.offset_ms + int(s)) % g.period_ms) for g in pipeline.windows))
            for s in self.starts
        ]
        self.next_end = np.array([d.after(int(s)) for d, s in zip(self.deadlines, self.starts, strict=True)])
        self.next_in = np.full(queries, np.inf)  # when the next mark is ingested
        self.epochs = [[Epochs() for _ in range(pipeline.inputs)] for _ in range(queries)]
        rate = pipeline.events_per_s / pipeline.inputs
        fresh = tuple(InputView(f"in{i}", 0, True, rows_per_s=rate, source_sends=True) for i in range(pipeline.inputs))
        self.inputs: list[tuple[InputView, ...]] = [fresh] * queries
        self.foresees = hasattr(policy, "confidence")  # only then does it look at delays
        self.learnt = [False] * queries  # there are delays that the views of its inputs do not show yet
        self.swept = [EventMs(int(s)) for s in self.starts]
        self.ran_at = self.starts.copy()
        self.views: list[QueryView | None] = [None] * queries
        self.held = np.zeros(queries, dtype=bool)  # has its turn still
        self.ran_operator = np.repeat(self.starts[:, None], self.k, axis=1)
        self.pressure = Pressure(machine.pressed, machine.calm_after_ms)
        self.trace = EngineTrace(ideal_ms=self.whole_ms)

    # ---- the run

    def run(self, seconds: int, warm_s: int = 60) -> EngineTrace:
        step = self.machine.cycle_ms if self.policy is not None else self.machine.quantum_ms
        for start in range(0, seconds * 1000, step):
            self._cycle(start, step, count=start >= warm_s * 1000)
        self.trace.seconds = max(0, seconds - warm_s)
        return self.trace

    def _cycle(self, start: int, step: int, count: bool) -> None:
        self.now = start + step
        self._generate(start, step)
        before, used, machine = self.done.sum(), self._memory(), self.machine
        speed = 1 / (1 + machine.gc * used / max(EPS, machine.heap_bytes / machine.memory_bytes - used))
        self.room = max(0.0, (1 - used) * machine.memory_bytes * self.nodes / self.pipeline.event_bytes)
        whole = machine.cores * step * speed
        self.core = whole / machine.cores
        left = [whole - spent for spent in self._take_in(whole)]
        draining = self.memory_policy and self.policy is not None and self._pressed(used)
        # What a node or an operator sends on, the next goes on with in the same cycle, if it has cores left.
        for turn in range(self.k if self.by_operator else self.nodes):
            for node in range(self.nodes):
                if left[node] > EPS:
                    left[node] = self._serve_node(node, left[node], start, draining, first=turn == 0)
        self._pass_marks(count)
        if count:
            self.trace.processed += float(self.done.sum() - before)
            self.trace.memory.append(used)
            self.trace.cpu.append(1 - sum(left) / whole / self.nodes)

    def _generate(self, start: int, step: int) -> None:
        """Events and watermarks that come in during this cycle."""
        fresh = np.full(self.n, step * self.pipeline.events_per_s / 1000)
        if self.closed:  # what came before a query started is there; from then on half a second's worth may wait outside
            most = np.maximum(0.0, self.pipeline.events_per_s / 2 - self.outside)
            fresh = np.where(self.now > self.starts, np.minimum(fresh, most), fresh)
        self.trace.offered += float(fresh.sum())
        self.outside += fresh
        self.made += fresh
        for q in np.flatnonzero(self.next_end <= self.now).tolist():
            while self.next_end[q] <= self.now:
                self._delay_mark(q, int(self.next_end[q]))
                self.next_end[q] = self.deadlines[q].after(int(self.next_end[q]))
        for q in np.flatnonzero(self.next_in <= self.now).tolist():
            marks = self.marks[q]
            while marks.coming and marks.coming[0][0] <= self.now:
                at, end = marks.coming.popleft()
                # It stands behind all that came before it in this cycle.
                place = self.made[q] - fresh[q] * (self.now - max(at, start)) / step
                marks.inside.append((place * self.reach[-1], end))
            self.head[q] = marks.inside[0][0]
            self.next_in[q] = marks.coming[0][0] if marks.coming else np.inf

    def _delay_mark(self, q: int, end: int) -> None:
        """Each input's watermark takes a delay of its own; a join waits for the last. None overtakes another."""
        drawn = self.delay.quantile(self.chance.random(self.pipeline.inputs)).tolist()
        self.epochs[q] = [e.add(ms, ms**2, ((ms, 1.0),)) for e, ms in zip(self.epochs[q], drawn, strict=True)]
        coming = self.marks[q].coming
        coming.append((max(end + max(drawn), coming[-1][0] if coming else 0.0), end))
        self.next_in[q] = coming[0][0]

    def _memory(self) -> float:
        """Share of the bound that queued events take."""
        return float(self.queue.sum()) * self.pipeline.event_bytes / (self.machine.memory_bytes * self.nodes)

    def _take_in(self, whole: float) -> list[float]:
        """Sources take in what there is, as far as memory and half of the cores go, by themselves. Returns core time."""
        n = np.where(self.now > self.starts, np.minimum(self.outside, whole / self.machine.cores / self.cost[0]), 0.0)
        n *= min(1.0, self.room / max(EPS, float(n.sum())))
        spent = []
        for here in self.layout.here:
            first = here[:, 0]
            n[first] *= min(1.0, whole / 2 / max(EPS, float(n[first].sum()) * self.cost[0]))
            spent.append(float(n[first].sum()) * self.cost[0])
        self.outside -= n
        self.queue[:, 0] += n
        self._process(0, n)
        return spent

    def _serve_node(self, node: int, whole: float, start: int, draining: bool, first: bool) -> float:
        """Hand out a node's core time. Returns what is left of it."""
        if self.policy is None:
            return self._share(node, whole, first)
        if self.by_operator:
            return self._serve_operators(node, whole, start)
        return self._serve(node, whole, start, draining)

    # ---- without a policy: everybody shares

    def _share(self, node: int, whole: float, first: bool) -> float:
        """All operators with something to do get equal core time, none more than a core's. Returns what is left."""
        need = np.where(self.layout.here[node], self.queue * self.cost, 0.0)
        if first and (need > EPS).sum() > self.machine.cores:  # each core turns to another operator once in a quantum
            whole = max(0.0, whole - self.machine.switch_ms * self.machine.cores)
        given = water_fill(need.ravel(), whole, most=self.core).reshape(need.shape) / self.cost
        for k in range(self.k - 1, 0, -1):
            self._process(k, np.minimum(self.queue[:, k], given[:, k]))
        return whole - float((given * self.cost).sum())

    def _process(self, k: int, n: Floats) -> None:
        self.queue[:, k] -= n
        self.done[:, k] += n
        if k + 1 < self.k:
            self.queue[:, k + 1] += n * self.selectivity[k]

    # ---- with a policy: the most urgent first

    def _serve(self, node: int, whole: float, start: int, draining: bool) -> float:
        """Whoever is first gets all the core time it can use, then the next. Returns what is left."""
        end = self.layout.end[node]
        if draining:  # what frees most first, and no further down its chain than that takes
            freed, stop = most_freed(self.queue, self.cost, self.reach, self.selectivity, self.machine.cycle_ms)
            urgency = self._urgency([self._view(q) for q in range(self.n)], start)
            order = np.lexsort((urgency, -np.round(freed)))
            whole = self._turns(node, whole, order, np.minimum(stop, end))
        return self._turns(node, whole, None, end, start)

    def _turns(
        self, node: int, whole: float, order: NDArray[np.int64] | None, stop: NDArray[np.int64], start: int = 0
    ) -> float:
        """One after the other as far as operator `stop`; in the policy's own order unless told. Returns what is left."""
        here = self.layout.here[node] & (np.arange(self.k) < stop[:, None])
        tail = self.layout.tail[node] if order is None else np.where(here, tail_costs(self.cost, self.reach, stop), 0.0)
        need = (self.queue * tail).sum(axis=1)
        # A query's operators are a thread each: it can be on as many cores as it has operators here.
        need = np.minimum(np.where(need > EPS, need + self.machine.switch_ms, 0.0), here.sum(axis=1) * self.core)
        if need.sum() <= whole:  # there is enough for all: nothing to decide
            budget = need
        else:
            if order is None:
                order = np.argsort(self._urgency([self._view(q) for q in range(self.n)], start), kind="stable")
            taken = need[order]
            if self.holds:
                order = order[np.argsort(~self.held[order], kind="stable")]
                taken = np.maximum(need[order], self.core)
                self.held[order] = np.cumsum(taken) - taken + self.core <= whole
            before = np.cumsum(taken) - taken
            budget = np.zeros(self.n)
            budget[order] = np.clip(whole - before, 0.0, need[order])
        self._spend(here, tail, stop, np.maximum(0.0, budget - self.machine.switch_ms))
        for q in np.flatnonzero(budget > 0).tolist():
            self.ran_at[q], self.views[q] = self.now, None
        return whole - float(budget.sum())

    def _serve_operators(self, node: int, whole: float, start: int) -> float:
        """The same with single operators, each as far as one of them goes."""
        switch, core = self.machine.switch_ms, self.core
        need = np.where(self.layout.here[node], self.queue * self.cost, 0.0)
        need = np.minimum(np.where(need > EPS, need + switch, 0.0), core).ravel()
        budget = need
        if need.sum() > whole:
            busy = np.flatnonzero(need)
            views = self._operator_views(*np.divmod(busy, self.k))
            order = busy[np.argsort(self._urgency(views, start), kind="stable")]
            budget = np.zeros(len(need))
            budget[order] = np.clip(whole - (np.cumsum(need[order]) - need[order]), 0.0, need[order])
        given = np.maximum(0.0, budget - switch).reshape(self.queue.shape) / self.cost
        for k in range(self.k - 1, 0, -1):
            self._process(k, np.minimum(self.queue[:, k], given[:, k]))
        self.ran_operator[budget.reshape(self.queue.shape) > 0] = self.now
        return whole - float(budget.sum())

    def _operator_views(self, q: NDArray[np.int64], k: NDArray[np.int64]) -> list[OperatorView]:
        # An operator's oldest queued event is as old as all that were made since.
        behind_ms = (self.made[q] - self.done[q, k] / self.reach[k]) / self.pipeline.events_per_s * 1000
        tails, shares = self.layout.tail_whole.tolist(), (self.reach[-1] / self.reach * self.selectivity[-1]).tolist()
        seen = zip(self.ran_operator[q, k].tolist(), np.rint(behind_ms).astype(int).tolist(), k.tolist(), strict=True)
        rate, switch = self.pipeline.events_per_s, self.machine.switch_ms
        return [OperatorView(WallMs(ran), WallMs(self.now - ms), rate, switch, tails[i], shares[i]) for ran, ms, i in seen]

    def _urgency(self, views: Sequence[QueryView | OperatorView], start: int) -> Floats:
        assert self.policy is not None
        began = process_time()
        urgency = self.policy.urgency(views, WallMs(start))
        self.trace.decide_s += process_time() - began
        return urgency

    def _spend(self, here: NDArray[np.bool_], tail: Floats, stop: NDArray[np.int64], budget: Floats) -> None:
        """Run queued events as far as `stop`, the furthest first."""
        for k in range(self.k - 1, 0, -1):
            local = here[:, k]
            n = np.where(local, np.minimum(self.queue[:, k], budget / np.where(local, tail[:, k], 1.0)), 0.0)
            if n.any():
                budget = budget - n * tail[:, k]
                self.queue[:, k] -= n
                self._through(stop, k, n)

    def _through(self, stop: NDArray[np.int64], k: int, n: Floats) -> None:
        """`n` events go from operator `k` as far as `stop`; the rest of the chain finds them queued."""
        share = self.reach / self.reach[k]
        inside = (np.arange(self.k) >= k) & (np.arange(self.k) < stop[:, None])
        self.done += np.where(inside, n[:, None] * share, 0.0)
        sent = np.flatnonzero((stop < self.k) & (n > 0))
        if len(sent):
            self.queue[sent, stop[sent]] += n[sent] * share[stop[sent]]

    def _pressed(self, used: float) -> bool:
        """The memory policy is on by the same rule as live, its rests included."""
        self.pressure = self.pressure.step(WallMs(self.now), used)
        return self.pressure.view().pressed

    def _view(self, q: int) -> QueryView:
        view = self.views[q]
        if view is None:
            queued = float(self.queue[q] @ self.layout.tail_whole) / self.whole_ms
            ran = int(self.ran_at[q])
            if self.learnt[q] and self.foresees:
                self.learnt[q] = False
                self.inputs[q] = tuple(
                    replace(i, delay=e.view(self.confidence)) for i, e in zip(self.inputs[q], self.epochs[q], strict=True)
                )
            view = self.views[q] = QueryView(
                f"q{q:04d}", self.inputs[q], self.deadlines[q], waiting_since=WallMs(ran),
                # The oldest queued event came when, at its rate, all queued ones began to come.
                granted_at=WallMs(ran - round(queued / self.pipeline.events_per_s * 1000)),
                announced=self.swept[q], swept=self.swept[q], ahead=True,
                fixed_ms=self.machine.switch_ms, per_row_ms=self.whole_ms,
                selectivity=float(self.reach[-1] * self.selectivity[-1]),
            )  # fmt: skip
        return view

    # ---- watermarks on their way

    def _pass_marks(self, count: bool) -> None:
        """Watermarks whose last event before them has passed the last operator are out."""
        through = self.done[:, -1] + EPS * np.maximum(1.0, self.done[:, -1])
        for q in np.flatnonzero(through >= self.head).tolist():
            inside = self.marks[q].inside
            while inside and through[q] >= inside[0][0]:
                _, end = inside.popleft()
                if count:
                    self.trace.latencies_ms.append(self.now - end)
                    self.trace.at_ms.append(self.now)
                self._swept(q, end)
            self.head[q] = inside[0][0] if inside else np.inf

    def _swept(self, q: int, end: int) -> None:
        self.swept[q], self.held[q], self.learnt[q], self.views[q] = EventMs(end), False, True, None
