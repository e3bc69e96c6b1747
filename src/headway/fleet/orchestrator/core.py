"""The orchestrator: told what has happened, it orders what follows. One thread; the same messages give the same orders."""

from headway.fleet.orchestrator.asks import NOT_PRIMARY
from headway.fleet.orchestrator.known_nodes import KnownNodes
from headway.fleet.orchestrator.launching import FewestQueries, Placer
from headway.fleet.orchestrator.messages import (
    AskAnswered,
    CoreMessage,
    Elected,
    Members,
    MoveAsked,
    NodeReport,
    OfATerm,
    Ordered,
    QuerySubmitted,
    ReadRecords,
    StopAsked,
    TermOver,
)
from headway.fleet.orchestrator.term import OrchestratorTimes, Term
from headway.fleet.orchestrator.wishes import Wishes
from headway.model.time import WallMs


class Orchestrator:
    """The primary for some terms, a secondary between them. What it knew in one term counts for nothing in the next."""

    def __init__(self, placer: Placer | None = None, times: OrchestratorTimes | None = None) -> None:
        self.times, self._placer = times or OrchestratorTimes(), placer or FewestQueries()
        self.nodes, self.wishes = KnownNodes(self.times.reach_ms), Wishes()
        self.term: Term | None = None

    @property
    def leader(self) -> int | None:
        """The number of its election; None while it is not the primary."""
        return None if self.term is None else self.term.leader

    @property
    def informed(self) -> bool:
        """It is the primary, and knows what its predecessor has left."""
        return self.term is not None and self.term.informed

    def take(self, message: CoreMessage, now: WallMs) -> list[Ordered]:
        """What follows from a message."""
        match message:
            case Elected(leader):
                return self._elected(leader, now)
            case TermOver():
                asks = [] if self.term is None else self.term.asks.drop_all()
                self.term = None
                return [*asks]
            case Members(nodes) if self.term is not None:
                self.nodes.list_members(nodes)
            case NodeReport():  # a secondary hears them, too, and knows the nodes when it is elected
                if not self.nodes.hear(message, now):
                    return []
            case MoveAsked() | QuerySubmitted() | StopAsked() if self.term is None:
                return [AskAnswered(message.id, False, NOT_PRIMARY)]
        if self.term is None or (isinstance(message, OfATerm) and message.leader != self.leader):
            return []
        return list(self.term.take(message, now))

    def _elected(self, leader: int, now: WallMs) -> list[Ordered]:
        self.nodes.forget_members()
        self.wishes.begin(leader)
        self.term = Term(leader, self.nodes, self.wishes, self._placer, self.times, began=now)
        return [ReadRecords(leader)]
