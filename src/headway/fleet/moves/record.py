"""What the store holds of one query: its newest incarnation, its folders, and the move that is under way.

Nothing is done that does not follow from a record that has been written: a successor reads it, and goes on.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from headway.model.time import WallMs

MOVE_TIMEOUT_MS = 60_000
PAST_ASKS = 20
OnTimeout = Literal["rollback", "force"]


class Phase(StrEnum):
    """How far the newest incarnation of a query has come."""

    VACANT = "vacant"  # there is none, and none of an earlier epoch can ever begin another batch
    COPYING = "copying"  # its node takes the lease, raises the epoch, and makes its folder
    STARTING = "starting"  # its folder is complete
    TRIAL = "trial"  # it stands at its gate or runs; its first commits are awaited
    SERVING = "serving"  # it has committed: its folder is the one that counts
    ENDING = "ending"  # it shall end; what comes next waits until it surely has
    STOPPED = "stopped"  # a user has stopped it: nothing runs, and nothing will until it is submitted again


class Step(StrEnum):
    """How far a move has come."""

    ASKED = "asked"  # the target builds and analyses the plan, and loads what it can; the source serves
    PREPARED = "prepared"
    DRAINING = "draining"  # the source ends the query at a batch boundary that it chooses
    RESUMING = "resuming"  # it was told so, but shall go on as if nothing had been, if it has not ended
    FORWARD = "forward"  # the source has ended: the target takes over, whatever happens
    HOME = "home"  # the target cannot: the query goes back


class Outcome(StrEnum):
    """How a move has ended."""

    DONE = "done"  # the query runs where it was to run
    UNDONE = "undone"  # the source has not been touched, or it died of itself
    HOME = "home"  # the target has failed: the query was started from its own folder again


@dataclass(frozen=True, slots=True)
class Revision:
    """Which code of a query: a pipeline file, and a number that grows with every upgrade."""

    pipeline: str
    number: int = 1


@dataclass(frozen=True, slots=True)
class FleetIncarnation:
    """One life of a query on a node. Its epoch is its own, and so is its folder."""

    epoch: int
    node: str
    folder: str
    revision: Revision


@dataclass(frozen=True, slots=True)
class MoveRecord:
    """A move: from where to where, with which code, how long it may take, and how far it has come."""

    id: str
    source: str
    target: str
    revision: Revision
    because: str
    asked_at: WallMs
    step: Step = Step.ASKED
    timeout_ms: int = MOVE_TIMEOUT_MS
    on_timeout: OnTimeout = "rollback"
    trial: int = 1  # so many batches must be committed on the target
    partitions: int | None = None  # over how many the state is spread on the way; None: as it is
    at_once: bool = False  # the time is up and the move is forced: the source does not wait for a good moment
    trouble: str = ""  # why it is being undone, or goes home


@dataclass(frozen=True, slots=True)
class QueryStop:
    """A user wants this query to end, and not to be started again."""

    forget: bool = False  # its checkpoints are deleted, too
    sweeper: str | None = None  # the node that deletes folders, once there is none that serves


@dataclass(frozen=True, slots=True)
class EndedMove:
    """How the last move of a query has ended, for the caller that asked for it."""

    id: str
    outcome: Outcome
    because: str
    at: WallMs


@dataclass(frozen=True, slots=True)
class QueryRecord:
    """All that must be known of a query to go on with it."""

    query: str
    revision: Revision  # that has proved itself, or is the first
    phase: Phase = Phase.VACANT
    here: FleetIncarnation | None = None  # the newest incarnation; None where there is none
    top: int = 0  # the highest epoch ever given out
    lineage: tuple[str, ...] = ()  # folders that may hold what the next incarnation needs, oldest first
    retired: tuple[str, ...] = ()  # folders that are not needed any more, but that may still be there
    begun: bool = False  # a folder of this query was complete once: none may begin from nothing any more
    move: MoveRecord | None = None
    ended: EndedMove | None = None
    past: tuple[str, ...] = ()  # the ids of what was asked for and is done: asked for again, it is not done again
    stop: QueryStop | None = None

    @property
    def node(self) -> str | None:
        return None if self.here is None else self.here.node

    @property
    def launching(self) -> bool:
        """An incarnation is on its way: the query is out of service, or has not committed yet."""
        return self.phase in (Phase.COPYING, Phase.STARTING, Phase.TRIAL)


def folder_of(query: str, epoch: int) -> str:
    """The checkpoint of one incarnation, below the folder of all checkpoints."""
    return f"{query}/epoch-{epoch}"


def reached(move: MoveRecord, phase: Phase) -> str:
    """How far a move has come, in the words of the documentation."""
    if move.step is not Step.FORWARD:
        return {Step.RESUMING: "being undone", Step.HOME: "going home"}.get(move.step, move.step.value)
    return {Phase.COPYING: "drained", Phase.STARTING: "copied", Phase.TRIAL: "started"}.get(phase, "drained")
