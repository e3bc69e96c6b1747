"""The record of a query as ZooKeeper has it, told at every change: so that a fault can be done at a step of a move."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from headway.cli.fleet_part import ROOT
from headway.fleet.moves.record import QueryRecord, reached
from headway.fleet.orchestrator.candidate import QUERIES
from headway.fleet.records import loads, node_name
from headway.fleet.session import Session, SessionMessage
from headway.fleet.zookeeper.session import open_session

STEPS = ("asked", "prepared", "draining", "drained", "copied", "started")


class RecordWatch:
    """Of one query."""

    def __init__(self, session: Session, changed: threading.Event, query: str) -> None:
        self._session, self._changed = session, changed
        self._path = f"{ROOT}/store/{QUERIES.name}/{node_name(query)}"

    def look(self) -> QueryRecord | None:
        """As it is now; the next change sets the event."""
        self._changed.clear()
        node = self._session.read(self._path, watch=True)
        return None if node is None else loads(QUERIES, node.text, self._path)[0]

    def until(self, move: str, step: str, limit_s: float) -> str:
        """Returns as soon as this move is at this step, or beyond: the step that it is at. `ended`, if it was too quick."""
        end = time.monotonic() + limit_s
        while (left := end - time.monotonic()) > 0:
            record = self.look()
            if record is not None and record.move is not None and record.move.id == move:
                at = reached(record.move, record.phase)
                if at not in STEPS or STEPS.index(at) >= STEPS.index(step):
                    return at
            if record is not None and (move in record.past or (record.ended is not None and record.ended.id == move)):
                return "ended"
            self._changed.wait(min(left, 1.0))
        return "never begun"


@contextmanager
def watch(zookeeper: str, query: str) -> Iterator[RecordWatch]:
    changed = threading.Event()

    def told(message: SessionMessage) -> None:
        changed.set()

    session = open_session(zookeeper, "fleet-faults", tell=told)
    try:
        yield RecordWatch(session, changed, query)
    finally:
        session.close()
