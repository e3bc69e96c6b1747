"""Core time handed out: to all operators alike, or to what a policy finds most urgent."""

from collections.abc import Sequence
from time import process_time

import numpy as np
from numpy.typing import NDArray

from headway.model.arrays import Floats
from headway.model.time import WallMs
from headway.model.view import QueryView
from headway.sim.draining import most_freed
from headway.sim.layout import OperatorLayout, tail_costs
from headway.sim.node import Node
from headway.sim.queues import Queues
from headway.sim.scheduling import EngineViews, OperatorView, Scheduling
from headway.sim.sharing import water_fill

EPS = 1e-6


class Dispatcher:
    """Hands out the core time of one node after the other, cycle by cycle."""

    def __init__(
        self, machine: Node, queues: Queues, layout: OperatorLayout, scheduling: Scheduling, views: EngineViews
    ) -> None:
        self._machine, self._queues, self._layout = machine, queues, layout
        self._scheduling, self._views = scheduling, views
        self.held = np.zeros(queues.n, dtype=bool)  # has its turn still
        self.decide_s = 0.0  # real time that decisions took
        self._start = self._now = 0
        self._core_ms = 0.0

    def begin(self, start: int, now: int, core_ms: float) -> None:
        """A cycle, in which each core has so much time to give."""
        self._start, self._now, self._core_ms = start, now, core_ms

    def serve(self, node: int, whole: float, draining: bool, first: bool) -> float:
        """Hand out a node's core time; `first` in this cycle. Returns what is left of it."""
        if self._scheduling.policy is None:
            return self._share(node, whole, first)
        if self._scheduling.by_operator:
            return self._serve_operators(node, whole)
        return self._serve_queries(node, whole, draining)

    # ---- without a policy: all share

    def _share(self, node: int, whole: float, first: bool) -> float:
        """All operators with something to do get equal core time, none more than a core's. Returns what is left."""
        queues = self._queues
        need = np.where(self._layout.here[node], queues.queue * queues.cost, 0.0)
        if first and (need > EPS).sum() > self._machine.cores:  # each core turns to another operator once in a quantum
            whole = max(0.0, whole - self._machine.switch_ms * self._machine.cores)
        most = water_fill(need.ravel(), whole, most=self._core_ms).reshape(need.shape) / queues.cost
        queues.process_all(most)
        return whole - float((most * queues.cost).sum())

    # ---- with a policy: the most urgent first

    def _serve_queries(self, node: int, whole: float, draining: bool) -> float:
        """The first query gets all the core time it can use, then the next. Returns what is left."""
        end, queues = self._layout.end[node], self._queues
        if draining:  # what frees most first, and no further down its chain than that takes
            freed, stop = most_freed(queues.queue, queues.cost, queues.reach, queues.selectivity, self._machine.cycle_ms)
            order = np.lexsort((self._urgency(self._views.queries(node)), -np.round(freed)))
            whole = self._turns(node, whole, order, np.minimum(stop, end))
        return self._turns(node, whole, None, end)

    def _turns(self, node: int, whole: float, order: NDArray[np.int64] | None, stop: NDArray[np.int64]) -> float:
        """One after the other as far as operator `stop`; without `order`, in the policy's own. Returns what is left."""
        queues, layout, switch = self._queues, self._layout, self._machine.switch_ms
        here = layout.here[node] & (np.arange(queues.k) < stop[:, None])
        tail = layout.tail[node] if order is None else np.where(here, tail_costs(queues.cost, queues.reach, stop), 0.0)
        need = (queues.queue * tail).sum(axis=1)
        # A query's operators are a thread each: it can be on as many cores as it has operators here.
        need = np.minimum(np.where(need > EPS, need + switch, 0.0), here.sum(axis=1) * self._core_ms)
        budget = (
            need if need.sum() <= whole else self._budget(node, need, whole, order)
        )  # with enough for all, nothing to decide
        queues.run_through(here, tail, stop, np.maximum(0.0, budget - switch))
        for q in np.flatnonzero(budget > 0).tolist():
            self._views.query_ran(q, self._now, node)
        return whole - float(budget.sum())

    def _budget(self, node: int, need: Floats, whole: float, order: NDArray[np.int64] | None) -> Floats:
        """By query: what it gets of core time that is not enough for all."""
        if order is None:
            order = np.argsort(self._urgency(self._views.queries(node)), kind="stable")
        taken = need[order]
        if self._scheduling.holds:
            order = order[np.argsort(~self.held[order], kind="stable")]
            taken = np.maximum(need[order], self._core_ms)
            self.held[order] = np.cumsum(taken) - taken + self._core_ms <= whole
        return _one_after_the_other(need, taken, order, whole)

    def _serve_operators(self, node: int, whole: float) -> float:
        """The same with single operators, each as far as one of them goes."""
        queues, switch = self._queues, self._machine.switch_ms
        need = np.where(self._layout.here[node], queues.queue * queues.cost, 0.0)
        need = np.minimum(np.where(need > EPS, need + switch, 0.0), self._core_ms).ravel()
        budget = need
        if need.sum() > whole:
            busy = np.flatnonzero(need)
            views = self._views.operators(*np.divmod(busy, queues.k), self._now)
            order = busy[np.argsort(self._urgency(views), kind="stable")]
            budget = _one_after_the_other(need, need[order], order, whole)
        queues.process_all(np.maximum(0.0, budget - switch).reshape(queues.queue.shape) / queues.cost)
        self._views.operators_ran(budget.reshape(queues.queue.shape) > 0, self._now)
        return whole - float(budget.sum())

    def _urgency(self, views: Sequence[QueryView | OperatorView]) -> Floats:
        assert self._scheduling.policy is not None
        began = process_time()
        urgency = self._scheduling.policy.urgency(views, WallMs(self._start))
        self.decide_s += process_time() - began
        return urgency


def _one_after_the_other(need: Floats, taken: Floats, order: NDArray[np.int64], whole: float) -> Floats:
    """Of `whole`, what each gets of its need if those before it in the `order` have `taken` theirs."""
    budget = np.zeros(len(need))
    budget[order] = np.clip(whole - (np.cumsum(taken) - taken), 0.0, need[order])
    return budget
