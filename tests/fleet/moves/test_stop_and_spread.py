"""A query that is stopped, wherever it has come to; and a move on which its state is spread over other partitions."""

from dataclasses import replace

import pytest

from headway.fleet.moves import protocol
from headway.fleet.moves.contract import MoveContract
from headway.fleet.moves.messages import (
    Copied,
    DeleteFolders,
    Drained,
    EndQuery,
    FoldersDeleted,
    Prepare,
    Prepared,
    Running,
    TakeOver,
)
from headway.fleet.moves.record import FleetIncarnation, Outcome, Phase, QueryRecord, QueryStop, Revision, Step, folder_of
from headway.fleet.moves.wanted import instructions
from headway.fleet.orchestrator.candidate import QUERIES
from headway.fleet.records import dumps, loads
from headway.model.time import WallMs

CODE, NOW = Revision("clicks.py"), WallMs(1_000)
OWN = folder_of("clicks", 3)
SERVING = QueryRecord("clicks", CODE, Phase.SERVING, FleetIncarnation(3, "a", OWN, CODE), 3, (OWN,), begun=True)
ASKED = protocol.ask(SERVING, MoveContract(partitions=4).move("m1", "a", "b", CODE, "it is full", NOW))
DRAINED = protocol.received(
    protocol.drain(protocol.received(ASKED, Prepared("clicks", "m1"), NOW)), Drained("clicks", "m1", 3), NOW
)
TRIAL = protocol.received(protocol.received(DRAINED, Copied("clicks", 4), NOW), Running("clicks", 4, 0), NOW)
ENDING = protocol.stop(SERVING, "s1", False, NOW)


def over(record: QueryRecord) -> QueryRecord:
    """Its incarnation has surely ended, and the orchestrator has looked."""
    assert record.here is not None
    return protocol.stopped(protocol.gone(record, record.here.epoch, "it was told to end", NOW))


# ---- the state over other partitions


def test_the_target_looks_first_and_spreads_the_state_of_its_own_copy() -> None:
    ((_, prepare),) = instructions(ASKED, 7)
    ((_, take),) = instructions(DRAINED, 8)
    assert isinstance(prepare, Prepare) and prepare.partitions == 4
    assert isinstance(take, TakeOver) and take.partitions == 4 and take.folder == folder_of("clicks", 4)


def test_who_takes_it_home_leaves_the_state_as_it_finds_it() -> None:
    vacant = protocol.gone(TRIAL, 4, "b is gone", NOW)
    ((_, take),) = instructions(protocol.launch(vacant, "a", CODE), 9)
    assert isinstance(take, TakeOver) and take.partitions is None and take.folders == (OWN, folder_of("clicks", 4))


# ---- the end of a query


def test_it_ends_between_two_batches_and_its_checkpoint_is_kept() -> None:
    assert instructions(ENDING, 7) == (("a", EndQuery("clicks", 7, 3, at_once=False)),)
    stopped = over(ENDING)
    assert (stopped.phase, stopped.here, stopped.lineage, stopped.retired) == (Phase.STOPPED, None, (OWN,), ())
    assert instructions(stopped, 8) == () and stopped.top == 3


def test_with_its_checkpoint_forgotten_a_node_deletes_the_folders() -> None:
    stopped = over(protocol.stop(SERVING, "s1", True, NOW))
    assert (stopped.lineage, stopped.retired, stopped.begun) == ((), (OWN,), False) and instructions(stopped, 8) == ()
    swept = protocol.swept_by(stopped, "b")
    assert instructions(swept, 9) == (("b", DeleteFolders("clicks", 9, (OWN,))),)
    assert instructions(protocol.received(swept, FoldersDeleted("clicks", (OWN,)), NOW), 10) == ()


def test_what_is_kept_may_be_forgotten_later() -> None:
    later = protocol.stop(over(ENDING), "s2", True, NOW)
    assert later.phase is Phase.STOPPED and later.retired == (OWN,) and later.past == ("s1", "s2")


@pytest.mark.parametrize(
    "record", [ASKED, DRAINED, TRIAL, protocol.drain(ASKED)], ids=["asked", "drained", "trial", "prepared"]
)
def test_a_move_is_over_when_its_query_is_stopped(record: QueryRecord) -> None:
    ending = protocol.stop(record, "s1", False, NOW)
    assert ending.move is None and ending.ended is not None and ending.ended.outcome is Outcome.UNDONE
    assert ending.phase is Phase.ENDING and ending.here == record.here
    stopped = over(ending)
    assert stopped.phase is Phase.STOPPED and OWN in stopped.lineage


def test_one_that_runs_nowhere_is_stopped_at_once() -> None:
    vacant = protocol.gone(replace(SERVING, move=None), 3, "a is gone", NOW)
    assert protocol.stop(vacant, "s1", False, NOW).phase is Phase.STOPPED


def test_submitted_again_it_goes_on_under_an_epoch_that_nobody_had() -> None:
    again = protocol.submitted_again(over(ENDING), "x1", "clicks2.py")
    begun = protocol.launch(again, "b", again.revision)
    ((_, take),) = instructions(begun, 9)
    assert isinstance(take, TakeOver) and (take.epoch, take.folders, take.fresh) == (4, (OWN,), False)
    assert begun.revision == Revision("clicks2.py", 2) and begun.stop is None and begun.past == ("s1", "x1")


def test_submitted_again_after_its_checkpoint_was_forgotten_it_begins_from_nothing() -> None:
    gone = over(protocol.stop(SERVING, "s1", True, NOW))
    begun = protocol.launch(protocol.submitted_again(gone, "x1", "clicks.py"), "b", CODE)
    ((_, take),) = instructions(begun, 9)
    assert isinstance(take, TakeOver) and (take.epoch, take.folders, take.fresh) == (4, (), True)


@pytest.mark.parametrize("record", [ENDING, over(ENDING), replace(over(ENDING), stop=QueryStop(True, "b")), ASKED])
def test_such_a_record_is_the_same_when_it_comes_back_from_the_store(record: QueryRecord) -> None:
    assert loads(QUERIES, dumps(QUERIES, record, 7), "/queries/clicks") == (record, 7)


def test_nothing_that_is_not_stopped_is_taken_for_it() -> None:
    assert protocol.stopped(SERVING) == SERVING and protocol.swept_by(SERVING, "b") == SERVING
    move = replace(ASKED.move, step=Step.HOME) if ASKED.move is not None else None
    assert protocol.stopped(replace(ASKED, move=move)).move == move
