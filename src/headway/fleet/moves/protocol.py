"""The steps of a move, and of an incarnation: from one record to the next. Pure; the same record means that nothing changes.

Until the old incarnation has ended, trouble undoes a move. Once it has, the move is finished on the target, or the query
goes home; both begin from what the old one has left,
under an epoch that is newer than any before. Two incarnations whose epoch
counts cannot be: an epoch is given out once, and the next only when the lease on the last is surely over (`gone`).
"""

from dataclasses import replace

from headway.fleet.moves.messages import CannotRun, Copied, Drained, FoldersDeleted, Prepared, Receipt, Running, WentOn
from headway.fleet.moves.record import (
    PAST_ASKS,
    EndedMove,
    FleetIncarnation,
    MoveRecord,
    Outcome,
    Phase,
    QueryRecord,
    QueryStop,
    Revision,
    Step,
    folder_of,
    reached,
)
from headway.model.time import WallMs


def refusal(record: QueryRecord | None, move: MoveRecord, query: str) -> str | None:
    """Why a move cannot even begin, in one line; None if it can."""
    if record is None:
        return f"move.query = {query!r}: expected a query of this fleet"
    if record.move is not None:
        under_way = f"move {record.move.id} to {record.move.target} is {reached(record.move, record.phase)}"
        return f"move.query = {query!r}: expected a query that is not being moved; {under_way}: wait for its end"
    if record.phase is not Phase.SERVING:
        return f"move.query = {query!r}: expected a query that is serving, and this one is {record.phase}: wait until it is"
    if move.target == record.node and (move.revision == record.revision or move.partitions is not None):
        return f"move.node = {move.target!r}: expected another node than the one that {query} is on"
    return None


def ask(record: QueryRecord, move: MoveRecord) -> QueryRecord:
    """A move begins. Only after `refusal` has found no fault with it."""
    return replace(record, move=move)


def drain(record: QueryRecord) -> QueryRecord:
    """The target is prepared, and the source can be reached."""
    return _with_step(record, Step.DRAINING) if _at(record, Step.PREPARED) else record


def received(record: QueryRecord, receipt: Receipt, now: WallMs) -> QueryRecord:
    """What a node's answer changes. One about another move or another epoch than the record's changes nothing."""
    match receipt:
        case Prepared(move=move) if _at(record, Step.ASKED, of=move):
            return _with_step(record, Step.PREPARED)
        case CannotRun(move=move, because=why) if _at(record, Step.ASKED, Step.PREPARED, of=move):
            return undone(record, f"the target cannot run it: {why}", now)
        case Drained(move=move, epoch=epoch) if _at(record, Step.DRAINING, Step.RESUMING, of=move) and _is(record, epoch):
            return _ended_at_source(record)
        case WentOn(move=move, epoch=epoch) if _at(record, Step.RESUMING, of=move) and _is(record, epoch):
            assert record.move is not None
            return undone(record, record.move.trouble, now)
        case Copied(epoch=epoch) if _is(record, epoch) and record.phase is Phase.COPYING:
            return replace(record, phase=Phase.STARTING, begun=True)
        case Running(epoch=epoch, commits=commits) if _is(record, epoch) and record.launching:  # so its folder is complete
            started = replace(record, phase=Phase.TRIAL, begun=True)
            return _proved(started, now) if commits >= commits_needed(record) else started
        case FoldersDeleted(folders=folders):
            return replace(record, retired=tuple(f for f in record.retired if f not in folders))
    return record


def gone(record: QueryRecord, epoch: int, because: str, now: WallMs) -> QueryRecord:
    """An incarnation is surely over: its lease can neither be held nor taken any more."""
    if not _is(record, epoch):
        return record
    vacant = replace(record, phase=Phase.VACANT, here=None, lineage=_left(record))
    if record.move is None or record.move.step is Step.HOME:
        return vacant
    if record.move.step in (Step.ASKED, Step.RESUMING):
        return undone(vacant, f"the source is gone: {because}", now)
    if record.move.step is Step.FORWARD:
        return homeward(vacant, because)
    return _with_step(vacant, Step.FORWARD)  # the source has died, and the target is prepared


def homeward(record: QueryRecord, because: str) -> QueryRecord:
    """The target cannot: the query is started next by the source, if it can."""
    assert record.move is not None
    return replace(record, move=replace(record.move, step=Step.HOME, trouble=because))


def target_gone(record: QueryRecord, because: str, now: WallMs) -> QueryRecord:
    """The target has died before the source has ended: as if nothing had been."""
    if _at(record, Step.ASKED, Step.PREPARED):
        return undone(record, because, now)
    return _resuming(record, because) if _at(record, Step.DRAINING) else record


def timed(record: QueryRecord, now: WallMs) -> QueryRecord:
    """The time that a move was given is over: undo it while that can be, or hurry, as was agreed."""
    move = record.move
    if move is None or now - move.asked_at < move.timeout_ms:
        return record
    late = f"not done within {move.timeout_ms} ms"
    if move.on_timeout == "rollback":
        return target_gone(record, late, now)
    if move.step not in (Step.ASKED, Step.PREPARED, Step.DRAINING) or (move.at_once and move.step is not Step.ASKED):
        return record
    step = Step.PREPARED if move.step is Step.ASKED else move.step
    return replace(record, move=replace(move, at_once=True, step=step))


