"""On which node a query that runs nowhere is started, and when, if it has failed before."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from headway.fleet.moves.protocol import homeward, launch, swept_by
from headway.fleet.moves.record import QueryRecord, Step
from headway.fleet.orchestrator.book import RecordBook
from headway.fleet.orchestrator.known_nodes import KnownNodes
from headway.model.time import WallMs

BACKOFF_MS = 200
LONGEST_BACKOFF_MS = 10_000


@dataclass(frozen=True, slots=True)
class LaunchCandidate:
    """A node that a query could be started on."""

    node: str
    queries: int  # that are there, or on their way


class Placer(Protocol):
    """Chooses the first node of a query, and the next where one was lost."""

    def choose(self, query: str, candidates: Sequence[LaunchCandidate]) -> str: ...


@dataclass(frozen=True, slots=True)
class FewestQueries:
    """The node with the fewest queries; ties by name."""

    def choose(self, query: str, candidates: Sequence[LaunchCandidate]) -> str:
        return min(candidates, key=lambda candidate: (candidate.queries, candidate.node)).node


class Launching:
    """Remembers which launches have failed; a successor finds that out anew."""

    def __init__(self, placer: Placer, book: RecordBook, nodes: KnownNodes) -> None:
        self._placer, self._book, self._nodes = placer, book, nodes
        self._failures: dict[str, dict[str, int]] = {}  # by query, by node
        self._not_before: dict[str, WallMs] = {}

    def failed(self, query: str, node: str, now: WallMs) -> None:
        """Once per incarnation."""
        by_node = self._failures.setdefault(query, {})
        by_node[node] = by_node.get(node, 0) + 1
        wait = BACKOFF_MS << min(sum(by_node.values()) - 1, 10)
        self._not_before[query] = WallMs(now + min(wait, LONGEST_BACKOFF_MS))

    def served(self, query: str) -> None:
        self._failures.pop(query, None)
        self._not_before.pop(query, None)

    def next(self, record: QueryRecord, now: WallMs) -> QueryRecord:
        """The record with a new incarnation; the same where none can begin now. Only where there is none."""
        move = record.move
        if move is not None and move.step is Step.FORWARD:
            if not self._nodes.listed:
                return record
            if move.target in self._nodes.members:
                return launch(record, move.target, move.revision)
            record = homeward(record, f"{move.target} is gone, too")
        if now < self._not_before.get(record.query, 0):
            return record
        node = self.place(record.query, now, None if move is None else move.source)
        return record if node is None else launch(record, node, record.revision)

    def swept(self, record: QueryRecord, now: WallMs) -> QueryRecord:
        """The record of a query that is stopped, with a node that deletes what it has left."""
        sweeper = None if record.stop is None else record.stop.sweeper
        usable = self._nodes.all_usable(now)
        if not record.retired or sweeper in usable:
            return record
        return swept_by(record, min(usable, default=None))

    def place(self, query: str, now: WallMs, first: str | None = None) -> str | None:
        """A node that can be reached, of those where the query has failed least; `first` if it is one of them."""
        usable = self._nodes.all_usable(now)
        if not usable:
            return None
        failures = self._failures.get(query, {})
        fewest = min(failures.get(node, 0) for node in usable)
        best = [node for node in usable if failures.get(node, 0) == fewest]
        if first in best:
            return first
        return self._placer.choose(query, [LaunchCandidate(node, len(self._book.on(node))) for node in best])
