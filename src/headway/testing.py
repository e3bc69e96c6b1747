"""A world in virtual time, to try a policy on without Spark and without waiting.

    world = VirtualWorld(Klink(), slots=1)
    world.add(VirtualQuery("orders", window("3 s"), VirtualInput("clicks", patience_ms=500, rows_per_s=10_000)))
    world.run(until_ms=30_000)
    assert not world.early and max(w.latency_ms for w in world.windows) < 400

It stands on the ports of the real controller and behaves as Spark does: a batch reads what had come when it began, emits
by the watermark announced with the batch before, and asks at the gate again when it is done.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from headway.loop.controller import Controller, Entry, Log
from headway.loop.guards import STANDARD, Guard
from headway.model.deadline import Deadlines, Grid
from headway.model.decision import OrderPolicy
from headway.model.message import Asked, BatchSeen, Gone, InputSeen, InputSpec, QuerySpec, Started
from headway.model.time import EventMs, VirtualClock, WallMs
from headway.model.view import QueryView


@dataclass(frozen=True, slots=True)
class VirtualInput:
    """A steady stream whose rows take the given network delays in turn; silent after `until_ms`."""

    name: str = "rows"
    patience_ms: int = 200
    rows_per_s: float = 1_000
    delays_ms: tuple[int, ...] = (20, 60, 100)
    until_ms: int = 1 << 60

    def between(self, start: int, end: int) -> InputSeen:
        """What a batch reads that takes the rows which came in from `start` to `end`."""
        end = max(start, min(end, self.until_ms))
        rows = int(self.rows_per_s * end / 1000) - int(self.rows_per_s * start / 1000)
        if not rows:
            return InputSeen(self.name, 0)
        share = rows / len(self.delays_ms)
        return InputSeen(
            self.name,
            rows,
            newest=EventMs(end - min(self.delays_ms)),
            oldest=EventMs(start - max(self.delays_ms)),
            delays=tuple((float(d), share) for d in self.delays_ms),
            old=tuple((start - d, share) for d in self.delays_ms if d > self.patience_ms),
        )


@dataclass(frozen=True)
class VirtualQuery:
    """A query with the true cost of its batches, which the controller has to find out."""

    name: str
    windows: Grid | Deadlines
    inputs: VirtualInput | tuple[VirtualInput, ...] = VirtualInput()
    fixed_ms: float = 100
    per_row_ms: float = 0.01
    selectivity: float = 0.1
    ahead: bool = True
    starts_ms: int = 0

    @property
    def spec(self) -> QuerySpec:
        deadlines = self.windows if isinstance(self.windows, Deadlines) else Deadlines((self.windows,))
        return QuerySpec(self.name, tuple(InputSpec(i.name, i.patience_ms) for i in self.streams), deadlines, self.ahead)

    @property
    def streams(self) -> tuple[VirtualInput, ...]:
        return self.inputs if isinstance(self.inputs, tuple) else (self.inputs,)


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


@dataclass
class _Running:
    """Where one query stands."""

    query: VirtualQuery
    read_to: int
    emitted_to: int
    asked_at: int
    offset: dict[str, int] = field(default_factory=lambda: {"seq": 0, "wm": 0, "live": 0})
    swept: int = 0
    batches: int = 0


class VirtualWorld:
    """Queries, their rows and their batches, around a real controller. It is the controller's actuator and gauge."""

    def __init__(
        self,
        policy: OrderPolicy,
        *,
        slots: int = 1,
        guards: tuple[Guard, ...] = STANDARD,
        journal: Log | None = None,
        poll_ms: int = 5,
    ) -> None:
        self.clock = VirtualClock()
        self.notebook = Notebook()
        self.controller = Controller(
            self.clock, policy, self, self.notebook if journal is None else journal, self, slots=slots, guards=guards
        )
        self.windows: list[Emitted] = []
        self.batches: list[BatchSeen] = []
        self.early: list[str] = []  # sweeps that did not wait for a window's stragglers: must stay empty
        self.polls = 0  # grants that found nothing to do, which cost `poll_ms` each
        self.memory = 0.0
        self.poll_ms = poll_ms
        self._running: dict[str, _Running] = {}
        self._work_ms = 0.0
        self._agenda: list[tuple[int, int, Callable[[], None]]] = []
        self._order = count()

    def add(self, query: VirtualQuery) -> None:
        self.at(query.starts_ms, lambda: self._start(query))

    def at(self, ms: int, action: Callable[[], None]) -> None:
        """Do this at that moment: stop a query, fill the memory, ..."""
        heapq.heappush(self._agenda, (ms, next(self._order), action))

    def stop(self, name: str) -> None:
        """The query is stopped, in the middle of its batch if need be."""
        if self._running.pop(name, None) is not None:
            self.controller.take(Gone(name))

    def run(self, until_ms: int) -> None:
        wake = self.clock.at
        while (soon := min([wake, *(at for at, _, _ in self._agenda[:1])])) <= until_ms:
            self.clock.at = max(self.clock.at, soon)
            while self._agenda and self._agenda[0][0] <= self.clock.at:
                heapq.heappop(self._agenda)[2]()
            wake = max(self.clock.at + 1, self.controller.turn())
        self.clock.at = max(self.clock.at, until_ms)

    # ---- the controller's ports

    def release(self, query: str, offset: dict[str, int]) -> bool:
        state = self._running.get(query)
        if state is None:
            return False
        now, sweeps, before = self.clock.at, state.offset["wm"], state.offset
        # Sources that are asked before the gate hold what had come by then.
        read_to = now if state.query.ahead else state.asked_at
        inputs = tuple(i.between(state.read_to, read_to) for i in state.query.streams)
        state.read_to, state.offset = read_to, offset
        rows = sum(i.rows for i in inputs)
        if not rows and offset == before and sweeps <= state.swept:
            self.polls += 1
            self.at(now + self.poll_ms, lambda: self._ask(state))
            return True
        self._check(state, sweeps, read_to)
        took = round(state.query.fixed_ms + state.query.per_row_ms * rows)
        state.batches += 1
        seen = BatchSeen(
            query, state.batches - 1, WallMs(now), WallMs(now + took), took, rows, EventMs(sweeps) if sweeps else None,
            inputs, state_updated=round(state.query.selectivity * rows),
        )  # fmt: skip
        self.at(now + took, lambda: self._finish(state, seen))
        return True

    def cpu_ms(self) -> float:
        return self._work_ms

    def memory_used(self) -> float:
        return self.memory

    # ---- what happens by itself

    def _start(self, query: VirtualQuery) -> None:
        now = self.clock.at
        state = _Running(query, now, max(0, now - max(d for i in query.streams for d in i.delays_ms)), now)
        self._running[query.name] = state
        self.controller.take(Started(query.spec))
        self._ask(state)

    def _ask(self, state: _Running) -> None:
        if self._running.get(state.query.name) is state:
            state.asked_at = self.clock.at
            self.controller.take(Asked(state.query.name, state.offset))

    def _check(self, state: _Running, sweeps: int, read_to: int) -> None:
        """A window may be swept only by a batch that has read all that came in while patience lasted."""
        patience = max(i.patience_ms for i in state.query.streams)
        if sweeps > state.swept and read_to < sweeps + patience:
            self.early.append(f"{state.query.name} swept {sweeps} at {read_to}, {sweeps + patience - read_to} ms too soon")

    def _finish(self, state: _Running, seen: BatchSeen) -> None:
        if self._running.get(state.query.name) is not state:
            return
        self._work_ms += seen.took_ms
        state.swept = max(state.swept, seen.watermark or 0)
        deadlines = state.query.spec.deadlines
        patience = max(i.patience_ms for i in state.query.streams)
        while (end := deadlines.after(state.emitted_to)) <= state.swept:
            state.emitted_to = end
            self.windows.append(Emitted(seen.query, end, seen.ended, seen.ended - end - patience))
        self.batches.append(seen)
        self.controller.take(seen)
        self._ask(state)
