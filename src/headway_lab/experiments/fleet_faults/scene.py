"""What faults are done to: a fleet that runs, what it is asked, and what is waited for."""

import random
import secrets
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

from headway.errors import HeadwayError
from headway.fleet.fleet_client import FleetClient
from headway.fleet.orchestrator.wire import AskReceipt, FleetStanding, MoveWanted
from headway_lab.experiments.fleet_faults.fenced_sink import FencedSinks
from headway_lab.experiments.fleet_faults.record_watch import watch
from headway_lab.experiments.fleet_faults.trial_fleet import NODES, TrialFleet, standing, whole

STUCK_S = 120.0  # after which a query, a move or a fleet that has not gone on counts as stuck
WHOLE_S = 240.0  # for a fleet to be whole again: Sparks are started, on a busy machine
STEP_S = 40.0  # for a move to come to a step
LOOK_S = 0.05


class Stuck(HeadwayError):
    """Something has not gone on in all the time there was."""


@dataclass
class FaultDone:
    """One fault, and what came of it."""

    how: str
    begun_ms: int
    since_ms: int = 0  # queries have gone on when each has put out a window that ended after this moment, and the begin
    takeover_s: float | None = None  # until there was a primary again
    outcome: str = ""  # of a move that was under way
    trouble: str = ""  # what was not as it was promised


@dataclass(frozen=True, slots=True)
class MoveUnderWay:
    """A move that was asked for, aside: its answer may take as long as there is no primary."""

    id: str
    query: str
    source: str
    target: str
    asked: Future[AskReceipt]


@dataclass
class FaultScene:
    """One thread acts."""

    fleet: TrialFleet
    client: FleetClient
    sinks: FencedSinks
    chance: random.Random
    number: int = 0  # of the fault among those of its kind: what it does differs with it
    workers: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(4, thread_name_prefix="fleet-faults"))

    def standing(self) -> FleetStanding:
        found: list[FleetStanding] = []

        def there() -> bool:
            seen = standing(self.client)
            found[:] = [] if seen is None else [seen]
            return bool(found)

        until(there, STUCK_S, "there is no primary")
        return found[0]

    def primary(self) -> str:
        return self.standing().orchestrator.partition(" ")[0]

    def busy_node(self) -> str:
        """One that hosts a query."""
        return self.chance.choice(sorted({one.node for one in self.standing().queries if one.node is not None}))

    def pid(self, name: str) -> int:
        return self.fleet.members[name].pid

    def takeover(self, *names: str) -> float:
        """How long it takes from now until one of these orchestrators is the primary, in seconds."""
        begun = time.monotonic()
        with self.fleet.client(*names) as client:
            until(lambda: standing(client) is not None, STUCK_S, f"none of {', '.join(names)} becomes the primary", 0.02)
        return round(time.monotonic() - begun, 3)

    def serving(self) -> list[str]:
        """Nodes that do."""
        return sorted(node.name for node in self.standing().nodes if node.state == "serving")

    def go_on(self, since_ms: int) -> None:
        """Until every query has put out a window that ended after this moment."""
        until(lambda: min(self.sinks.newest().values()) > since_ms, STUCK_S, "a query puts out no more windows")

    def await_whole(self, nodes: int = len(NODES)) -> None:
        """Every query serves, and so many nodes do; the others are being started."""

        def there() -> bool:
            return whole(standing(self.client), nodes) and not self.fleet.ended

        try:
            until(there, WHOLE_S, "the fleet is not whole again")
        except Stuck as error:
            raise Stuck(f"{error}: {self.words()}") from None

    def words(self) -> str:
        """Which processes are not as they should be."""
        found = standing(self.client)
        if found is None:
            return "there is no primary"
        ended = [f"{name} has ended ({self.fleet.said(name)})" for name in self.fleet.ended]
        nodes = [f"{one.name} is {one.state}" for one in found.nodes if one.state != "serving"]
        queries = [f"{one.name} is {one.phase} on {one.node}: {one.error or one.move}" for one in found.queries]
        return "; ".join([*ended, *nodes, *queries])

    # ---- moves

    def ask_move(self, query: str, target: str) -> tuple[str, Future[AskReceipt]]:
        id = secrets.token_hex(4)
        return id, self.workers.submit(self.client.ask, "move", MoveWanted(id, query, target))

    @contextmanager
    def move_at(self, step: str) -> Iterator[tuple[MoveUnderWay, str]]:
        """A move of some query, at this step or beyond: the one that it is at is told."""
        one = self.chance.choice([query for query in self.standing().queries if query.node is not None])
        source = str(one.node)
        target = self.chance.choice([node for node in self.serving() if node != source])
        with watch(self.fleet.zookeeper_address, one.name) as record:
            id, asked = self.ask_move(one.name, target)
            at = record.until(id, step, STEP_S)
            if at == "never begun":
                raise Stuck(f"a move of {one.name} to {target} does not come to {step!r} within {STEP_S:g} s")
            yield MoveUnderWay(id, one.name, source, target, asked), at

    def outcome(self, move: MoveUnderWay) -> str:
        """How it has ended."""
        receipt = move.asked.result(STUCK_S)
        if not receipt.accepted:
            return f"refused: {receipt.line}"
        until(lambda: self.client.progress(move.query, move.id).state != "under way", STUCK_S, "a move does not end")
        return self.client.progress(move.query, move.id).state


def until(there: Callable[[], bool], limit_s: float, otherwise: str, look_s: float = LOOK_S) -> None:
    """Raises Stuck."""
    end = time.monotonic() + limit_s
    while not there():
        if time.monotonic() > end:
            raise Stuck(f"{otherwise}, in {limit_s:g} s")
        time.sleep(look_s)
