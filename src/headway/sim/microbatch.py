"""Spark's engine in virtual time: micro-batches that cost a fixed part and a part per row, on cores that they share.

    world = World(Klink(), slots=1)
    world.add(Query("orders", window("3 s"), Stream("clicks", patience_ms=500, rows_per_s=10_000)))
    world.run(until_ms=30_000)
    assert not world.early and max(w.latency_ms for w in world.windows) < 400

Under a gated policy it stands on the ports of the real controller and behaves as Spark does under Headway: a batch reads
what had come when it began, emits by the watermark announced with the batch before, and asks at the gate again when it is
done. Under a gateless one every query runs its next batch as soon as it can, and its watermark follows the newest row.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import exp, inf, log, sqrt
from typing import Any, Literal

from headway.loop.capacity import Capacity
from headway.loop.controller import Controller
from headway.loop.guards import STANDARD
from headway.loop.kernel import Entry, Log
from headway.model.deadline import Deadlines, Grid
from headway.model.decision import Guard, OrderPolicy
from headway.model.declared import order_declares
from headway.model.message import Asked, BatchSeen, Gone, QuerySpec, Started
from headway.model.offset import ControlOffset
from headway.model.time import EventMs, WallMs
from headway.model.view import QueryView
from headway.sim.agenda import Agenda
from headway.sim.cores import Cores
from headway.sim.streams import VirtualInput


@dataclass(frozen=True)
class VirtualQuery:
    """A query with the true cost of its batches, which the controller has to find out."""

    name: str
    windows: Grid | Deadlines
    inputs: VirtualInput | tuple[VirtualInput, ...] = VirtualInput()
    fixed_ms: float = 100  # of a core
    per_row_ms: float = 0.01
    wait_ms: float = 0  # for logs and sockets, on no core
    selectivity: float = 0.1
    ahead: bool = True
    starts_ms: int = 0
    trigger_ms: int = 0
    fresh_ms: int | None = None

    @property
    def spec(self) -> QuerySpec:
        deadlines = self.windows if isinstance(self.windows, Deadlines) else Deadlines((self.windows,))
        inputs = tuple(i.spec for i in self.streams)
        return QuerySpec(
            self.name, inputs, deadlines, self.ahead, trigger_ms=self.trigger_ms, fresh_ms=self.fresh_ms
        )  # fmt: skip

    @property
    def streams(self) -> tuple[VirtualInput, ...]:
        return self.inputs if isinstance(self.inputs, tuple) else (self.inputs,)

    @property
    def patience_ms(self) -> int:
        return max(i.patience_ms for i in self.streams)


@dataclass(frozen=True, slots=True)
class Emitted:
    """A window that came out; its latency counts from when patience let it go."""

    query: str
    end: EventMs
    at: WallMs
    latency_ms: int


@dataclass
class Notebook:
    """A journal that only remembers."""

    entries: list[Entry] = field(default_factory=list)
    batches: list[BatchSeen] = field(default_factory=list)
    notes: list[tuple[WallMs, str, str]] = field(default_factory=list)

    def append(self, entry: Entry) -> None:
        self.entries.append(entry)

    def batch(self, seen: BatchSeen, view: QueryView) -> None:
        self.batches.append(seen)

    def note(self, at: WallMs, query: str, text: str) -> None:
        self.notes.append((at, query, text))


class NoJournal:
    """A journal for long runs: it forgets."""

    def append(self, entry: Entry) -> None: ...
    def batch(self, seen: BatchSeen, view: QueryView) -> None: ...
    def note(self, at: WallMs, query: str, text: str) -> None: ...


@dataclass
class _RunningQuery:
    """Where one query stands."""

    query: VirtualQuery
    spec: QuerySpec
    read_to: int
    emitted_to: int
    asked_at: int
    offset: ControlOffset = ControlOffset()
    swept: int = 0
    newest: int = 0  # event time, for the watermark of a query without a gate
    batches: int = 0


class VirtualWorld:
    """Queries, their rows and their batches, around a real controller. It is the controller's actuator and gauge."""

    def __init__(  # eight settings, all by name: users write the two or three that matter to their test
        self,
        policy: OrderPolicy,
        *,
        slots: int | Literal["auto"] = 1,
        cores: float = inf,
        spread: float = 0.0,
        seed: int = 0,
        guards: tuple[Guard, ...] = STANDARD,
        journal: Log | None = None,
        poll_ms: int = 5,
    ) -> None:
        """`spread` is the coefficient of variation of a batch's cost: no two take the same time."""
        self.agenda, self.cores, self.policy, self.declares = Agenda(), Cores(cores), policy, order_declares(policy)
        self.clock = self.agenda.clock
        self.notebook = Notebook()
        self.controller = Controller(
            self.clock, policy, self, self.notebook if journal is None else journal,
            Capacity(self, slots, 2 if cores == inf else round(cores), one_task=cores < inf), guards,
        )  # fmt: skip
        self.windows: list[Emitted] = []
        self.batches: list[BatchSeen] = []
        self.early: list[str] = []  # sweeps that did not wait for a window's stragglers: must stay empty
        self.polls = 0  # grants that found nothing to do, which cost `poll_ms` each
        self.memory = 0.0
        self.poll_ms = poll_ms
        self._chance = random.Random(seed)
        self._sigma = sqrt(log(1 + spread**2))
        self._running: dict[str, _RunningQuery] = {}

    def add(self, query: VirtualQuery) -> None:
        self.at(query.starts_ms, lambda: self._start(query))

    def at(self, ms: int, action: Callable[[], None]) -> None:
        """Do this at that moment: stop a query, fill the memory, ..."""
        self.agenda.at(ms, action)

    def stop(self, name: str) -> None:
        """The query is stopped, in the middle of its batch if need be."""
        if self._running.pop(name, None) is not None:
            self.controller.take(Gone(name))

    def run(self, until_ms: int) -> None:
        gated = self.declares.gated
        wake: float = self.clock.at if gated else inf
        while (soon := min(x for x in (wake, self.agenda.next_at, self.cores.next_at, inf) if x is not None)) <= until_ms:
            self.clock.at = max(self.clock.at, int(soon))
            self.cores.run_due(self.clock.at)
            self.agenda.run_due()
            if gated:
                wake = max(self.clock.at + 1, self.controller.turn())
        self.clock.at = max(self.clock.at, until_ms)

    # ---- the controller's ports

    def release(self, query: str, offset: ControlOffset) -> bool:
        state = self._running.get(query)
        if state is None:
            return False
        now, sweeps, before = self.clock.at, state.offset.wm, state.offset
        # Sources that are asked before the gate hold what had come by then.
        read_to = now if state.query.ahead else state.asked_at
        inputs = tuple(i.between(state.read_to, read_to) for i in state.query.streams)
        state.read_to, state.offset = read_to, offset
        if not any(i.rows for i in inputs) and offset == before and sweeps <= state.swept:
            self.polls += 1
            self.at(now + self.poll_ms, lambda: self._ask(state))
            return True
        self._check(state, sweeps, read_to)
        self._batch(state, sweeps, inputs)
        return True

    def cpu_ms(self) -> float:
        return self.cores.busy_ms

    def memory_used(self) -> float:
        return self.memory

    def parallelism(self) -> int | None:
        return None

    # ---- what happens by itself

    def _start(self, query: VirtualQuery) -> None:
        now = self.clock.at
        longest = max(i.longest_ms for i in query.streams)
        state = _RunningQuery(query, query.spec, now, max(0, now - longest), now)
        self._running[query.name] = state
        if self.declares.gated:
            self.controller.take(Started(state.spec))
        self._ask(state)

    def _ask(self, state: _RunningQuery) -> None:
        """At the gate again; without one, the next batch follows."""
        if self._running.get(state.query.name) is not state:
            return
        now = self.clock.at
        if self.declares.gated:
            state.asked_at = now
            self.controller.take(Asked(state.query.name, state.offset))
            return
        every = self.declares.every_ms
        self.at(now + (-now) % every if every else now, lambda: self._trigger(state))

    def _trigger(self, state: _RunningQuery) -> None:
        """A query without a gate: it runs if there are rows, or if its watermark has moved since it last ran."""
        if self._running.get(state.query.name) is not state:
            return
        now, watermark = self.clock.at, max(0, state.newest - state.query.patience_ms)
        inputs = tuple(i.between(state.read_to, now) for i in state.query.streams)
        if not any(i.rows for i in inputs) and watermark <= state.swept:
            self.at(now + max(1, self.poll_ms), lambda: self._ask(state))
            return
        state.read_to = now
        state.newest = max(state.newest, min((i.newest or 0 for i in inputs if i.rows), default=0))
        self._batch(state, watermark, inputs)

    def _batch(self, state: _RunningQuery, sweeps: int, inputs: tuple[Any, ...]) -> None:
        now, rows, query = self.clock.at, sum(i.rows for i in inputs), state.query
        chance = exp(self._chance.gauss(-(self._sigma**2) / 2, self._sigma)) if self._sigma else 1.0
        work = (query.fixed_ms + query.per_row_ms * rows) * chance
        state.batches += 1
        begun = BatchSeen(
            query.name, state.batches - 1, WallMs(now), WallMs(now), 0, rows, EventMs(sweeps) if sweeps else None,
            inputs, state_updated=round(query.selectivity * rows),
        )  # fmt: skip
        wait = round(query.wait_ms * chance)

        def computed() -> None:
            self.at(self.clock.at + wait, lambda: self._finish(state, begun))

        self.cores.start(now, work, computed)

    def _check(self, state: _RunningQuery, sweeps: int, read_to: int) -> None:
        """A window may be swept only by a batch that has read all that came in while patience lasted."""
        ripe = sweeps + state.query.patience_ms
        fixed = all(i.policy is None for i in state.query.streams)  # others know best what they wait for
        if fixed and sweeps > state.swept and read_to < ripe:
            self.early.append(f"{state.query.name} swept {sweeps} at {read_to}, {ripe - read_to} ms too soon")

    def _finish(self, state: _RunningQuery, begun: BatchSeen) -> None:
        if self._running.get(state.query.name) is not state:
            return
        now = self.clock.at
        seen = replace(begun, ended=WallMs(now), took_ms=now - begun.began)
        state.swept = max(state.swept, seen.watermark or 0)
        deadlines, patience = state.spec.deadlines, state.query.patience_ms
        while (end := deadlines.after(state.emitted_to)) <= state.swept:
            state.emitted_to = end
            self.windows.append(Emitted(seen.query, end, seen.ended, now - end - patience))
        self.batches.append(seen)
        if self.declares.gated:
            self.controller.take(seen)
        self._ask(state)
