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
    """What a policy sees of the queries, or of their operators. A query's view is made anew when something has changed."""

    def __init__(
        self, pipeline: Pipeline, machine: Node, queues: Queues, layout: OperatorLayout, watermarks: Watermarks,
        scheduling: Scheduling, starts: NDArray[np.int64],
    ) -> None:  # fmt: skip
        self._machine, self._queues, self._layout, self._watermarks = machine, queues, layout, watermarks
        self._scheduling, self._events_per_s = scheduling, pipeline.events_per_s
        rate = pipeline.events_per_s / pipeline.inputs
        fresh = tuple(InputView(f"in{i}", 0, True, rows_per_s=rate, source_sends=True) for i in range(pipeline.inputs))
        self._inputs: list[tuple[InputView, ...]] = [fresh] * queues.n
        self._learnt = [False] * queues.n  # there are delays that the views of its inputs do not show yet
        self._made: list[QueryView | None] = [None] * queues.n
        self.swept = [EventMs(int(s)) for s in starts]
        self._ran_at = starts.copy()
        self._operator_ran_at = np.repeat(starts[:, None], queues.k, axis=1)

    def query_ran(self, q: int, now: int) -> None:
        self._ran_at[q], self._made[q] = now, None

    def operators_ran(self, which: NDArray[np.bool_], now: int) -> None:
        self._operator_ran_at[which] = now

    def query_swept(self, q: int, end: int) -> None:
        self.swept[q], self._learnt[q], self._made[q] = EventMs(end), True, None

    def queries(self) -> list[QueryView]:
        return [self._query(q) for q in range(self._queues.n)]

    def _query(self, q: int) -> QueryView:
        view = self._made[q]
        if view is None:
            queues = self._queues
            queued = float(queues.queue[q] @ self._layout.tail_whole) / queues.whole_ms
            ran = int(self._ran_at[q])
            if self._learnt[q] and self._scheduling.foresees:
                self._learnt[q] = False
                delays = [e.view(self._scheduling.confidence) for e in self._watermarks.epochs[q]]
                self._inputs[q] = tuple(replace(i, delay=d) for i, d in zip(self._inputs[q], delays, strict=True))
            view = self._made[q] = worked_out(QueryView(
                f"q{q:04d}", self._inputs[q], self._watermarks.deadlines[q], waiting_since=WallMs(ran),
                # The oldest queued event came when, at its rate, all queued ones began to come.
                granted_at=WallMs(ran - round(queued / self._events_per_s * 1000)),
                announced=self.swept[q], swept=self.swept[q], ahead=True,
                fixed_ms=self._machine.switch_ms, per_row_ms=queues.whole_ms,
                selectivity=float(queues.reach[-1] * queues.selectivity[-1]),
            ))  # fmt: skip
        return view

    def operators(self, q: NDArray[np.int64], k: NDArray[np.int64], now: int) -> list[OperatorView]:
        """Operator `k` of query `q`, for each pair of these."""
        queues, rate, switch = self._queues, self._events_per_s, self._machine.switch_ms
        # An operator's oldest queued event is as old as all that were made since.
        behind_ms = (queues.made[q] - queues.done[q, k] / queues.reach[k]) / rate * 1000
        tails = self._layout.tail_whole.tolist()
        shares = (queues.reach[-1] / queues.reach * queues.selectivity[-1]).tolist()
        seen = zip(self._operator_ran_at[q, k].tolist(), np.rint(behind_ms).astype(int).tolist(), k.tolist(), strict=True)
        return [OperatorView(WallMs(ran), WallMs(now - ms), rate, switch, tails[i], shares[i]) for ran, ms, i in seen]
