"""Once a second, both halves of the placement question: which query should leave its node, and where does it go?

The kernel asks them, with guards and journal, as it asks every question. What is decided becomes a wish; moves are driven by
the core, which may take minutes for one or refuse it. A new query is a round of its own, with nothing else in it: so the
first places of queries stand in the journal, too. (`placing.py` asks the policy without the kernel.)
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from headway.estimate.rings import stacked
from headway.fleet.orchestrator.launching import FewestQueries, LaunchCandidate
from headway.fleet.orchestrator.loads import FleetLoads
from headway.fleet.orchestrator.views import FleetSeen, hosts
from headway.fleet.orchestrator.wishes import Wishes
from headway.loop.kernel import Kernel
from headway.loop.questions.placement import PLACEMENT, REQUEST, placement, request
from headway.model.placement import (
    Computations,
    FleetView,
    HostView,
    Move,
    MoveRequest,
    Newcomer,
    PlacementDecision,
    PlacementPolicy,
    Placements,
    Refuse,
    RequestDecision,
    RequestMove,
    Start,
)
from headway.model.ring import Ring
from headway.model.time import WallMs

FLEET = ""  # the scope of a question about all of it


class PlacementRounds:
    """Asks a policy. One thread; it knows what it was shown last."""

    def __init__(self, kernel: Kernel, policy: PlacementPolicy, loads: FleetLoads) -> None:
        self._kernel, self._policy, self.loads = kernel, policy, loads
        self._wishes: Wishes | None = None
        self._seen: FleetSeen | None = None
        self._hosts: dict[str, HostView] = {}
        self._asking: dict[
            str, WallMs | None
        ] = {}  # nodes whose half is asked, and of when the status is it was asked about
        self._requests: dict[str, MoveRequest] = {}
        self._newcomer: Newcomer | None = None
        self._among: frozenset[str] = frozenset()  # the nodes that it may start on
        self._starts: dict[str, str] = {}
        self._resting: dict[str, WallMs] = {}
        kernel.add(placement(FLEET, policy, self._fleet, self._carried_out))

    def carry_to(self, wishes: Wishes) -> None:
        """Where moves that were decided are wished."""
        self._wishes = wishes

    @property
    def hosts(self) -> Mapping[str, HostView]:
        """The nodes, as they would see themselves."""
        return self._hosts

    def look(self, seen: FleetSeen) -> None:
        """How things stand, for the next round, and for queries that must be placed before it."""
        self._resting = {query: until for query, until in self._resting.items() if until > seen.now}
        self._seen = seen = replace(seen, resting=self._resting)
        self._hosts = hosts(seen, self.loads.by_node(seen.homes, seen.now))

    def turn(self, now: WallMs) -> None:
        """One round."""
        self._requests.clear()
        for node in self._asking.keys() - self._hosts.keys():
            del self._asking[node]
            self._kernel.drop(REQUEST, node)
        for node in self._hosts.keys() - self._asking.keys():
            self._asking[node] = None
            self._kernel.add(request(node, self._policy, partial(self._host, node), partial(self._asked, node)))
        for node, heard_at in self._heard():
            if heard_at != self._asking[node]:  # else nothing is known that was not known before
                self._asking[node] = heard_at
                self._kernel.due(REQUEST, node)
        self._kernel.settle(now)
        self._kernel.due(PLACEMENT, FLEET)
        self._kernel.settle(now)

    def choose(self, query: str, candidates: Sequence[LaunchCandidate]) -> str:
        """Where a query that runs nowhere begins: the core's `Placer`. The fewest queries, if the policy is silent."""
        usable = [one for one in candidates if self._seen is None or one.node not in self._seen.draining] or list(candidates)
        if self._seen is None:
            return FewestQueries().choose(query, usable)
        now = self._seen.now
        self._newcomer = Newcomer(query, self._ring(query, now))
        self._among = frozenset(one.node for one in usable)
        self._starts.clear()
        try:
            self._kernel.due(PLACEMENT, FLEET)
            self._kernel.settle(now)
        finally:
            self._newcomer = None
        node = self._starts.get(query)
        return node if node in self._among else FewestQueries().choose(query, usable)

    # ---- what is seen

    def _heard(self) -> list[tuple[str, WallMs]]:
        heard = {} if self._seen is None else self._seen.heard
        return [(node, heard[node].at) for node in self._hosts]

    def _host(self, node: str, now: WallMs) -> HostView | None:
        return self._hosts.get(node)

    def _fleet(self, now: WallMs) -> FleetView | None:
        seen, nodes = self._seen, tuple(host.node for host in self._hosts.values())
        if seen is None or not nodes:
            return None
        resting = dict(seen.resting)
        if self._newcomer is not None:
            among = tuple(node for node in nodes if node.name in self._among)
            return FleetView(now, among, (), (self._newcomer,), resting) if among else None
        asked = tuple(one for one in self._requests.values() if one.query not in seen.wished)
        return FleetView(now, nodes, asked, (), resting, self._all() if self._policy.foresees else None)

    def _all(self) -> Computations:
        """Every query with its home. What a policy that knows the future is shown here is no more than the forecast."""
        assert self._seen is not None
        pairs = [(name, host.node.name, ring) for host in self._hosts.values() for name, ring in _rings(host)]
        rings = stacked([ring for _, _, ring in pairs], self.loads.shape, self._seen.now)
        return Computations(tuple(name for name, _, _ in pairs), rings, tuple(home for _, home, _ in pairs))

    def _ring(self, query: str, now: WallMs) -> Ring | None:
        ring = self.loads.ring(query, now)
        return ring if ring is not None and ring.values.any() else None

    # ---- what becomes of it

    def _asked(self, node: str, decided: RequestDecision, now: WallMs) -> str:
        if isinstance(decided, RequestMove):
            self._requests[node] = decided.request
            return "asked of the fleet"
        return "nothing is asked"

    def _carried_out(self, decided: PlacementDecision, now: WallMs) -> str:
        if not isinstance(decided, Placements):
            return "nothing to do"
        said = []
        for choice in decided.choices:
            match choice:
                case Move(query=query, target=target, because=because) if self._wishes is not None:
                    said.append(self._wishes.wish(query, target, because))
                case Start(query=query, target=target):
                    self._starts[query] = target
                    said.append(f"{query} begins on {target}")
                case Refuse(query=query, rest_until=until):
                    if until > now:
                        self._resting[query] = until
                    said.append(f"{query} stays")
        return "; ".join(said)


def _rings(host: HostView) -> list[tuple[str, Ring]]:
    return [(host.computations.names[row], host.computations.rings[row]) for row in range(len(host.computations))]
