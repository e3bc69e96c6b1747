"""The orchestrator's half in virtual time: it knows what it was told, when it was told, and asks the placement question."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from headway.loop.kernel import Kernel, Log
from headway.loop.questions.placement import PLACEMENT, placement
from headway.model.placement import (
    NEVER,
    Choice,
    Computations,
    FleetView,
    Move,
    MoveRequest,
    NodeView,
    PlacementDecision,
    PlacementPolicy,
    Placements,
    Refuse,
)
from headway.model.time import WallMs


@dataclass(frozen=True, slots=True)
class SimulatedStatus:
    """What a node tells every second."""

    node: NodeView
    request: MoveRequest | None
    landed: tuple[str, ...] = ()  # queries whose move to this node has ended since its last status


Send = Callable[[str, Choice], None]  # to a node, which hears of it a little later


class SimulatedOrchestrator:
    """Takes statuses, asks once a round, and tells the nodes what was decided."""

    def __init__(self, policy: PlacementPolicy, journal: Log, send: Send, foresee: Callable[[WallMs], Computations]) -> None:
        self.kernel = Kernel(journal)
        self._policy, self._send, self._foresee = policy, send, foresee
        self._nodes: dict[str, NodeView] = {}
        self._requests: dict[str, MoveRequest] = {}  # by node; not answered yet
        self._on_way: dict[str, tuple[str, str]] = {}  # query -> source and target
        self._cooling: dict[str, WallMs] = {}
        self._resting: dict[str, WallMs] = {}
        self.kernel.add(placement("", policy, self._see, self._act))

    def hear(self, status: SimulatedStatus) -> None:
        """Take a status in. One that comes after a later one tells only which moves have ended."""
        name = status.node.name
        for query in status.landed:
            self._on_way.pop(query, None)
        known = self._nodes.get(name)
        if known is not None and known.ring.at > status.node.ring.at:
            return
        self._nodes[name] = status.node
        self._requests.pop(name, None)
        if status.request is not None and status.request.query not in self._on_way:
            self._requests[name] = status.request

    def round(self, now: WallMs) -> None:
        self.kernel.due(PLACEMENT, "")
        self.kernel.settle(now)

    def _see(self, now: WallMs) -> FleetView | None:
        if not self._nodes:
            return None
        self._resting = {query: until for query, until in self._resting.items() if until > now}
        coming = Counter(target for _, target in self._on_way.values())
        moving = {node for both in self._on_way.values() for node in both}
        nodes = tuple(
            replace(
                view,
                cooling_until=self._cooling.get(name, NEVER),
                queries=view.queries + coming[name],
                moving=name in moving,
            )
            for name, view in sorted(self._nodes.items())
        )
        every = self._foresee(now) if self._policy.foresees else None
        requests = tuple(request for _, request in sorted(self._requests.items()))
        return FleetView(now, nodes, requests, resting=dict(self._resting), computations=every)

    def _act(self, decided: PlacementDecision, now: WallMs) -> str:
        """Nothing is done twice: a query on its way is left alone."""
        if not isinstance(decided, Placements):
            return "nothing to do"
        done = [self._carry_out(choice) for choice in decided.choices]
        return ", ".join(done) or "nothing to do"

    def _carry_out(self, choice: Choice) -> str:
        match choice:
            case Move(query, source, target):
                if query in self._on_way:
                    return f"{query}: on its way to {self._on_way[query][1]} already"
                self._on_way[query] = source, target
                self._cooling |= {source: choice.cool_until, target: choice.cool_until}
                self._requests.pop(source, None)
                self._send(source, choice)
                self._send(target, choice)
                return f"{query}: {source} and {target} are told"
            case Refuse(query, _, rest_until):
                self._resting[query] = rest_until
                asked = [node for node, request in self._requests.items() if request.query == query]
                for node in asked:
                    del self._requests[node]
                    self._send(node, choice)
                return f"{query}: {', '.join(asked) or 'no node'} is told"
        return f"{choice.query}: a world without newcomers has nothing to start"
