"""A term of the primary: from its election until it is deposed.

It acts upon what the store has confirmed and upon nothing else, so whoever is elected next reads the store and goes on. A
query is started elsewhere only after the store has barred its lease, which it does for nobody whose lease may still run.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from headway.fleet.moves import protocol
from headway.fleet.moves.messages import Outdated, Receipt, RunFailed
from headway.fleet.moves.record import MoveRecord, Phase, QueryRecord, Step
from headway.fleet.moves.wanted import instructions
from headway.fleet.orchestrator.asks import Asking, OpenAsks
from headway.fleet.orchestrator.book import RecordBook
from headway.fleet.orchestrator.evidence import LossEvidence
from headway.fleet.orchestrator.known_nodes import REACH_MS, KnownNodes
from headway.fleet.orchestrator.launching import Launching, Placer
from headway.fleet.orchestrator.messages import (
    AskAnswered,
    BarLease,
    LeaseBarred,
    LeaseStillHeld,
    Members,
    MoveAsked,
    NodeAnswered,
    NodeReport,
    OrchestratorTold,
    Ordered,
    QuerySubmitted,
    ReadRecord,
    ReadRecords,
    RecordRead,
    RecordsRead,
    RecordWritten,
    Said,
    StopAsked,
    StoredRecord,
    Tick,
    ToNode,
    WriteRefused,
)
from headway.fleet.orchestrator.saying import changes
from headway.fleet.orchestrator.wishes import Wishes
from headway.model.time import WallMs


@dataclass(frozen=True, slots=True)
class OrchestratorTimes:
    """How long is waited for what."""

    repeat_ms: int = 500  # until an instruction without a receipt is repeated
    bar_ms: int = 300  # between two attempts to bar a lease
    launch_ms: int = 5_000  # for a node to take over or to start, before it is tried whether it holds the lease at all
    trial_ms: int = 60_000  # for the first commits of what has started
    answer_ms: int = 1_500  # for the store, before it is asked again
    reach_ms: int = REACH_MS


class Term:
    """Everything that a primary knows but what the nodes report. It begins with nothing and reads the store."""

    def __init__(
        self, leader: int, nodes: KnownNodes, wishes: Wishes, placer: Placer, times: OrchestratorTimes, began: WallMs
    ) -> None:
        self.leader, self.nodes, self.wishes, self.times = leader, nodes, wishes, times
        self.book = RecordBook()
        self.launching = Launching(placer, self.book, nodes)
        self.evidence = LossEvidence(self.book, nodes, times.launch_ms, times.bar_ms)
        self.asks = OpenAsks(nodes, self.launching)
        self._read_at: WallMs | None = began  # when the records were asked for; None once they are there
        self._said: dict[str, WallMs] = {}  # when a query's instructions were given last

    @property
    def informed(self) -> bool:
        """It has read the records: before that it knows of no query, which is not the same as that there is none."""
        return self._read_at is None

    def take(self, message: OrchestratorTold, now: WallMs) -> Iterator[Ordered]:
        match message:
            case Tick():
                yield from self._tick(now)
            case RecordsRead(records=records):
                self._read_at = None
                for stored in records:
                    yield from self._adopted(stored, now)
            case Members():
                yield from self._advance_all(self.evidence.members_changed(), now)
            case NodeReport():
                yield from self._advance_all(self.evidence.reported(message), now)
            case MoveAsked() | QuerySubmitted() | StopAsked():
                self.asks.add(message)
                yield from self._advance(message.query, now)
            case NodeAnswered(node, receipt):
                yield from self._answered(node, receipt, now)
            case _:
                yield from self._from_store(message, now)

    def _from_store(self, message: OrchestratorTold, now: WallMs) -> Iterator[Ordered]:
        """Answers about one query."""
        match message:
            case RecordRead(query=query, stored=None):
                self.book.give_up(query)
                yield from self._advance(query, now)
            case RecordRead(stored=StoredRecord() as stored):
                yield from self._adopted(stored, now)
            case RecordWritten(query=query, number=number, version=version):
                if self.book.written(query, number, version):
                    yield from self._news(query, now)
            case WriteRefused(query=query, number=number):
                if self.book.awaits(query, number):
                    yield ReadRecord(self.leader, query)
            case LeaseBarred(query=query, epoch=epoch):
                yield from self._barred(query, epoch, now)
            case LeaseStillHeld(query=query, epoch=epoch):
                self.evidence.held(query, epoch)

    def _tick(self, now: WallMs) -> Iterator[Ordered]:
        if self._read_at is not None:  # nothing is known yet
            if now - self._read_at >= self.times.answer_ms:
                self._read_at = now
                yield ReadRecords(self.leader)
            return
        for query in self.book.unanswered(now, self.times.answer_ms):
            yield ReadRecord(self.leader, query)
        for wish in self.wishes.unmet:
            stored = self.book.get(wish.query)
            asked = self.wishes.due(wish, None if stored is None else stored.record)
            if asked is not None:
                self.asks.add(asked)
        yield from self._advance_all([*self.book.open, *self.evidence.suspected, *self.asks.queries], now)

    # ---- what has happened

    def _answered(self, node: str, receipt: Receipt, now: WallMs) -> Iterator[Ordered]:
        """While a write is under way receipts are let go by: they come again."""
        stored = self.book.get(receipt.query)
        if stored is None or not self.book.free(receipt.query):
            return
        match receipt:
            case Outdated(version=version):
                if version > stored.version:
                    yield ReadRecord(self.leader, receipt.query)
            case RunFailed(epoch=epoch, because=because):
                if self.evidence.failed(stored.record, node, epoch, because):
                    yield from self._advance(receipt.query, now)
            case _:
                yield from self._write(stored.record, protocol.received(stored.record, receipt, now), now)

    def _barred(self, query: str, epoch: int, now: WallMs) -> Iterator[Ordered]:
        """The one way to learn that an incarnation is surely over without its node's word."""
        stored = self.book.get(query)
        here = None if stored is None else stored.record.here
        if stored is not None and here is not None and here.epoch == epoch and self.book.free(query):
            because = self.evidence.why(query)
            if stored.record.stop is None and here.revision == stored.record.revision:  # else it is new code that has failed
                self.launching.failed(query, here.node, now)
            yield Said(query, f"epoch {epoch} on {here.node} is over: {because}")
            yield from self._write(stored.record, protocol.gone(stored.record, epoch, because, now), now)

    def _adopted(self, stored: StoredRecord, now: WallMs) -> Iterator[Ordered]:
        if self.book.adopt(stored):
            yield from self._news(stored.record.query, now)
        else:
            yield from self._advance(stored.record.query, now)

    def _news(self, query: str, now: WallMs) -> Iterator[Ordered]:
        """A record has changed, and the store has it."""
        stored = self.book.get(query)
        assert stored is not None
        self._said.pop(query, None)
        self.evidence.adopted(stored.record, now)
        if stored.record.phase is Phase.SERVING:
            self.launching.served(query)
        yield from self._advance(query, now)

    # ---- what follows

    def _advance_all(self, queries: list[str], now: WallMs) -> Iterator[Ordered]:
        for query in dict.fromkeys(queries):
            yield from self._advance(query, now)

    def _advance(self, query: str, now: WallMs) -> Iterator[Ordered]:
        """Take the next step of a query, if there is one; else say again what its record calls for."""
        if self._read_at is not None or not self.book.free(query):
            return
        stored = self.book.get(query)
        before = None if stored is None else stored.record
        after = None if before is None else self._next(before, now)
        if after is not None and after != before:
            yield from self._write(before, after, now)
            return
        if (asked := self.asks.first(query)) is not None:
            yield from self._consider(asked, before, now)
        if stored is None or not self.book.free(query):
            return
        if stored.record.here is not None and self.evidence.to_bar(query, now):
            yield BarLease(self.leader, query, stored.record.here.epoch)
        if now - self._said.get(query, WallMs(-self.times.repeat_ms)) >= self.times.repeat_ms:
            self._said[query] = now
            yield from (ToNode(node, instruction) for node, instruction in instructions(stored.record, stored.version))

    def _next(self, record: QueryRecord, now: WallMs) -> QueryRecord:
        """What time, and the coming and going of nodes, make of a record."""
        if record.phase is Phase.VACANT:
            return self.launching.next(record, now) if record.stop is None else protocol.stopped(record)
        if record.phase is Phase.STOPPED:
            return self.launching.swept(record, now)
        if record.phase is Phase.TRIAL and self.evidence.age_ms(record.query, now) >= self.times.trial_ms:
            return protocol.end(record, f"no batch was committed within {self.times.trial_ms} ms")
        move = record.move
        if move is None or move.step in (Step.FORWARD, Step.HOME):
            return record
        if self.nodes.missing([move.target]):
            return protocol.target_gone(record, f"{move.target} is gone", now)
        after = protocol.timed(record, now)
        if after == record and self._can_drain(move, record, now):
            return protocol.drain(record)
        return after

    def _can_drain(self, move: MoveRecord, record: QueryRecord, now: WallMs) -> bool:
        """Both can be reached: a query is not ended for a target that does not answer."""
        assert record.here is not None
        target_answers = move.at_once or self.nodes.reachable(move.target, now)
        return target_answers and self.nodes.reachable(record.here.node, now)

    def _consider(self, asked: Asking, record: QueryRecord | None, now: WallMs) -> Iterator[Ordered]:
        answer = self.asks.consider(asked, record, now)
        if isinstance(answer, AskAnswered):
            self.asks.done(asked.query)
            if not self.wishes.answered(answer.id, answer.accepted, answer.line):
                yield answer
        elif answer is not None:
            yield from self._write(record, answer, now)

    def _write(self, before: QueryRecord | None, after: QueryRecord, now: WallMs) -> Iterator[Ordered]:
        """Written down first. What follows from it is ordered when the store has confirmed it."""
        if before != after:
            yield self.book.propose(self.leader, after, now)
            yield from (Said(after.query, text) for text in changes(before, after))
