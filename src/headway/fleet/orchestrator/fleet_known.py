"""What an orchestrator's process knows of nodes and queries beside what its core does."""

from collections.abc import Mapping

from headway.fleet.moves.record import QueryRecord
from headway.fleet.node.wire import CommandReceipt
from headway.fleet.orchestrator.core import Orchestrator
from headway.fleet.orchestrator.views import NodeHeard
from headway.fleet.registry import NodeRegistration


class FleetKnown:
    """Nodes by name, their last statuses, and what was told of queries when they were drained."""

    def __init__(self) -> None:
        self.nodes: Mapping[str, NodeRegistration] = {}
        self.heard: dict[str, NodeHeard] = {}
        self.drained: dict[str, CommandReceipt] = {}  # by query, what was told when it was drained last
        self._boots: dict[str, int] = {}
        self._said: dict[str, str] = {}

    def hear(self, node: str, heard: NodeHeard) -> int:
        """Which life of the node this is: a number that grows, where the node itself only tells one from another."""
        known = self.heard.get(node)
        if known is None or known.status.run != heard.status.run:
            self._boots[node] = self._boots.get(node, 0) + 1
        self.heard[node] = heard
        return self._boots[node]

    def news(self, query: str, text: str) -> bool:
        """Whether this was not the last that was said of the query."""
        same = self._said.get(query) == text
        self._said[query] = text
        return not same


def records_of(core: Orchestrator) -> tuple[QueryRecord, ...]:
    """All that the store has confirmed to this primary; none while it is none."""
    if core.term is None:
        return ()
    book = core.term.book
    names = dict.fromkeys([*book.open, *(query for node in book.nodes for query in book.on(node))])
    found = [book.get(name) for name in names]
    return tuple(stored.record for stored in found if stored is not None)


def record_of(core: Orchestrator, query: str) -> QueryRecord | None:
    stored = None if core.term is None else core.term.book.get(query)
    return None if stored is None else stored.record


def busy_nodes(core: Orchestrator) -> frozenset[str]:
    """Those of queries that something is to be done about, and both of each move."""
    if core.term is None:
        return frozenset()
    records = [stored.record for query in core.term.book.open if (stored := core.term.book.get(query)) is not None]
    moves = [record.move for record in records if record.move is not None]
    return frozenset(
        {
            *(record.node for record in records if record.node),
            *(node for m in moves for node in (m.source, m.target) if node),
        }
    )
