"""One round of placement: which nodes and queries may take part in it still, and what has been chosen so far.

In one round a node takes part in one move at most, so choices are made one after another, and each sees those before it.
"""

from collections.abc import Callable, Mapping, Sequence

from headway.model.placement import (
    Choice,
    ExpectedRelief,
    FleetView,
    Move,
    MoveRequest,
    NodeView,
    PlacementDecision,
    PlacementMemory,
    Placements,
    Refuse,
    Start,
    Stay,
)
from headway.model.time import WallMs


class Round:
    """The choices of one round, and which nodes they leave free. Nodes and requests have an order that no view changes."""

    def __init__(self, seen: FleetView, memory: PlacementMemory, cool_down_ms: int, rest_ms: int) -> None:
        self.seen, self.choices = seen, list[Choice]()
        self.nodes = sorted(seen.nodes, key=lambda node: node.name)
        self._cool_until, self._rest_until = WallMs(seen.now + cool_down_ms), WallMs(seen.now + rest_ms)
        told = {node.name: node.cooling_until for node in seen.nodes}
        self.cooling = _later(seen.now, memory.cooling, told)
        self.resting = _later(seen.now, memory.resting, seen.resting)

    def requests(self) -> list[tuple[MoveRequest, NodeView]]:
        """What is asked for, the greatest score first; of equal ones by name. Computations that rest are not heard."""
        nodes = {node.name: node for node in self.nodes}
        asked = [r for r in self.seen.requests if r.node in nodes and r.query not in self.resting]
        return [(r, nodes[r.node]) for r in sorted(asked, key=lambda request: (-request.score, request.query))]

    def free(self, node: NodeView) -> bool:
        """Whether something may move to this node, or away from it."""
        return not node.moving and node.name not in self.cooling

    def targets(self, source: NodeView) -> list[NodeView]:
        return [node for node in self.nodes if node.ready and node.name != source.name and self.free(node)]

    def takers(self) -> list[NodeView]:
        """Where a new query may start."""
        return [node for node in self.nodes if node.ready]

    def move(self, query: str, source: str, target: str, because: str, expect: ExpectedRelief | None = None) -> None:
        self.choices.append(Move(query, source, target, because, expect, self._cool_until))
        for node in (source, target):
            self.cooling[node] = max(self._cool_until, WallMs(self.seen.now + 1))

    def refuse(self, query: str, because: str) -> None:
        """It would be refused again: it rests."""
        self.choices.append(Refuse(query, because, self._rest_until))
        self.resting[query] = self._rest_until

    def postpone(self, query: str, because: str) -> None:
        """It may ask again at once."""
        self.choices.append(Refuse(query, because))

    def start(self, query: str, target: str, because: str) -> None:
        self.choices.append(Start(query, target, because))

    def end(self, turn: int = 0) -> tuple[PlacementDecision, PlacementMemory]:
        """What has been decided, and what is to be remembered."""
        memory = PlacementMemory(_later(self.seen.now, self.cooling), _later(self.seen.now, self.resting), turn)
        if not self.choices:
            resting = len(self.seen.requests)
            return Stay(f"{resting} of those that ask must rest" if resting else "nothing asks"), memory
        return Placements(tuple(self.choices), counted(self.choices)), memory


# What a policy says of one request, given where it could go: a node, or nothing, and why.
Chooses = Callable[[MoveRequest, NodeView, list[NodeView]], tuple[NodeView | None, str]]


def answer_each(current: Round, choose: Chooses) -> None:
    """Every request, one after another."""
    for request, source in current.requests():
        targets = current.targets(source)
        if not current.free(source):
            current.postpone(request.query, f"{source.name} takes part in a move, or has just done so")
        elif not targets:
            current.postpone(request.query, "no other node is free")
        else:
            target, because = choose(request, source, targets)
            if target is None:
                current.refuse(request.query, because)
            else:
                current.move(request.query, source.name, target.name, because)


def start_in_turn(current: Round, turn: int) -> int:
    """New queries take the nodes in turn; the next turn comes back."""
    takers = current.takers()
    for newcomer in current.seen.newcomers:
        if not takers:
            current.postpone(newcomer.query, "no node takes queries")
            continue
        node = takers[turn % len(takers)]
        current.start(newcomer.query, node.name, f"its turn among {len(takers)} nodes")
        turn += 1
    return turn


def counted(choices: Sequence[Choice]) -> str:
    """How many there are of each kind; the reasons stand in the choices themselves."""
    words = {Start: "started", Move: "moved", Refuse: "refused"}
    counts = {word: sum(isinstance(choice, kind) for choice in choices) for kind, word in words.items()}
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count)


def _later(now: WallMs, *tables: Mapping[str, WallMs]) -> dict[str, WallMs]:
    """What is not over yet; where two tables differ, the later end."""
    found: dict[str, WallMs] = {}
    for table in tables:
        for name, until in table.items():
            if until > max(now, found.get(name, now)):
                found[name] = until
    return found
