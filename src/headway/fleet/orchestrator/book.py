"""The records as the store has confirmed them, and the writes that it has not answered yet."""

from dataclasses import dataclass

from headway.fleet.moves.record import Phase, QueryRecord
from headway.fleet.orchestrator.messages import StoredRecord, WriteRecord
from headway.model.time import WallMs


@dataclass(frozen=True, slots=True)
class UnansweredWrite:
    order: WriteRecord
    since: WallMs


class RecordBook:
    """One write per query at a time. What is not confirmed does not count: nothing may be done that follows from it."""

    def __init__(self) -> None:
        self._kept: dict[str, StoredRecord] = {}
        self._writing: dict[str, UnansweredWrite] = {}
        self._on_node: dict[str, set[str]] = {}
        self._open: dict[str, None] = {}  # in an order that depends on nothing but what has happened
        self._numbers = 0

    def get(self, query: str) -> StoredRecord | None:
        return self._kept.get(query)

    def free(self, query: str) -> bool:
        return query not in self._writing

    @property
    def open(self) -> list[str]:
        """Queries that something is to be done about."""
        return list(self._open)

    def on(self, node: str) -> list[str]:
        """The queries whose newest incarnation is on this node."""
        return sorted(self._on_node.get(node, ()))

    @property
    def nodes(self) -> list[str]:
        """Those that some query is on."""
        return [node for node, queries in self._on_node.items() if queries]

    def adopt(self, stored: StoredRecord) -> bool:
        """What the store has said; whether that is news."""
        query = stored.record.query
        known = self._kept.get(query)
        self._writing.pop(query, None)
        if known is not None and known.version >= stored.version:
            return False
        if known is not None and known.record.node is not None:
            self._on_node[known.record.node].discard(query)
        self._kept[query] = stored
        if stored.record.node is not None:
            self._on_node.setdefault(stored.record.node, set()).add(query)
        if _finished(stored.record):
            self._open.pop(query, None)
        else:
            self._open[query] = None
        return True

    def propose(self, leader: int, record: QueryRecord, now: WallMs) -> WriteRecord:
        known = self._kept.get(record.query)
        self._numbers += 1
        order = WriteRecord(leader, record, None if known is None else known.version, self._numbers)
        self._writing[record.query] = UnansweredWrite(order, now)
        return order

    def written(self, query: str, number: int, version: int) -> bool:
        """The answer to a write; one to an earlier write, that was given up, says nothing of the present one."""
        waiting = self._writing.get(query)
        if waiting is None or waiting.order.number != number:
            return False
        return self.adopt(StoredRecord(waiting.order.record, version))

    def awaits(self, query: str, number: int) -> bool:
        """Whether that is the present write."""
        waiting = self._writing.get(query)
        return waiting is not None and waiting.order.number == number

    def give_up(self, query: str) -> None:
        """The store has no such record, whatever we have written."""
        self._writing.pop(query, None)

    def unanswered(self, now: WallMs, for_ms: int) -> list[str]:
        """Whether these were written is unknown; they are read again."""
        late = [query for query, waiting in self._writing.items() if now - waiting.since >= for_ms]
        for query in late:
            self._writing[query] = UnansweredWrite(self._writing[query].order, now)
        return late


def _finished(record: QueryRecord) -> bool:
    at_rest = record.phase is Phase.STOPPED or (record.phase is Phase.SERVING and record.move is None)
    return at_rest and not record.retired
