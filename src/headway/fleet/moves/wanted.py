"""What has to be said to which node, given a record that has been written. Nothing else is ever said."""

from collections.abc import Iterator

from headway.fleet.moves.messages import (
    DeleteFolders,
    DrainQuery,
    EndQuery,
    Instruction,
    Prepare,
    ResumeQuery,
    StartQuery,
    TakeOver,
)
from headway.fleet.moves.protocol import commits_needed
from headway.fleet.moves.record import FleetIncarnation, MoveRecord, Phase, QueryRecord, Step

Addressed = tuple[str, Instruction]  # a node, and what it is told


def instructions(record: QueryRecord, version: int) -> tuple[Addressed, ...]:
    """The primary says these again and again until the record has moved on."""
    if record.here is None:
        return tuple(_of_sweeper(record, version))
    moving = _of_move(record, record.here, record.move, version) if record.move is not None else ()
    return (*moving, *_of_life(record, record.here, version))


def _of_move(record: QueryRecord, here: FleetIncarnation, move: MoveRecord, version: int) -> Iterator[Addressed]:
    """While the old incarnation may still run."""
    query = record.query
    if move.step in (Step.ASKED, Step.PREPARED, Step.DRAINING):
        yield move.target, Prepare(query, version, move.id, move.revision, move.partitions)
    if move.step is Step.DRAINING:
        yield here.node, DrainQuery(query, version, move.id, here.epoch, record.top + 1, move.at_once)
    if move.step is Step.RESUMING:
        yield here.node, ResumeQuery(query, version, move.id, here.epoch)


def _of_life(record: QueryRecord, here: FleetIncarnation, version: int) -> Iterator[Addressed]:
    query, epoch = record.query, here.epoch
    match record.phase:
        case Phase.COPYING:
            commits = commits_needed(record) if record.begun else None
            folders, spread = record.lineage, _partitions(record)
            take = TakeOver(query, version, epoch, here.revision, folders, here.folder, not record.begun, spread, commits)
            yield here.node, take
        case Phase.STARTING | Phase.TRIAL:
            yield here.node, StartQuery(query, version, epoch, commits_needed(record))
        case Phase.ENDING:
            yield here.node, EndQuery(query, version, epoch, at_once=record.stop is None)
        case Phase.SERVING if record.retired:
            yield here.node, DeleteFolders(query, version, record.retired)


def _of_sweeper(record: QueryRecord, version: int) -> Iterator[Addressed]:
    """When it is stopped."""
    if record.phase is Phase.STOPPED and record.retired and record.stop is not None and record.stop.sweeper is not None:
        yield record.stop.sweeper, DeleteFolders(record.query, version, record.retired)


def _partitions(record: QueryRecord) -> int | None:
    """Only the target spreads the state anew; the source, if the query goes home, takes it as it is by then."""
    return record.move.partitions if record.move is not None and record.move.step is Step.FORWARD else None
