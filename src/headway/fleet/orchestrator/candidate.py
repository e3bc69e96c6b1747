"""An orchestrator's part in the tree that all share: its session, its place in the line, what it reads and writes.

One thread does all of it, so that what was ordered first is done first. What it learns it posts. That the session is
suspended is posted at once, by the thread of the connection: a leader stops in that moment.
"""

import queue
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headway.errors import HeadwayError, ToldOnce, aloud
from headway.fleet.barring import bar
from headway.fleet.election import Following, Leading, Office, TreeElection
from headway.fleet.moves.record import QueryRecord
from headway.fleet.orchestrator.messages import (
    BarLease,
    Elected,
    LeaseBarred,
    LeaseStillHeld,
    ReadRecord,
    ReadRecords,
    RecordRead,
    RecordsRead,
    RecordWritten,
    StoredRecord,
    TermOver,
    ToStore,
    WriteRecord,
    WriteRefused,
)
from headway.fleet.records import Shelf
from headway.fleet.registry import NodeRegistration, Registry
from headway.fleet.session import NodeChanged, Session, SessionChanged, SessionMessage, SessionState, Tell, Unheard
from headway.fleet.store import Deposed, PutRecord, RecordChange, RemoveRecord, TreeStore, Written

LOOK_S = 0.25  # between two looks where we stand, if nothing is told
LIST_EVERY = 8  # looks: nodes are listed when one comes or goes, and now and then without a reason,
LISTED_A_LOOK = 10  # but a look has no more of them than this
RETRY_S = 1.0  # until another session is asked for


@dataclass(frozen=True, slots=True)
class NodeDrain:
    """A node that shall host nothing: its queries go elsewhere, and no other comes. Over when its process is another."""

    node: str
    run: str


@dataclass(frozen=True, slots=True)
class WriteDrain:
    """An order: that this node is being drained is written down, or is not any more."""

    leader: int
    drain: NodeDrain
    over: bool = False


@dataclass(frozen=True, slots=True)
class DrainWritten:
    """The store has what was ordered of this node."""

    leader: int
    node: str


QUERIES, DRAINS = Shelf("queries", QueryRecord), Shelf("drains", NodeDrain)


@dataclass(frozen=True, slots=True)
class DrainsRead:
    """All nodes that are being drained, as the store has it."""

    leader: int
    drains: tuple[NodeDrain, ...]


@dataclass(frozen=True, slots=True)
class NodesListed:
    """The nodes that have a session, by name."""

    nodes: Mapping[str, NodeRegistration]


@dataclass(frozen=True, slots=True)
class LeaderSeen:
    """Another orchestrator leads, if any does."""

    leader: str | None


StoreOrder = ToStore | WriteDrain
Learnt = (
    Elected | TermOver | RecordsRead | RecordRead | RecordWritten | WriteRefused | LeaseBarred | LeaseStillHeld | DrainsRead
    | DrainWritten | NodesListed | LeaderSeen
)  # fmt: skip
Connect = Callable[[Tell], Session]


class TreeSide:
    """One session, and all that is done with it."""

    def __init__(self, session: Session, root: str, label: str) -> None:
        self.session, self._root = session, root
        self.election = TreeElection(session, root, label)
        self.registry = Registry(session, root)
        self._store = TreeStore(session, root)

    def carry_out(self, order: StoreOrder, leading: Leading) -> list[Learnt]:
        """Raises `Unheard`."""
        match order:
            case ReadRecords(leader):
                drains = tuple(stored.record for stored in self._store.all(DRAINS).values())
                records = tuple(StoredRecord(s.record, s.version) for s in self._store.all(QUERIES).values())
                return [DrainsRead(leader, drains), RecordsRead(leader, records)]
            case ReadRecord(leader, query):
                found = self._store.read(QUERIES, query)
                return [RecordRead(leader, query, None if found is None else StoredRecord(found.record, found.version))]
            case WriteRecord(leader, record, expected, number):
                done = self._store.write(leading, PutRecord(QUERIES, record.query, record, expected))
                if isinstance(done, Deposed):
                    return [TermOver()]
                if isinstance(done, Written):
                    return [RecordWritten(leader, record.query, number, done.versions[0])]
                return [WriteRefused(leader, record.query, number)]
            case BarLease(leader, query, epoch):
                barred = bar(self.session, self._root, leading, query, epoch)
                if isinstance(barred, Deposed):
                    return [TermOver()]
                return [LeaseBarred(leader, query, epoch) if barred else LeaseStillHeld(leader, query, epoch)]
            case WriteDrain():
                return self._drain(order, leading)

    def _drain(self, order: WriteDrain, leading: Leading) -> list[Learnt]:
        node = order.drain.node
        known = self._store.read(DRAINS, node)
        version = None if known is None else known.version
        change: RecordChange = PutRecord(DRAINS, node, order.drain, version)
        if order.over:
            if version is None:
                return [DrainWritten(order.leader, node)]
            change = RemoveRecord(DRAINS, node, version)
        done = self._store.write(leading, change)
        if isinstance(done, Deposed):
            return [TermOver()]
        return [DrainWritten(order.leader, node)] if isinstance(done, Written) else []  # else it is asked for again


