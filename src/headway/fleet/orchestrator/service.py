"""The process of an orchestrator: one thread that is told everything and decides, and those around it that carry out.

    tree (candidate.py) --- elected, deposed, records, leases, nodes --+
    nodes (statuses.py) --- how each stands, every second -------------+--> inbox --> core.py, rounds.py --> orders
    nodes (dispatch.py) --- receipts ----------------------------------+                                      |
    people (api.py) ------- submit, move, upgrade, drain --------------+        tree, nodes, people, journal <-+

A secondary hears the nodes and forecasts their load, and does nothing else.
"""

from concurrent.futures import Future
from dataclasses import dataclass

from headway.fleet.moves.messages import Prepare, Prepared, Running
from headway.fleet.moves.record import Phase
from headway.fleet.orchestrator.asks import NOT_PRIMARY
from headway.fleet.orchestrator.candidate import (
    Candidate,
    DrainsRead,
    DrainWritten,
    LeaderSeen,
    NodesListed,
    WriteDrain,
)
from headway.fleet.orchestrator.core import Orchestrator
from headway.fleet.orchestrator.dispatch import Dispatch, QueryTold
from headway.fleet.orchestrator.draining import NodeDrains, aimed
from headway.fleet.orchestrator.fleet_known import FleetKnown, busy_nodes, record_of, records_of
from headway.fleet.orchestrator.loads import FleetLoads
from headway.fleet.orchestrator.message_thread import MessageThread
from headway.fleet.orchestrator.messages import (
    AskAnswered,
    CoreMessage,
    Elected,
    Members,
    NodeAnswered,
    Ordered,
    Said,
    TermOver,
    Tick,
    ToNode,
)
from headway.fleet.orchestrator.outages import Outages
from headway.fleet.orchestrator.posted import (
    AskPosted,
    DrainPosted,
    LookPosted,
    NotPrimary,
    PersonAsks,
    Posted,
    ProgressPosted,
)
from headway.fleet.orchestrator.rounds import PlacementRounds
from headway.fleet.orchestrator.standing import node_standings, progress_of, query_standings
from headway.fleet.orchestrator.statuses import StatusHeard, StatusPoll, period_s
from headway.fleet.orchestrator.translate import QueryContext, receipts_in, report_of
from headway.fleet.orchestrator.views import FRESH_MS, FleetSeen, NodeHeard
from headway.fleet.orchestrator.wire import AskReceipt, FleetStanding
from headway.loop.kernel import Kernel, Log
from headway.model.declared import placement_declares
from headway.model.placement import PlacementPolicy
from headway.model.time import Clock, WallMs

ROUND_MS = 1_000  # or as often as nodes are asked
CONCERNED = (Phase.COPYING, Phase.STARTING, Phase.TRIAL, Phase.SERVING)  # phases in which a status may say what is awaited


@dataclass(frozen=True, slots=True)
class Hands:
    """What carries out."""

    candidate: Candidate
    poll: StatusPoll
    dispatch: Dispatch


