"""A script played in virtual time: modelled Spark, the real control source, and the real controller between them."""

import contextlib
import io
import traceback
from collections.abc import Callable

from headway.loop.capacity import Capacity
from headway.loop.controller import Controller
from headway.model.message import Asked
from headway.model.offset import ControlOffset
from headway.policy.load import order_policy
from headway.sim.agenda import Agenda
from headway.sim.microbatch import NoJournal
from headway_lab.experiments.scripts.virtual.host import ControllerHost, PlayedController
from headway_lab.experiments.scripts.virtual.life import STARTING_MS, QueryLife
from headway_lab.experiments.scripts.virtual.script import BASE, Action, Script
from headway_lab.experiments.scripts.virtual.sources import sources_of
from headway_lab.experiments.scripts.virtual.trace import ScriptTrace
from headway_lab.experiments.scripts.virtual.two_clocks import TwoClocks

CLOSING_MS = 10_000  # how long rows come after the script's end, and as long again for every query

Maker = Callable[["ScriptWorld"], PlayedController]


def real_controller(world: "ScriptWorld") -> PlayedController:
    """The controller that users run."""
    return Controller(world.clock, order_policy(world.host.policy), world, NoJournal(), Capacity(world, world.script.slots))


class ScriptWorld:
    """Plays one script. It is the controller's clock, actuator and gauge."""

    def __init__(self, script: Script, make: Maker = real_controller) -> None:
        self.script, self._make = script, make
        self.agenda = Agenda()
        self.clock = TwoClocks(self.agenda.clock)
        self.host = ControllerHost(script.policy)
        self.host.controller = make(self)
        closing = script.length_ms + CLOSING_MS * (2 + len(script.queries)) + 3 * max(q.trigger_ms for q in script.queries)
        sources = sources_of(script, closing)
        self.lives = {q.name: QueryLife(q, sources[q.name], self.agenda, self.clock, self.host) for q in script.queries}
        self.trace = ScriptTrace(script, {name: life.trace for name, life in self.lives.items()}, end=BASE + closing)
        for life in self.lives.values():
            self.agenda.at(life.query.starts_ms, lambda life=life: life.start(life.query))  # type: ignore[misc]
        for action in script.actions:
            if action["do"] not in ("rows", "stream"):
                self.agenda.at(action["at"], lambda action=action: self._do(action))  # type: ignore[misc]

    def play(self) -> ScriptTrace:
        """All of it, or up to the first error of the controller."""
        with contextlib.redirect_stderr(io.StringIO()):  # the controller says loudly what a script does to it
            self._play()
        self._count()
        for life in self.lives.values():
            life.trace.last = life.query
        return self.trace

    def _play(self) -> None:
        wake, clock = 0, self.agenda.clock
        while (soon := min(wake, self.agenda.next_at if self.agenda.next_at is not None else wake)) <= self.trace.end - BASE:
            clock.at = max(clock.at, soon)
            try:
                self.agenda.run_due()
                turn = self.host.turn()
                again = 1_000 if turn is None else turn - self.clock.now()
            except Exception as error:
                place = traceback.extract_tb(error.__traceback__)[-1]
                self.trace.raised.append(
                    f"{type(error).__name__}: {error} ({place.filename.rsplit('/', 1)[-1]}, {place.name})"
                )
                break
            wake = clock.at + max(1, min(again, 1_000))

    # ---- the controller's ports

    def release(self, query: str, offset: ControlOffset) -> bool:
        return self.lives[query].let_through(offset)

    def cpu_ms(self) -> float:
        return 0.0

    def memory_used(self) -> float:
        return 0.0

    def parallelism(self) -> int | None:
        return None

    # ---- what the script has in store

    def _do(self, action: Action) -> None:
        life = self.lives[action["query"]] if "query" in action else None
        match action["do"]:
            case "restart" if life is not None:
                life.die(action["down"], action.get("settings", {}))
            case "crash" if life is not None:
                life.crash, life.down_ms = action["when"], action["down"]
            case "hang-up" if life is not None and life.up:
                life.hang_up(action["down"])
            case "report" if life is not None:
                life.reports.fail_next(action)
            case "driver":
                self._lose_driver(action["down"])
            case "controller":
                self._lose_controller(action["down"])
            case "step":
                self.clock.off += action["by"]
                self.trace.steps.append((self.clock.true_ms, self.clock.off))
            case "policy":
                self.host.change_policy(action["name"])

    def _lose_controller(self, down_ms: int) -> None:
        """It fails: messages wait until it has begun anew."""
        if not self.host.works:
            return
        self.host.fail()
        for life in self.lives.values():
            life.trace.away.append((self.clock.true_ms, self.clock.true_ms + down_ms))
        failed = self.host.controller
        self.agenda.at(self.agenda.clock.at + down_ms, lambda: self._rebuild(failed))

    def _rebuild(self, failed: PlayedController | None) -> None:
        if self.host.controller is not failed:  # the driver has died meanwhile
            return
        waited = self.host.rebuild()
        for life in self.lives.values():
            life.trace.anew.append(self.clock.true_ms)
        for message in waited:
            self.host.tell(message)

    def _lose_driver(self, down_ms: int) -> None:
        """Nothing is left of the controller; a new one begins by the wall clock, and is told of queries as they start."""
        self._count()
        self.host.lose()
        for life in self.lives.values():
            life.known = False
            if not life.up:  # it may come back before the controller does
                life.trace.away.append((self.clock.true_ms, self.clock.true_ms + down_ms + STARTING_MS))
            life.die(down_ms, {})
        self.agenda.at(self.agenda.clock.at + down_ms, self._begin_controller)

    def _begin_controller(self) -> None:
        if self.host.controller is None:
            self.clock.follow_wall()
            self.host.controller = self._make(self)
            for life in self.lives.values():
                if life.up:  # it was down when the driver died, and was started before the controller was there
                    life.introduce()
                if life.up and life.waiting is not None:
                    self.host.tell(Asked(life.query.name, life.waiting))

    def _count(self) -> None:
        """Write down what users are told of rows that are in no result, before it is forgotten."""
        for query in self.host.counts():
            for counted in query.inputs:
                sums = self.trace.counted.setdefault((query.name, counted.name), {"late": 0, "timeless": 0, "future": 0})
                for reason in sums:
                    sums[reason] += getattr(counted, reason)