class Candidate:
    """Stands for election, and does what a leader orders of the store. Sessions come and go; it remains."""

    def __init__(
        self, connect: Connect, root: str, label: str, post: Callable[[Learnt], None], say: Callable[[str], None] = aloud
    ) -> None:
        """`label` is told to callers that ask the wrong orchestrator: a name, and where it is."""
        self._connect, self._root, self._label, self._post, self._told_once = connect, root, label, post, ToldOnce(say)
        self._work: queue.SimpleQueue[SessionMessage | StoreOrder | None] = queue.SimpleQueue()
        self._over = threading.Event()
        self._side: TreeSide | None = None
        self._office: Office | None = None
        self._listed = 0
        self._thread = threading.Thread(target=self._run, name="headway-candidate", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Leave the line, so that another orchestrator leads at once."""
        self._over.set()
        self._work.put(None)
        self._thread.join(20)

    def order(self, order: StoreOrder) -> None:
        """For any thread. What belongs to a term that is over is not done."""
        self._work.put(order)

    def sure(self, leader: int) -> bool:
        """We lead at this moment, in this term. Asks nothing but our own clock, and may be asked from any thread."""
        side, office = self._side, self._office
        return side is not None and isinstance(office, Leading) and office.epoch == leader and side.election.sure()

    # ---- the thread

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                self._live()
            except HeadwayError as error:
                self._told_once(str(error))
                self._over.wait(RETRY_S)

    def _live(self) -> None:
        """One session, from its beginning to its end."""
        session = self._connect(self._heard)
        self._side = side = TreeSide(session, self._root, self._label)
        self._told_once("")
        looks = 0
        self._listed = 0
        try:
            while not self._over.is_set() and session.state is not SessionState.OVER:
                if self._stand(side) or looks % max(LIST_EVERY, self._listed // LISTED_A_LOOK) == 0:
                    self._list(side)
                looks += 1
                looks = 0 if self._take(side) else looks
        finally:
            self._leave(side)

    def _leave(self, side: TreeSide) -> None:
        self._side = None
        self._turn_to(None)
        try:
            if self._over.is_set() and side.session.state is SessionState.CONNECTED:
                side.election.resign()
        except Unheard:
            self._told_once("the line of candidates could not be left: it is, when our session has expired")
        side.session.close()

    def _stand(self, side: TreeSide) -> bool:
        """Where we stand now; whether that is something new."""
        office = side.election.turn()
        if office == self._office:
            return False
        self._turn_to(office)
        return True

    def _turn_to(self, office: Office | None) -> None:
        before, self._office = self._office, office
        if isinstance(before, Leading):
            self._post(TermOver())
        if isinstance(office, Leading):
            self._post(Elected(office.epoch))
        elif isinstance(office, Following):
            self._post(LeaderSeen(office.leader))

    def _list(self, side: TreeSide) -> None:
        try:
            nodes = side.registry.present(watch=True)
        except Unheard:
            self._listed = 0  # it is asked again soon
            return
        self._listed = len(nodes)
        self._post(NodesListed(nodes))

    def _take(self, side: TreeSide) -> bool:
        """All that waits, or the first that comes; whether nodes have come or gone."""
        changed, wait = False, LOOK_S
        while True:
            try:
                message = self._work.get(timeout=wait)
            except queue.Empty:
                return changed
            wait = 0.0
            match message:
                case None | SessionChanged():
                    return changed
                case NodeChanged():
                    changed = True
                case order:
                    self._do(side, order)

    def _do(self, side: TreeSide, order: StoreOrder) -> None:
        office = self._office
        if not isinstance(office, Leading) or office.epoch != order.leader:
            return
        try:
            learnt = side.carry_out(order, office)
        except Unheard:
            return  # a caller that waits for the answer asks again
        for one in learnt:
            if isinstance(one, TermOver):  # the store knows better than we do
                side.election.resign()
                self._turn_to(None)
            else:
                self._post(one)

    def _heard(self, message: SessionMessage) -> None:
        """On the connection's own thread."""
        side = self._side
        if side is not None and message.session == side.session.name:
            if isinstance(message, SessionChanged) and message.state is not SessionState.CONNECTED:
                self._post(TermOver())
            self._work.put(message)