def submitted_again(record: QueryRecord, id: str, pipeline: str) -> QueryRecord:
    """One that was stopped, with a file that may be another. It goes on from its checkpoint, unless that was given up."""
    assert record.phase is Phase.STOPPED
    revision = Revision(pipeline, record.revision.number + 1)
    return replace(record, phase=Phase.VACANT, revision=revision, stop=None, ended=None, past=remembered(record, id))


def launch(record: QueryRecord, node: str, revision: Revision) -> QueryRecord:
    """A new incarnation, under an epoch that was never given out before. Only where there is none."""
    assert record.phase is Phase.VACANT
    epoch = record.top + 1
    here = FleetIncarnation(epoch, node, folder_of(record.query, epoch), revision)
    return replace(record, phase=Phase.COPYING, here=here, top=epoch)


def end(record: QueryRecord, because: str) -> QueryRecord:
    """The incarnation that is there shall end: it has started, and never commits."""
    move = None if record.move is None else replace(record.move, trouble=because)
    return replace(record, phase=Phase.ENDING, move=move)


def stop(record: QueryRecord, id: str, forget: bool, now: WallMs) -> QueryRecord:
    """The query ends, wherever it has come to, and is not started again. A move of it is over."""
    free = record if record.move is None else undone(record, "the query is being stopped", now)
    wanted = QueryStop(forget or (record.stop is not None and record.stop.forget))
    phase = Phase.VACANT if free.here is None else Phase.ENDING
    return stopped(replace(free, phase=phase, stop=wanted, past=remembered(free, id)))


def stopped(record: QueryRecord) -> QueryRecord:
    """Nothing of it runs any more. The record stays: it has the highest epoch, and an epoch is never given out twice."""
    if record.stop is None or record.phase is not Phase.VACANT:
        return record
    if not record.stop.forget:
        return replace(record, phase=Phase.STOPPED)
    gone = tuple(dict.fromkeys((*record.retired, *record.lineage)))
    return replace(record, phase=Phase.STOPPED, retired=gone, lineage=(), begun=False)


def swept_by(record: QueryRecord, node: str | None) -> QueryRecord:
    """Which node deletes the folders of a query that is stopped; None where none can be reached."""
    if record.stop is None or node == record.stop.sweeper:
        return record
    return replace(record, stop=replace(record.stop, sweeper=node))


def undone(record: QueryRecord, because: str, now: WallMs) -> QueryRecord:
    """The epoch that the target has prepared for is passed over, and the folder that it has begun may go: it may have died,
    and what prepares next, another node or another process, must not find its folder begun by an earlier one."""
    passed = record.top + 1
    retired = (*record.retired, folder_of(record.query, passed))
    return _with_end(replace(record, top=passed, retired=retired), Outcome.UNDONE, because, now)


def commits_needed(record: QueryRecord) -> int:
    """Of the new incarnation, before the folders of earlier ones may go."""
    return record.move.trial if record.move is not None and record.move.step is Step.FORWARD else 1


def _ended_at_source(record: QueryRecord) -> QueryRecord:
    """The source has confirmed it. From here on there is only forward, or home."""
    assert record.move is not None
    vacant = replace(record, phase=Phase.VACANT, here=None, lineage=_left(record))
    if record.move.step is Step.RESUMING:
        return homeward(vacant, record.move.trouble)
    return launch(_with_step(vacant, Step.FORWARD), record.move.target, record.move.revision)


def _proved(record: QueryRecord, now: WallMs) -> QueryRecord:
    """The new incarnation has committed: its folder holds all that the earlier ones held."""
    assert record.here is not None
    earlier = tuple(f for f in record.lineage if f != record.here.folder)
    served = replace(
        record, phase=Phase.SERVING, lineage=(record.here.folder,), retired=(*record.retired, *earlier)
    )  # fmt: skip
    if record.move is None:
        return served
    if record.move.step is Step.HOME:
        return _with_end(served, Outcome.HOME, record.move.trouble, now)
    return _with_end(replace(served, revision=record.here.revision), Outcome.DONE, record.move.because, now)


def remembered(record: QueryRecord, id: str) -> tuple[str, ...]:
    """With the id of what was asked for, which is not done a second time if it is asked for again."""
    return (*record.past, id)[-PAST_ASKS:]


def _with_end(record: QueryRecord, outcome: Outcome, because: str, now: WallMs) -> QueryRecord:
    assert record.move is not None
    ended = EndedMove(record.move.id, outcome, because, now)
    return replace(record, move=None, ended=ended, past=remembered(record, record.move.id))


def _resuming(record: QueryRecord, because: str) -> QueryRecord:
    assert record.move is not None
    return replace(record, move=replace(record.move, step=Step.RESUMING, trouble=because))


def _with_step(record: QueryRecord, step: Step) -> QueryRecord:
    assert record.move is not None
    return replace(record, move=replace(record.move, step=step))


def _at(record: QueryRecord, *steps: Step, of: str | None = None) -> bool:
    move = record.move
    return move is not None and move.step in steps and (of is None or of == move.id)


def _is(record: QueryRecord, epoch: int) -> bool:
    return record.here is not None and record.here.epoch == epoch


def _left(record: QueryRecord) -> tuple[str, ...]:
    """The folders that the next incarnation has to look into."""
    assert record.here is not None
    return tuple(dict.fromkeys((*record.lineage, record.here.folder)))
