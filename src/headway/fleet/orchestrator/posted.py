"""What is put into the inbox of an orchestrator's process: what people ask, and everything that is learnt elsewhere."""

from concurrent.futures import Future
from dataclasses import dataclass

from headway.errors import HeadwayError
from headway.fleet.orchestrator.candidate import Learnt
from headway.fleet.orchestrator.dispatch import QueryTold
from headway.fleet.orchestrator.messages import MoveAsked, NodeAnswered, QuerySubmitted, StopAsked
from headway.fleet.orchestrator.statuses import StatusHeard
from headway.fleet.orchestrator.wire import AskReceipt, DrainWanted, FleetStanding, MoveProgress


class NotPrimary(HeadwayError):
    """Only the primary may be asked for this; the line names it."""


@dataclass(frozen=True, slots=True)
class AskPosted:
    """A user asks for a move, a new query or the end of one, and waits for the answer."""

    asked: MoveAsked | QuerySubmitted | StopAsked
    answer: "Future[AskReceipt]"


@dataclass(frozen=True, slots=True)
class DrainPosted:
    wanted: DrainWanted
    answer: "Future[AskReceipt]"


@dataclass(frozen=True, slots=True)
class LookPosted:
    """How does the fleet stand?"""

    answer: "Future[FleetStanding]"


@dataclass(frozen=True, slots=True)
class ProgressPosted:
    """How does this move stand?"""

    query: str
    move: str
    answer: "Future[MoveProgress]"


PersonAsks = AskPosted | DrainPosted | LookPosted | ProgressPosted
Posted = PersonAsks | Learnt | StatusHeard | NodeAnswered | QueryTold
