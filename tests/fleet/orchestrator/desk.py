"""An orchestrator on a desk: the store answers at once, unless it is told to wait; what nodes are told is collected."""

from dataclasses import dataclass, field

from headway.fleet.moves.messages import Copied, Instruction, Receipt, Running
from headway.fleet.moves.record import QueryRecord
from headway.fleet.orchestrator.core import Orchestrator
from headway.fleet.orchestrator.messages import (
    AskAnswered,
    BarLease,
    Elected,
    HostedIncarnation,
    LeaseBarred,
    LeaseStillHeld,
    Members,
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
    StoredRecord,
    Tick,
    ToNode,
    WriteRecord,
    WriteRefused,
)
from headway.model.time import WallMs


@dataclass
class Desk:
    """One orchestrator, which is the primary."""

    nodes: tuple[str, ...] = ("a", "b")
    core: Orchestrator = field(default_factory=Orchestrator)
    now: int = 0
    store: dict[str, StoredRecord] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)  # queries whose lease somebody has
    said: list[ToNode] = field(default_factory=list)
    answers: list[AskAnswered] = field(default_factory=list)
    journal: list[str] = field(default_factory=list)
    waiting: list[Ordered] | None = None  # orders to a store that is slow; None if it is not
    reports: int = 0

    def elect(self, leader: int = 1) -> None:
        self.tell(Elected(leader))
        self.tell(Members(frozenset(self.nodes)))
        self.report()

    def tell(self, message: OrchestratorTold) -> None:
        for order in self.core.take(message, WallMs(self.now)):
            self.carry_out(order)

    def pass_time(self, ms: int) -> None:
        """Nodes report, and ticks come."""
        for _ in range(ms // 250):
            self.now += 250
            self.report()
            self.tell(Tick())

    def report(self) -> None:
        self.reports += 1
        for node in self.nodes:
            hosted = {
                query: HostedIncarnation(stored.record.here.epoch)
                for query, stored in self.store.items()
                if stored.record.here is not None and stored.record.here.node == node
            }
            self.tell(NodeReport(node, 1, self.reports, hosted))

    def carry_out(self, order: Ordered) -> None:
        match order:
            case ToNode():
                self.said.append(order)
            case AskAnswered():
                self.answers.append(order)
            case Said(query, text):
                self.journal.append(f"{query}: {text}")
            case _ if self.waiting is not None:
                self.waiting.append(order)
            case _:
                self.ask_store(order)

    def ask_store(self, order: Ordered) -> None:
        match order:
            case ReadRecords(leader):
                self.tell(RecordsRead(leader, tuple(self.store.values())))
            case ReadRecord(leader, query):
                self.tell(RecordRead(leader, query, self.store.get(query)))
            case WriteRecord(leader, record, expected, number):
                if self.put(record, expected):
                    self.tell(RecordWritten(leader, record.query, number, self.store[record.query].version))
                else:
                    self.tell(WriteRefused(leader, record.query, number))
            case BarLease(leader, query, epoch):
                held = query in self.held
                self.tell(LeaseStillHeld(leader, query, epoch) if held else LeaseBarred(leader, query, epoch))

    def put(self, record: QueryRecord, expected: int | None) -> bool:
        known = self.store.get(record.query)
        if (None if known is None else known.version) != expected:
            return False
        self.store[record.query] = StoredRecord(record, 1 if expected is None else expected + 1)
        return True

    def answer(self, node: str, receipt: Receipt) -> None:
        self.tell(NodeAnswered(node, receipt))

    def serve(self, query: str = "q", node: str = "a") -> None:
        """A query that is submitted, and serves."""
        self.tell(QuerySubmitted(f"s-{query}", query, f"{query}.py", node))
        self.answer(node, Copied(query, 1))
        self.answer(node, Running(query, 1, 1))
        self.held.add(query)
        self.said.clear()

    def record(self, query: str = "q") -> QueryRecord:
        return self.store[query].record

    def told(self) -> list[tuple[str, type[Instruction]]]:
        """What nodes have been told since this was asked last."""
        said, self.said = self.said, []
        return [(order.node, type(order.instruction)) for order in said]
