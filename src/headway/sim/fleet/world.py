"""A fleet in virtual time: the live policies and questions on both ends, messages that take their time between them.

    world = FleetWorld(engine, PredictionRings(), seed=1)
    trace = world.run(until_ms=600_000)

Each second the engine steps, and each node measures, forecasts, asks its question and tells its status; a moment later the
orchestrator asks its own, and what it decides goes to the nodes. It knows a node by its last status, never by a look at the
engine; only a policy that `foresees` is shown the future.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import thread_time

import numpy as np

from headway.errors import SettingError
from headway.loop.kernel import Log
from headway.model.placement import Choice, Computations, Move, PlacementPolicy
from headway.model.time import WallMs
from headway.sim.agenda import Agenda
from headway.sim.fleet.engine import FleetEngine
from headway.sim.fleet.nodes import SimulatedNodes, node_name, query_name
from headway.sim.fleet.orchestrator import SimulatedOrchestrator
from headway.sim.fleet.senses import Senses, Sight
from headway.sim.fleet.trace import FleetTrace, MinuteBook
from headway.sim.microbatch import NoJournal


@dataclass(frozen=True, slots=True)
class FleetTimes:
    """When things happen."""

    step_ms: int = 1_000
    status_ms: int = 1_000  # between two statuses of a node, and two rounds of the orchestrator
    after_ms: int = 100  # a round comes so long after the statuses
    delay_ms: tuple[int, int] = (1, 50)  # of a message, from and to

    def __post_init__(self) -> None:
        if self.step_ms < 1 or self.status_ms < self.step_ms or self.status_ms % self.step_ms:
            raise SettingError("times.status_ms", self.status_ms, f"a multiple of the step of {self.step_ms} ms")
        low, high = self.delay_ms
        if not 0 <= low <= high:
            raise SettingError("times.delay_ms", self.delay_ms, "milliseconds from and to, such as (1, 50)")


class FleetWorld:
    """Nodes, orchestrator and messages around an engine."""

    def __init__(
        self,
        engine: FleetEngine,
        policy: PlacementPolicy,
        journal: Log | None = None,
        times: FleetTimes | None = None,
        sight: Sight | None = None,
        seed: int = 0,
    ) -> None:
        self.engine, self.times, self.trace, self.agenda = engine, times or FleetTimes(), FleetTrace(), Agenda()
        book = journal or NoJournal()
        self.nodes = SimulatedNodes(engine, policy, book)
        self.orchestrator = SimulatedOrchestrator(policy, book, self._send, self.foreseen)
        self._senses = Senses(engine.load, self.times.step_ms / 1000, sight or Sight())
        self._minutes = MinuteBook(self.trace)
        self._rng = np.random.default_rng([seed, 7])
        self._computations = {query_name(c): c for c in range(len(engine.load))}
        self._places = {node_name(n): n for n in range(len(engine.machines))}

    def run(self, until_ms: int) -> FleetTrace:
        self.agenda.at(self.agenda.clock.at + self.times.step_ms, self._step)
        while (following := self.agenda.next_at) is not None and following <= until_ms:
            self.agenda.clock.at = following
            self.agenda.run_due()
        return self.trace

    def _step(self) -> None:
        """The second that has just passed."""
        now, length = self.agenda.clock.at, self.times.step_ms
        step = self.engine.step(now - length, length / 1000)
        self._minutes.see(step, self.engine, length / 1000)
        self._senses.see(step)
        for move in step.landed:
            self.nodes.landed(move.computation, move.target)
        if now % self.times.status_ms == 0:
            self._tell(WallMs(now))
            self.agenda.at(now + self.times.after_ms, self._round)
        self.agenda.at(now + length, self._step)

    def _tell(self, now: WallMs) -> None:
        began = thread_time()
        statuses = self.nodes.statuses(self._senses.rings(now), now)
        self.trace.request_s.append(thread_time() - began)
        for status, delay in zip(statuses, self._delays(len(statuses)), strict=True):
            self.agenda.at(now + delay, lambda status=status: self.orchestrator.hear(status))  # type: ignore[misc]

    def _round(self) -> None:
        began = thread_time()
        self.orchestrator.round(self.agenda.clock.now())
        self.trace.round_s.append(thread_time() - began)

    def _send(self, node: str, choice: Choice) -> None:
        (delay,) = self._delays(1)
        self.agenda.at(self.agenda.clock.at + delay, self._hearing(node, choice))

    def _hearing(self, node: str, choice: Choice) -> Callable[[], None]:
        def hear() -> None:
            self.nodes.told(node, choice)
            if isinstance(choice, Move) and choice.source == node:
                self._begin(choice)

        return hear

    def _begin(self, move: Move) -> None:
        """The source begins the move. If the computation is not there, or on its way already, it says that it is over."""
        computation, source = self._computations[move.query], self._places[move.source]
        if int(self.engine.node_of[computation]) != source or self.engine.moves(computation):
            self.nodes.landed(computation, source)
            return
        self.engine.move(computation, self._places[move.target], self.agenda.clock.at)
        self.nodes.begun(move)

    def _delays(self, count: int) -> list[int]:
        low, high = self.times.delay_ms
        return [int(delay) for delay in self._rng.integers(low, high + 1, count)]

    def foreseen(self, now: WallMs) -> Computations:
        """The true rates to come, for a policy that is shown the future."""
        rings = self._senses.true_rings(now)
        homes = tuple(node_name(int(n)) for n in self.engine.node_of)
        return Computations(tuple(self._computations), rings, homes)
