"""Events queued between the operators of many copies of one chain, as arrays: query x operator."""

import numpy as np
from numpy.typing import NDArray

from headway.model.arrays import Floats
from headway.sim.pipelines import Pipeline


class Queues:
    """What waits before each operator, what each has processed, and what is not taken in yet."""

    def __init__(self, pipeline: Pipeline, queries: int) -> None:
        self.n, self.k = queries, len(pipeline.operators)
        self.cost, self.selectivity = np.array(pipeline.costs_ms), np.array([o.selectivity for o in pipeline.operators])
        self.reach = np.array(pipeline.reach)
        self.whole_ms = float((self.cost * self.reach).sum())  # what one event costs through the whole chain
        self.event_bytes = pipeline.event_bytes
        self.outside = np.zeros(queries)  # generated, not yet taken in
        self.made = np.zeros(queries)  # generated in all
        self.queue = np.zeros((queries, self.k))
        self.done = np.zeros((queries, self.k))

    def generate(self, events: Floats) -> None:
        """So many of each query are there to be taken in."""
        self.outside += events
        self.made += events

    def take_in(self, events: Floats) -> None:
        """The source of each query takes in so many, and processes them."""
        self.outside -= events
        self.queue[:, 0] += events
        self.process(0, events)

    def process(self, k: int, events: Floats) -> None:
        """Operator `k` processes so many of each query; what comes out waits before the next."""
        self.queue[:, k] -= events
        self.done[:, k] += events
        if k + 1 < self.k:
            self.queue[:, k + 1] += events * self.selectivity[k]

    def process_all(self, most: Floats) -> None:
        """Every operator but the source processes what waits before it, `most` at most; the last one first."""
        for k in range(self.k - 1, 0, -1):
            self.process(k, np.minimum(self.queue[:, k], most[:, k]))

    def run_through(self, here: NDArray[np.bool_], tail: Floats, stop: NDArray[np.int64], budget: Floats) -> None:
        """Run events as far as operator `stop` of their query, those that are furthest first, for this much core time.

        `here` are the operators that may be run, and `tail` what an event costs from each of them to `stop`.
        """
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

    @property
    def memory_bytes(self) -> float:
        """What queued events take."""
        return float(self.queue.sum()) * self.event_bytes