class OrchestratorService(MessageThread[Posted]):
    """It has its hands before it runs."""

    def __init__(
        self, label: str, places: str, journal: Log, policy: PlacementPolicy, loads: FleetLoads, clock: Clock
    ) -> None:
        """`label` is its name and address; `places` the folder of all checkpoints, on a file system that all nodes reach."""
        super().__init__(label, clock)
        self._places, self._journal = places, journal
        self._rounds = PlacementRounds(Kernel(journal), policy, loads)
        self._core = Orchestrator(self._rounds)
        self._rounds.carry_to(self._core.wishes)
        self._drains = NodeDrains(self._core.wishes)
        self._loads = loads
        self._fleet, self._outages = FleetKnown(), Outages()
        self._asks: dict[str, list[Future[AskReceipt]]] = {}
        self._drain_asks: dict[str, list[tuple[AskReceipt, Future[AskReceipt]]]] = {}  # by node, until the store has it
        self.hands: Hands | None = None
        self._leader: str | None = None
        self._round_at, self._round_ms = WallMs(0), ROUND_MS
        self._cool_ms = placement_declares(policy).cool_down_ms
        self._busy = frozenset[str]()  # nodes at which something is going on

    # ---- for any thread

    @property
    def leader(self) -> int | None:
        """The number of its election; None while it is not the primary."""
        return self._core.leader

    @property
    def not_primary(self) -> str:
        """One line for a caller that has asked the wrong one."""
        leader = "none is primary at this moment" if self._leader is None else f"the primary is {self._leader}"
        return f"{self.label} is not the primary; {leader}"

    # ---- the thread

    def tick(self, now: WallMs) -> None:
        self._tell(Tick())
        if (busy := busy_nodes(self._core)) != self._busy:
            self._busy = busy
            self._watch()
        if now - self._round_at >= self._round_ms:
            self._round_at = now
            self._round(now)

    def take(self, message: Posted, now: WallMs) -> None:
        match message:
            case StatusHeard():
                self._heard(message, now)
            case NodesListed(nodes=nodes):
                self._fleet.nodes = nodes
                self._watch()
                self._tell(Members(frozenset(nodes)))
            case LeaderSeen(leader=leader):
                self._leader = leader
            case DrainsRead(leader=leader, drains=drains):
                if leader == self._core.leader:
                    self._drains.read(drains)
                    self._rounds.look(self._seen(now))  # a query may have to be placed before the first round
            case DrainWritten(node=node):
                for receipt, answer in self._drain_asks.pop(node, ()):
                    answer.set_result(receipt)
            case QueryTold():
                self._learnt(message, now)
            case AskPosted() | DrainPosted() | LookPosted() | ProgressPosted():
                self._asked(message, now)
            case TermOver() if self._core.leader is None:
                return
            case Elected() | TermOver():
                self._leader = self.label if isinstance(message, Elected) else None
                said = "is the primary" if isinstance(message, Elected) else "is not the primary any more"
                self._journal.note(now, "", f"{self.label} {said}")
                for _, answer in [ask for asks in self._drain_asks.values() for ask in asks]:
                    answer.set_exception(NotPrimary(self.not_primary))
                self._drain_asks.clear()
                self._tell(message)
            case _:
                self._tell(message)

    def _tell(self, message: CoreMessage) -> None:
        now = self._clock.now()
        for order in self._core.take(message, now):
            self._carry_out(order, now)

    def _carry_out(self, order: Ordered, now: WallMs) -> None:
        match order:
            case ToNode(node, instruction):
                known, leader = self._fleet.nodes.get(node), self._core.leader
                record = record_of(self._core, instruction.query)
                if record is not None and record.node == node and isinstance(instruction, Prepare):
                    # A node hosts one version of a query at a time: in place, nothing can be prepared.
                    self.post(NodeAnswered(node, Prepared(instruction.query, instruction.move)))
                elif known is not None and record is not None and leader is not None:
                    drained = self._fleet.drained.get(instruction.query)
                    moment = self._outages.moment(instruction.query)
                    context = QueryContext.of(record, self._places, drained, moment)
                    self._of_hands.dispatch.send(leader, node, known.address, instruction, context)
            case AskAnswered(id, accepted, line):
                for answer in self._asks.pop(id, ()):
                    if line == NOT_PRIMARY:  # whether it was written down is for the successor to say: that is no refusal
                        answer.set_exception(NotPrimary(self.not_primary))
                    else:
                        answer.set_result(AskReceipt(accepted, line))
            case Said(query, text):
                self._journal.note(now, query, text)
            case to_store:
                self._of_hands.candidate.order(to_store)

    def _watch(self) -> None:
        """Nodes are asked as often as can be; what is done once a round is done as often as that."""
        nodes = self._fleet.nodes
        period_ms = round(1000 * period_s(len(nodes)))
        self._core.nodes.period_ms, self._round_ms = period_ms, max(ROUND_MS, period_ms)
        self._of_hands.poll.watch({name: node.address for name, node in nodes.items()}, self._busy)

    # ---- what nodes tell

    def _heard(self, message: StatusHeard, now: WallMs) -> None:
        status = message.status
        boot = self._fleet.hear(status.node, NodeHeard(status, now))
        self._loads.hear(status, now)
        self._tell(report_of(status, boot))
        if self._core.leader is None:
            return
        for receipt in receipts_in(status):
            record = record_of(self._core, receipt.query)
            if record is None or record.node != status.node or record.phase not in CONCERNED:
                continue
            if record.phase is not Phase.SERVING or not isinstance(receipt, Running):  # nothing waits for its commits
                self._tell(NodeAnswered(status.node, receipt))

    def _learnt(self, message: QueryTold, now: WallMs) -> None:
        told = message.receipt
        if told.done and told.action == "drain":
            known = self._fleet.drained.get(told.query)
            if known is None or known.epoch != told.epoch:  # told again, it says less
                self._fleet.drained[told.query] = told
        parts = ", ".join(f"{part} {ms:g} ms" for part, ms in (told.parts_ms or {}).items())
        how = "" if told.done else " is refused"
        text = f"{told.action} on {message.node}, epoch {told.epoch}{how}: {told.because}{f' ({parts})' if parts else ''}"
        if self._fleet.news(told.query, text):
            self._journal.note(now, told.query, text)
        record = record_of(self._core, told.query)
        outage = self._outages.hear(told, moving=record is not None and record.move is not None)
        if outage is not None:
            self._journal.note(now, told.query, str(outage))

    # ---- what people ask

    def _asked(self, message: PersonAsks, now: WallMs) -> None:
        if isinstance(message, LookPosted):
            message.answer.set_result(self._standing(now))
        elif self._core.leader is None:
            message.answer.set_exception(NotPrimary(self.not_primary))
        elif isinstance(message, AskPosted):
            self._asks.setdefault(message.asked.id, []).append(message.answer)
            record = record_of(self._core, message.asked.query)
            self._tell(aimed(message.asked, record, self._seen(now), self._rounds.choose))
        elif isinstance(message, DrainPosted):
            receipt, order = self._drains.asked(message.wanted, self._core.leader, self._fleet.heard, self._fleet.nodes)
            self._rounds.look(self._seen(now))
            if order is None:
                message.answer.set_result(receipt)
            else:
                self._drain_asks.setdefault(message.wanted.node, []).append((receipt, message.answer))
                self._of_hands.candidate.order(order)
        elif not self._core.informed:
            message.answer.set_exception(NotPrimary(f"{self.label} is the primary, but has not read the records yet"))
        else:
            record = record_of(self._core, message.query)
            message.answer.set_result(progress_of(message, record, self._outages.of(message.query)))

    # ---- rounds

    def _round(self, now: WallMs) -> None:
        self._loads.step(now)
        leader = self._core.leader
        if leader is None:
            return
        seen = self._seen(now)
        for drain in self._drains.over(seen):
            self._drains.end(drain.node)
            self._of_hands.candidate.order(WriteDrain(leader, drain, over=True))
        self._rounds.look(seen)
        self._rounds.turn(now)
        for stuck in self._drains.wish(self._seen(now), self._rounds.choose):
            if self._fleet.news(stuck, text := "its node is being drained, and no other takes it"):
                self._journal.note(now, stuck, text)

    def _seen(self, now: WallMs) -> FleetSeen:
        wished = frozenset(wish.query for wish in self._core.wishes.unmet)
        members = frozenset(self._fleet.nodes)
        return FleetSeen(
            now, members, self._fleet.heard, records_of(self._core), self._drains.nodes, wished, cool_ms=self._cool_ms,
            fresh_ms=max(FRESH_MS, round(FRESH_MS * self._round_ms / ROUND_MS)),
        )  # fmt: skip

    def _standing(self, now: WallMs) -> FleetStanding:
        seen = self._seen(now)
        nodes = node_standings(self._fleet.nodes, seen, self._rounds.hosts)
        queries = query_standings(seen)
        return FleetStanding(self.label, self._core.informed, self._leader, now, nodes, queries)

    @property
    def _of_hands(self) -> Hands:
        assert self.hands is not None
        return self.hands
