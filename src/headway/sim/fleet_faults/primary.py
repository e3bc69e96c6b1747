"""A host of the live orchestrator: brings it messages at its own time, and carries out what it orders."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from headway.fleet.orchestrator.core import Orchestrator
from headway.fleet.orchestrator.messages import (
    AskAnswered,
    BarLease,
    Elected,
    LeaseBarred,
    LeaseStillHeld,
    Members,
    NodeAnswered,
    OrchestratorTold,
    Ordered,
    ReadRecord,
    ReadRecords,
    RecordRead,
    RecordsRead,
    RecordWritten,
    TermOver,
    Tick,
    ToNode,
    WriteRecord,
    WriteRefused,
)
from headway.fleet.orchestrator.term import OrchestratorTimes
from headway.sim.agenda import Agenda
from headway.sim.fleet_faults.network import Host, Network
from headway.sim.fleet_faults.session import StoreClient
from headway.sim.fleet_faults.store import LaterLeader, ModelStore

if TYPE_CHECKING:
    from headway.sim.fleet_faults.node import ModelNode

TICK_MS, MEMBERS_MS = 200, 500
TIMES = OrchestratorTimes(launch_ms=3_000, trial_ms=8_000)


class OrchestratorHost(Host):
    """Primary or secondary. It steps down as soon as it is not sure of its session."""

    def __init__(self, name: str, agenda: Agenda, network: Network, store: ModelStore) -> None:
        super().__init__(name, agenda)
        self._network, self._store = network, store
        self.nodes: Mapping[str, ModelNode] = {}
        self.answers: list[AskAnswered] = []  # to whoever has asked
        self.takes_silence_for_death = False  # True: whether anybody notices
        self.client = StoreClient(self, False, store, network, self)
        self.core = Orchestrator()

    def start(self) -> None:
        super().start()
        self.core = Orchestrator(times=TIMES)
        self.client.start()
        self._tick()
        self._list_members()

    def tell(self, message: OrchestratorTold) -> None:
        for order in self.core.take(message, self.now()):
            self._carry_out(order)

    # ---- the session

    def session_begins(self) -> None:
        """Elections are told with the signs of life."""

    def session_ends(self) -> None:
        self.tell(TermOver())

    def session_lives(self, leader: int) -> None:
        if self.core.leader is not None and leader != self.core.leader:
            self._step_down()
        if leader and leader not in (self.client.resigned, self.core.leader):
            self.tell(Elected(leader))

    def _step_down(self) -> None:
        """And for good: whoever is elected again begins a new term, with a new number."""
        self.client.resigned = self.core.leader
        self.tell(TermOver())

    def _tick(self) -> None:
        self.later(TICK_MS, self._tick)
        if self.core.leader is not None and not self.client.sure:
            self._step_down()
        self.tell(Tick())

    def _list_members(self) -> None:
        self.later(MEMBERS_MS, self._list_members)
        if self.core.leader is not None:
            self.client.call(self._store.members, self._listed)

    def _listed(self, nodes: frozenset[str]) -> None:
        heard = self.core.nodes.all_reachable(self.now()) if self.takes_silence_for_death else nodes
        self.tell(Members(nodes & frozenset(heard)))

    # ---- orders

    def _carry_out(self, order: Ordered) -> None:
        match order:
            case ToNode(name, instruction):
                node, boot = self.nodes[name], self.boot

                def reply(receipt: object) -> None:
                    told = NodeAnswered(name, receipt)  # type: ignore[arg-type] # nodes give receipts
                    self._network.send(name, self.name, lambda: self.run(boot, lambda: self.tell(told)))

                self._network.send(self.name, name, lambda: node.run(node.boot, lambda: node.obey(instruction, reply)))
            case AskAnswered():
                self.answers.append(order)
            case ReadRecords() | ReadRecord() | WriteRecord() | BarLease():
                self.client.call(lambda: self._ask_store(order), lambda told: self._store_says(told, order.leader))

    def _store_says(self, told: OrchestratorTold, leader: int) -> None:
        if not isinstance(told, TermOver):
            self.tell(told)
        elif self.core.leader == leader:  # and not long elected anew
            self._step_down()

    def _ask_store(self, order: ReadRecords | ReadRecord | WriteRecord | BarLease) -> OrchestratorTold:
        """At the store, at one moment."""
        store = self._store
        try:
            match order:
                case ReadRecords(leader):
                    return RecordsRead(leader, tuple(store.records.values()))
                case ReadRecord(leader, query):
                    return RecordRead(leader, query, store.records.get(query))
                case WriteRecord(leader, record, expected, number):
                    version = store.write(leader, record, expected)
                    if version is None:
                        return WriteRefused(leader, record.query, number)
                    return RecordWritten(leader, record.query, number, version)
                case BarLease(leader, query, epoch):
                    barred = store.bar(leader, query, epoch)
                    return LeaseBarred(leader, query, epoch) if barred else LeaseStillHeld(leader, query, epoch)
        except LaterLeader:
            return TermOver()
