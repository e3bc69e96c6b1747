"""A fleet of nodes whose statuses a test writes: rings are filled from them, and placement is asked."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from headway.fleet.moves.record import FleetIncarnation, Phase, QueryRecord, Revision
from headway.fleet.node.wire import HostedQuery, MachineFigures, NodeStatus
from headway.fleet.orchestrator.loads import FleetLoads
from headway.fleet.orchestrator.rounds import PlacementRounds
from headway.fleet.orchestrator.views import FleetSeen, NodeHeard
from headway.fleet.orchestrator.wishes import Wishes
from headway.loop.kernel import Kernel
from headway.model.time import WallMs
from headway.testing import Notebook

REVISION = Revision("/p/a.py")


def at_once(work: Callable[..., Any], *arguments: Any) -> "Future[Any]":
    done: Future[Any] = Future()
    done.set_result(work(*arguments))
    return done


class LoadedFleet:
    """Two nodes of one core; every second each query has read so many rows, each of which took a millisecond."""

    def __init__(self, policy: Any, rates: dict[str, dict[str, float]], loads: dict[str, float]) -> None:
        self.rates, self.load = rates, loads
        self.loads, self.journal, self.wishes = FleetLoads(at_once), Notebook(), Wishes()
        self.rounds = PlacementRounds(Kernel(self.journal), policy, self.loads)
        self.rounds.carry_to(self.wishes)
        self.heard: dict[str, NodeHeard] = {}
        self.now, self.number = WallMs(1_000_000), 0

    def second(self, **more: Any) -> None:
        self.now, self.number = WallMs(self.now + 1_000), self.number + 1
        for node, queries in self.rates.items():
            status = NodeStatus(node, "run", "0", self.number, self.now, self._machine(node), self._hosted(queries))
            self.loads.hear(status, self.now)
            self.heard[node] = NodeHeard(status, self.now)
        self.loads.step(self.now)
        self.rounds.look(self.seen(**more))
        self.rounds.turn(self.now)

    def seen(self, **more: Any) -> FleetSeen:
        records = tuple(record(query, node) for node, queries in self.rates.items() for query in queries)
        return FleetSeen(self.now, frozenset(self.rates), self.heard, records, **more)

    def _machine(self, node: str) -> MachineFigures:
        return MachineFigures(self.load[node], 1, 0.5, 0.0, 0.0, 0.3)

    def _hosted(self, queries: dict[str, float]) -> tuple[HostedQuery, ...]:
        read = {name: int(rate * self.number) for name, rate in queries.items()}
        return tuple(
            HostedQuery(name, 1, "at the gate", self.now, rows=read[name], busy_ms=read[name], bytes_per_row=1_000.0,
                        rates=(rate,) * 3)
            for name, rate in queries.items()
        )  # fmt: skip


def record(query: str, node: str, **more: Any) -> QueryRecord:
    return QueryRecord(query, REVISION, Phase.SERVING, FleetIncarnation(1, node, f"{query}/epoch-1", REVISION), 1, **more)
