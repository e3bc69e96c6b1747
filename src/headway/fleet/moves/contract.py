"""What `fleet move` and `fleet upgrade` promise: how long they wait, what happens then, what they report."""

from dataclasses import dataclass
from typing import Literal, get_args

from headway.errors import SettingError
from headway.fleet.moves.record import (
    MOVE_TIMEOUT_MS,
    MoveRecord,
    OnTimeout,
    Outcome,
    Phase,
    QueryRecord,
    Revision,
    reached,
)
from headway.model.time import WallMs, duration_ms

UPGRADE_TRIAL = 3  # batches
STOP = "stop"  # in place of the id of a move: how the end of the query stands


@dataclass(frozen=True, slots=True)
class MoveContract:
    """How long a move may take until the source has ended, and what then.

    `rollback` undoes it: the source goes on. `force` goes on without waiting: the source is drained at once, in the middle
    of a batch if need be, whether or not the target is ready. After the source has ended neither applies.
    """

    timeout_ms: int = MOVE_TIMEOUT_MS
    on_timeout: OnTimeout = "rollback"
    trial: int = 1
    partitions: int | None = None  # over how many the state is spread on the way; None: as it is

    def move(self, id: str, source: str, target: str, revision: Revision, because: str, now: WallMs) -> MoveRecord:
        return MoveRecord(
            id, source, target, revision, because, now,
            timeout_ms=self.timeout_ms, on_timeout=self.on_timeout, trial=self.trial, partitions=self.partitions,
        )  # fmt: skip


def contract(
    timeout: object = MOVE_TIMEOUT_MS, on_timeout: str = "rollback", trial: int = 1, partitions: int | None = None
) -> MoveContract:
    """From what a user gives."""
    if partitions is not None and partitions < 1:
        raise SettingError("partitions", partitions, "1 or more")
    if partitions is not None and on_timeout == "force":
        raise SettingError("on_timeout", on_timeout, "rollback, since state can be spread anew between two batches only")
    timeout_ms = duration_ms("timeout", timeout)
    if timeout_ms == 0:
        raise SettingError("timeout", timeout, "more than nothing, such as '60 s'")
    for known in get_args(OnTimeout):
        if on_timeout == known:
            if trial < 1:
                raise SettingError("trial", trial, "1 batch or more")
            return MoveContract(timeout_ms, known, trial, partitions)
    raise SettingError("on_timeout", on_timeout, f"one of {', '.join(get_args(OnTimeout))}")


@dataclass(frozen=True, slots=True)
class MoveStanding:
    """How a move stands, for the caller that waits for it."""

    state: Literal["under way", "done", "undone", "home", "unknown"]
    line: str

    @property
    def over(self) -> bool:
        return self.state != "under way"

    @property
    def exit_code(self) -> int:
        """Of a command that has waited for the end of it."""
        return 0 if self.state == "done" else 1


def standing(record: QueryRecord, id: str) -> MoveStanding:
    """Of the move with this id. It is known until the next move of the same query has ended."""
    if id == STOP:
        return _of_stop(record)
    move, ended = record.move, record.ended
    if move is not None and move.id == id:
        trouble = f", because {move.trouble}" if move.trouble else ""
        return MoveStanding("under way", f"{record.query} to {move.target}: {reached(move, record.phase)}{trouble}")
    if ended is None or ended.id != id:
        return MoveStanding("unknown", f"{record.query}: nothing is known of move {id}")
    match ended.outcome:
        case Outcome.DONE:
            return MoveStanding("done", f"{record.query} is on {record.node}")
        case Outcome.UNDONE:
            return MoveStanding("undone", f"{record.query} was not moved: {ended.because}")
        case Outcome.HOME:
            return MoveStanding("home", f"{record.query} has gone home, to {record.node}: {ended.because}")


def _of_stop(record: QueryRecord) -> MoveStanding:
    if record.stop is None:
        return MoveStanding("unknown", f"{record.query}: it is not being stopped")
    if record.phase is not Phase.STOPPED:
        return MoveStanding("under way", f"{record.query}: {record.phase}{f' on {record.node}' if record.node else ''}")
    if record.stop.forget and record.retired:
        return MoveStanding("under way", f"{record.query}: stopped, its checkpoint is being deleted")
    kept = "its checkpoint is deleted" if record.stop.forget else "its checkpoint is kept: `fleet submit` goes on from it"
    return MoveStanding("done", f"{record.query} is stopped; {kept}")
