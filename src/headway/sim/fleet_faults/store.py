"""The store: sessions, an election, records with versions, and a lease for each query that goes with its session."""

from dataclasses import dataclass, field

from headway.fleet.moves.record import QueryRecord
from headway.fleet.orchestrator.messages import StoredRecord
from headway.sim.agenda import Agenda

SESSION_MS = 4_000
LOOK_MS = 100  # between two looks for sessions that have expired


@dataclass(slots=True)
class StoreSession:
    owner: str
    node: bool  # a node, and not an orchestrator
    heard: int
    leases: set[tuple[str, int]] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class StoreRules:
    """What the store sees to. A test switches one off and looks whether anybody notices."""

    leases: bool = True
    leaders: bool = True
    versions: bool = True


@dataclass(frozen=True, slots=True)
class AppliedWrite:
    at: int
    leader: int  # that the write was ordered under
    newest: int  # that was elected then
    record: QueryRecord


class ModelStore:
    """Every operation happens at one moment, and in one order."""

    def __init__(self, agenda: Agenda, rules: StoreRules) -> None:
        self._agenda, self._rules = agenda, rules
        self.away = False
        self.sessions: dict[int, StoreSession] = {}
        self.records: dict[str, StoredRecord] = {}
        self.applied: list[AppliedWrite] = []
        self.leader, self.leader_session = 0, 0
        self._registers: dict[str, int] = {}  # the highest epoch that was taken or barred
        self._holders: dict[str, tuple[int, int]] = {}  # session and epoch
        self._numbers = 0
        agenda.at(LOOK_MS, self._look)

    # ---- sessions and the election

    def open(self, owner: str, node: bool) -> int:
        self._numbers += 1
        self.sessions[self._numbers] = StoreSession(owner, node, self._agenda.clock.at)
        self._elect()
        return self._numbers

    def ping(self, session: int, resigned: int | None) -> int | None:
        """The number of the election that this session has won, 0 if it has not; None if there is no such session."""
        if session not in self.sessions:
            return None
        self.sessions[session].heard = self._agenda.clock.at
        if session == self.leader_session and resigned == self.leader:
            self.leader_session = 0
            self._elect()
        return self.leader if session == self.leader_session else 0

    def members(self) -> frozenset[str]:
        return frozenset(session.owner for session in self.sessions.values() if session.node)

    def back(self) -> None:
        """Sessions begin their time anew: none could have given a sign of life."""
        self.away = False
        for session in self.sessions.values():
            session.heard = self._agenda.clock.at

    def _look(self) -> None:
        now = self._agenda.clock.at
        self._agenda.at(now + LOOK_MS, self._look)
        if not self.away:
            for number in [n for n, session in self.sessions.items() if now - session.heard > SESSION_MS]:
                self._expire(number)
            self._elect()

    def _expire(self, number: int) -> None:
        for query, _ in self.sessions.pop(number).leases:
            self._holders.pop(query, None)
        if number == self.leader_session:
            self.leader_session = 0

    def _elect(self) -> None:
        """The longest waiting candidate; one that has just resigned goes to the end, should there be another."""
        candidates = [n for n, session in self.sessions.items() if not session.node]
        if self.leader_session not in self.sessions and candidates:
            others = [n for n in candidates if n != self.leader_session]
            self.leader, self.leader_session = self.leader + 1, (others or candidates)[0]

    # ---- records

    def write(self, leader: int, record: QueryRecord, expected: int | None) -> int | None:
        """The new version; None if another was there than was expected. Raises if a later primary is there."""
        self._check(leader)
        known = self.records.get(record.query)
        version = None if known is None else known.version
        if version != expected and self._rules.versions:
            return None
        new = 1 if version is None else version + 1
        self.records[record.query] = StoredRecord(record, new)
        self.applied.append(AppliedWrite(self._agenda.clock.at, leader, self.leader, record))
        return new

    # ---- leases

    def acquire(self, session: int, query: str, epoch: int) -> bool:
        """One epoch is taken once. Asking again in the same session is no second time."""
        if session not in self.sessions:
            return False
        if self._rules.leases:
            if self._holders.get(query) == (session, epoch):
                return True
            if query in self._holders or epoch <= self._registers.get(query, 0):
                return False
        self._registers[query] = max(epoch, self._registers.get(query, 0))
        self._holders[query] = (session, epoch)
        self.sessions[session].leases.add((query, epoch))
        return True

    def release(self, session: int, query: str, epoch: int) -> None:
        if self._holders.get(query) == (session, epoch):
            del self._holders[query]
            self.sessions[session].leases.discard((query, epoch))

    def bar(self, leader: int, query: str, epoch: int) -> bool:
        """Whether no node holds it: then none can take it under this epoch any more."""
        self._check(leader)
        if query in self._holders and self._rules.leases:
            return False
        self._registers[query] = max(epoch, self._registers.get(query, 0))
        return True

    def holder(self, query: str) -> tuple[int, int] | None:
        """The session and the epoch of the holder of the lease."""
        return self._holders.get(query)

    def _check(self, leader: int) -> None:
        if leader != self.leader and self._rules.leaders:
            raise LaterLeader


class LaterLeader(Exception):  # it is an answer, not an error
    """What was ordered was ordered by an orchestrator that is the primary no more."""
