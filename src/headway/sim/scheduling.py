"""How an engine hands out its cores: by which policy, of queries or of single operators, and what that policy sees."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from headway.estimate.due import worked_out
from headway.model.arrays import Floats
from headway.model.declared import order_declares
from headway.model.time import EventMs, WallMs
from headway.model.view import InputView, QueryView
from headway.sim.bulletins import TOLD, Bulletins, Messages
from headway.sim.layout import OperatorLayout
from headway.sim.node import Node
from headway.sim.pipelines import Pipeline
from headway.sim.queues import Queues
from headway.sim.watermarks import Watermarks


class Order(Protocol):
    """What the engine asks of a policy: what goes first. Every order policy of ours can say, of queries or of operators."""

    def urgency(self, queries: Sequence[Any], now: WallMs) -> Floats: ...


@dataclass(frozen=True, slots=True)
class Scheduling:
    """Settings: the policy, and how its turns are taken."""

    policy: Order | None = None  # None: all operators share the cores, as an operating system has it
    by_operator: bool = False  # the policy orders single operators; else a query's turn runs events to its chain's end
    holds: bool = False  # a turn lasts until a watermark is through, and keeps a core until then, with or without events
    memory_policy: bool = False  # Klink's: short of memory, what frees most goes first
    confidence: float = 0.95  # of the intervals in which delays are expected
    messages: Messages = TOLD  # between nodes

    @property
    def foresees(self) -> bool:
        """Whether the policy looks at delays."""
        return order_declares(self.policy).confidence is not None


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


class EngineViews:
    """What a policy sees of the queries, or of their operators. A query's view is made anew when something has changed.

    Each node has views of its own: of what is not there it knows what it was told.
    """

    def __init__(
        self, pipeline: Pipeline, machine: Node, queues: Queues, layout: OperatorLayout, watermarks: Watermarks,
        scheduling: Scheduling, starts: NDArray[np.int64],
    ) -> None:  # fmt: skip
        self._machine, self._queues, self._layout, self._watermarks = machine, queues, layout, watermarks
        self._scheduling, self._events_per_s = scheduling, pipeline.events_per_s
        rate = pipeline.events_per_s / pipeline.inputs
        fresh = tuple(InputView(f"in{i}", 0, True, rows_per_s=rate, source_sends=True) for i in range(pipeline.inputs))
        nodes = len(layout.here)
        self._inputs: list[list[tuple[InputView, ...]]] = [[fresh] * queues.n for _ in range(nodes)]
        self._learnt = [[False] * queues.n for _ in range(nodes)]  # there are delays that the views of its inputs lack yet
        self._made: list[list[QueryView | None]] = [[None] * queues.n for _ in range(nodes)]
        self.swept = [EventMs(int(s)) for s in starts]
        self._ran_at = np.repeat(starts[None, :], nodes, axis=0)
        self._operator_ran_at = np.repeat(starts[:, None], queues.k, axis=1)
        self._bulletins = Bulletins.silent(scheduling.messages, queues, self.swept, pipeline.inputs)

    def query_ran(self, q: int, now: int, node: int = 0) -> None:
        self._ran_at[node, q], self._made[node][q] = now, None

    def operators_ran(self, which: NDArray[np.bool_], now: int) -> None:
        self._operator_ran_at[which] = now

    def query_swept(self, q: int, end: int) -> None:
        self.swept[q] = EventMs(end)
        for node, here in enumerate(self._layout.here):
            if here[q, 0] or here[q, -1]:  # where its source is, or its end
                self._learnt[node][q], self._made[node][q] = True, None

    def cycle_ends(self, now: int) -> None:
        """Nodes tell each other how they stand."""
        nodes = len(self._layout.here)
        if nodes > 1 and self._bulletins.tell(now, self._queues, self.swept, self._watermarks):
            for node in range(nodes):
                self._learnt[node] = [True] * self._queues.n
                self._made[node] = [None] * self._queues.n

    def queries(self, node: int = 0) -> list[QueryView]:
        return [self._query(q, node) for q in range(self._queues.n)]

    def _query(self, q: int, node: int) -> QueryView:
        view = self._made[node][q]
        if view is None:
            queues, here = self._queues, self._layout.here[node][q]
            queued = self._waiting_ms(q, node) / queues.whole_ms
            ran = int(self._ran_at[node, q])
            known = self._bulletins.known
            if self._learnt[node][q] and self._scheduling.foresees:
                self._learnt[node][q] = False
                epochs = self._watermarks.epochs[q] if here[0] else known.epochs[q]
                delays = [e.view(self._scheduling.confidence) for e in epochs]
                inputs = zip(self._inputs[node][q], delays, strict=True)
                self._inputs[node][q] = tuple(replace(i, delay=d) for i, d in inputs)
            swept = self.swept[q] if here[-1] else self._passed(q, node)
            view = self._made[node][q] = worked_out(QueryView(
                f"q{q:04d}", self._inputs[node][q], self._watermarks.deadlines[q], waiting_since=WallMs(ran),
                # The oldest queued event came when, at its rate, all queued ones began to come.
                granted_at=WallMs(ran - round(queued / self._events_per_s * 1000)),
                announced=swept, swept=swept, ahead=True,
                fixed_ms=self._machine.switch_ms, per_row_ms=queues.whole_ms,
                selectivity=float(queues.reach[-1] * queues.selectivity[-1]),
            ))  # fmt: skip
        return view

    def _passed(self, q: int, node: int) -> EventMs:
        """The window whose watermark has passed what is here of the chain: the next one is wanted of this node."""
        last = int(self._layout.end[node][q]) - 1
        seen = float(self._queues.done[q, last] / self._queues.reach[last])
        return EventMs(max(self._bulletins.known.swept[q], self._watermarks.through(q, seen)))

    def _waiting_ms(self, q: int, node: int) -> float:
        """What is queued here costs to the end of the chain, and so does what was told to be queued behind it. What lies in
        front of it does not count here: it has not come yet."""
        here, tail = self._layout.here[node][q], self._layout.tail_whole
        if here.all():
            return float(self._queues.queue[q] @ tail)
        behind = np.arange(self._queues.k) >= self._layout.end[node][q]
        if not self._scheduling.messages.none:
            return float((self._queues.queue[q] * here + self._bulletins.known.queue[q] * behind) @ tail)
        return float(self._queues.queue[q] @ self._layout.tail[node][q])

    def operators(self, q: NDArray[np.int64], k: NDArray[np.int64], now: int) -> list[OperatorView]:
        """Operator `k` of query `q`, for each pair of these."""
        queues, rate, switch = self._queues, self._events_per_s, self._machine.switch_ms
        # An operator's oldest queued event is as old as all that were made since.
        behind_ms = (queues.made[q] - queues.done[q, k] / queues.reach[k]) / rate * 1000
        tails = self._layout.tail_whole.tolist()
        shares = (queues.reach[-1] / queues.reach * queues.selectivity[-1]).tolist()
        seen = zip(self._operator_ran_at[q, k].tolist(), np.rint(behind_ms).astype(int).tolist(), k.tolist(), strict=True)
        return [OperatorView(WallMs(ran), WallMs(now - ms), rate, switch, tails[i], shares[i]) for ran, ms, i in seen]
