"""The nodes' half in virtual time: what each measures and forecasts, and which computation it asks to be rid of."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from headway.loop.kernel import Kernel, Log
from headway.loop.questions.placement import REQUEST, request
from headway.model.arrays import Floats
from headway.model.placement import (
    NEVER,
    Choice,
    Computations,
    HostView,
    Move,
    MoveRequest,
    NodeView,
    PlacementPolicy,
    Refuse,
    RequestDecision,
    RequestMove,
)
from headway.model.ring import Ring, Rings
from headway.model.time import WallMs
from headway.sim.fleet.engine import FleetEngine
from headway.sim.fleet.orchestrator import SimulatedStatus

PREFERRED = 0.7  # of a link: the upper limit that nodes prefer (the paper's bwFrac)


def node_name(node: int) -> str:
    return f"node{node:04d}"


def query_name(computation: int) -> str:
    return f"c{computation:06d}"


class SimulatedNodes:
    """All nodes of a world, each with its own question. One table holds all forecasts: a row moves as its query does."""

    def __init__(self, engine: FleetEngine, policy: PlacementPolicy, journal: Log) -> None:
        self.engine, self.kernel = engine, Kernel(journal)
        self._names = np.array([query_name(c) for c in range(len(engine.load))], dtype=object)
        self._views: list[NodeView] = []
        self._tables: list[Computations] = []
        self._cooling: dict[str, WallMs] = {}
        self._resting: dict[str, dict[str, WallMs]] = {}
        self._asked: dict[str, MoveRequest] = {}
        self._landed: dict[str, list[str]] = {}
        self._busy: dict[str, str] = {}  # nodes that take part in a move, and of what
        for node in range(len(engine.machines)):
            self.kernel.add(request(node_name(node), policy, self._seer(node), self._asker(node)))

    def begun(self, move: Move) -> None:
        """Both nodes take part in it from now on."""
        self._busy |= dict.fromkeys((move.source, move.target), move.query)

    def landed(self, computation: int, node: int) -> None:
        """A move has ended: the node will tell."""
        self._busy = {name: query for name, query in self._busy.items() if query != query_name(computation)}
        self._landed.setdefault(node_name(node), []).append(query_name(computation))

    def told(self, node: str, choice: Choice) -> None:
        """The orchestrator's answer has come in."""
        match choice:
            case Move(cool_until=until):
                self._cooling[node] = until
            case Refuse(query, _, rest_until):
                # What has been seen stays as it was: views of earlier rounds hold the table before.
                self._resting[node] = {**self._resting.get(node, {}), query: rest_until}

    def statuses(self, rings: Rings, now: WallMs) -> list[SimulatedStatus]:
        """Every node asks itself what it would be rid of, and tells how it is."""
        self._asked = {}
        self._look(rings)
        for view in self._views:
            self.kernel.due(REQUEST, view.name)
        self.kernel.settle(now)
        landed, self._landed = self._landed, {}
        return [SimulatedStatus(view, self._asked.get(view.name), tuple(landed.get(view.name, ()))) for view in self._views]

    def _look(self, rings: Rings) -> None:
        """Sort computations by node, and sum their rings up: once for all nodes."""
        places, nodes = self.engine.node_of, len(self.engine.machines)
        by_node = np.argsort(places, kind="stable")
        ends = np.searchsorted(places[by_node], np.arange(nodes + 1))
        parts = [by_node[a:b] for a, b in pairwise(ends.tolist())]
        self._tables = [
            Computations(tuple(self._names[part]), Rings(rings.shape, rings.at, rings.values[part])) for part in parts
        ]
        loads = self._loads()
        self._views = [self._view(node, table, loads[:, node]) for node, table in enumerate(self._tables)]

    def _loads(self) -> Floats:
        """By node: load, own share of it, what others use now, bandwidth, own share of it."""
        engine = self.engine
        load, wire = engine.whole_load.value, engine.whole_wire.value
        own_load = np.where(load > 0, engine.own_load.value / np.maximum(load, 1e-12), 1.0)
        own_wire = np.where(wire > 0, engine.own_wire.value / np.maximum(wire, 1e-12), 1.0)
        cores, used = engine.machines.cores, wire / engine.machines.link / PREFERRED
        return np.stack([load / cores, own_load, engine.foreign.value / cores, used, own_wire])

    def _view(self, node: int, table: Computations, loads: Floats) -> NodeView:
        name = node_name(node)
        load, own_load, foreign, bandwidth, own_bandwidth = (float(value) for value in loads)
        return NodeView(
            name=name,
            ring=Ring(table.rings.shape, table.rings.at, table.rings.values.sum(axis=0)),
            cores=float(self.engine.machines.cores[node]),
            load=load,
            own_load=min(1.0, own_load),
            foreign=foreign,
            bandwidth=bandwidth,
            own_bandwidth=min(1.0, own_bandwidth),
            cooling_until=self._cooling.get(name, NEVER),
            queries=len(table),
            moving=name in self._busy,
        )

    def _seer(self, node: int) -> Callable[[WallMs], HostView]:
        name = node_name(node)

        def see(now: WallMs) -> HostView:
            resting = {query: until for query, until in self._resting.get(name, {}).items() if until > now}
            self._resting[name] = resting
            return HostView(now, self._views[node], self._tables[node], dict(resting))

        return see

    def _asker(self, node: int) -> Callable[[RequestDecision, WallMs], str]:
        name = node_name(node)

        def act(decided: RequestDecision, now: WallMs) -> str:
            if not isinstance(decided, RequestMove):
                return "asks for nothing"
            self._asked[name] = decided.request
            return "goes with the status"

        return act
