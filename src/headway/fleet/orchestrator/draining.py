"""Nodes that shall host nothing: their queries are wished elsewhere, round after round, until none is left."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from headway.fleet.moves.record import QueryRecord
from headway.fleet.orchestrator.candidate import NodeDrain, WriteDrain
from headway.fleet.orchestrator.launching import LaunchCandidate
from headway.fleet.orchestrator.messages import MoveAsked, QuerySubmitted, StopAsked
from headway.fleet.orchestrator.views import FleetSeen, NodeHeard
from headway.fleet.orchestrator.wire import AskReceipt, DrainWanted
from headway.fleet.orchestrator.wishes import Wishes
from headway.fleet.registry import NodeRegistration
from headway.model.time import WallMs

AGAIN_MS = 10_000  # before a query whose move came to nothing is wished away again

Choose = Callable[[str, Sequence[LaunchCandidate]], str]


class NodeDrains:
    """Which nodes are being drained, and when each of their queries was wished away last."""

    def __init__(self, wishes: Wishes) -> None:
        self._wishes = wishes
        self._drains: dict[str, NodeDrain] = {}
        self._wished_at: dict[str, WallMs] = {}

    @property
    def nodes(self) -> frozenset[str]:
        return frozenset(self._drains)

    def read(self, drains: Iterable[NodeDrain]) -> None:
        """All that the store has."""
        self._drains = {drain.node: drain for drain in drains}

    def asked(
        self, wanted: DrainWanted, leader: int, heard: Mapping[str, NodeHeard], nodes: Mapping[str, NodeRegistration]
    ) -> tuple[AskReceipt, WriteDrain | None]:
        """What a user wants of a node: the answer, and what is to be written down."""
        node = wanted.node
        if wanted.undo:
            drain = self.end(node)
            written = None if drain is None else WriteDrain(leader, drain, over=True)
            return AskReceipt(True, f"{node} takes queries"), written
        if node not in nodes or node not in heard:
            names = ", ".join(sorted(nodes)) or "no node at all"
            return AskReceipt(False, f"drain.node = {node!r}: expected one of {names}"), None
        self._drains[node] = drain = NodeDrain(node, heard[node].status.run)
        return AskReceipt(True, f"{node} is being drained"), WriteDrain(leader, drain)

    def end(self, node: str) -> NodeDrain | None:
        """The node takes queries again; what was written down of it, if anything was."""
        return self._drains.pop(node, None)

    def over(self, seen: FleetSeen) -> list[NodeDrain]:
        """Of nodes whose process is another one by now: the user who started it again wants it to serve."""
        return [d for d in self._drains.values() if d.node in seen.heard and seen.heard[d.node].status.run != d.run]

    def wish(self, seen: FleetSeen, choose: Choose) -> list[str]:
        """Wish the queries of such nodes elsewhere; the queries for which there is no elsewhere."""
        usable = sorted(node for node in seen.members if seen.usable(node))
        counts = dict.fromkeys(usable, 0)
        for home in seen.homes.values():
            if home in counts:
                counts[home] += 1
        stuck = []
        for record in seen.records:
            if not self._leaves(record, seen):
                continue
            if not usable:
                stuck.append(record.query)
                continue
            target = choose(record.query, [LaunchCandidate(node, counts[node]) for node in usable])
            counts[target] += 1
            self._wishes.wish(record.query, target, f"{record.node} is being drained")
            self._wished_at[record.query] = seen.now
        return stuck

    def _leaves(self, record: QueryRecord, seen: FleetSeen) -> bool:
        if record.node not in self._drains or record.move is not None or record.query in seen.wished:
            return False
        return seen.now - self._wished_at.get(record.query, WallMs(-AGAIN_MS)) >= AGAIN_MS


def aimed(
    asked: MoveAsked | QuerySubmitted | StopAsked, record: QueryRecord | None, seen: FleetSeen, choose: Choose
) -> MoveAsked | QuerySubmitted | StopAsked:
    """An upgrade goes to another node if there is one: only there can the new version be prepared while the old one runs."""
    if not isinstance(asked, MoveAsked) or asked.target or record is None or record.move is not None:
        return asked
    others = [node for node in sorted(seen.members) if node != record.node and seen.usable(node)]
    if not others:
        return asked
    homes = list(seen.homes.values())
    return replace(asked, target=choose(asked.query, [LaunchCandidate(node, homes.count(node)) for node in others]))
