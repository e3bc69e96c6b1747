"""How the orchestrator ends a query for good: asked once or twice, with a successor, and what is left of it."""

from dataclasses import replace

import pytest

from fleet.orchestrator.desk import Desk
from headway.fleet.moves.messages import (
    Copied,
    DeleteFolders,
    EndQuery,
    FoldersDeleted,
    Prepared,
    RunFailed,
    Running,
    TakeOver,
)
from headway.fleet.moves.record import Phase
from headway.fleet.orchestrator.asks import NOT_PRIMARY
from headway.fleet.orchestrator.core import Orchestrator
from headway.fleet.orchestrator.messages import AskAnswered, MoveAsked, QuerySubmitted, StopAsked, Tick
from headway.model.time import WallMs

STOP = StopAsked("s1", "q")


@pytest.fixture
def desk() -> Desk:
    made = Desk()
    made.elect()
    made.serve()
    return made


def stopped(desk: Desk, asked: StopAsked = STOP) -> Desk:
    desk.tell(asked)
    desk.held.discard("q")
    desk.answer("a", RunFailed("q", 1, "it was told to end"))
    desk.pass_time(500)
    return desk


def test_it_is_told_to_end_and_is_over_when_its_lease_is_barred(desk: Desk) -> None:
    desk.tell(STOP)
    assert desk.answers[-1] == AskAnswered("s1", True, "q: ending on a") and desk.told() == [("a", EndQuery)]
    desk.answer("a", RunFailed("q", 1, "it was told to end"))
    desk.pass_time(1_000)
    assert desk.record().phase is Phase.ENDING  # its lease is still held, whatever its node has said
    stopped(desk)
    desk.told()
    desk.pass_time(10_000)
    assert desk.record().phase is Phase.STOPPED and desk.told() == []
    assert desk.core.term is not None and desk.core.term.book.open == []


def test_who_asks_again_asks_once_and_after_the_end_too(desk: Desk) -> None:
    desk.tell(STOP)
    version = desk.store["q"].version
    desk.tell(STOP)
    desk.tell(replace(STOP, id="s2"))
    assert desk.store["q"].version == version and [answer.accepted for answer in desk.answers[-3:]] == [True] * 3
    stopped(desk, replace(STOP, id="s3"))
    assert "is stopped; its checkpoint is kept" in desk.answers[-1].line or desk.answers[-1].accepted
    desk.tell(replace(STOP, id="s4"))
    assert desk.answers[-1].line.startswith("q is stopped; its checkpoint is kept")


def test_a_query_that_nobody_knows_is_refused(desk: Desk) -> None:
    desk.tell(StopAsked("s1", "r"))
    assert desk.answers[-1] == AskAnswered("s1", False, "stop.query = 'r': expected a query of this fleet")
    core = Orchestrator()
    assert core.take(STOP, WallMs(0)) == [AskAnswered("s1", False, NOT_PRIMARY)]


def test_a_successor_reads_the_store_and_stops_it(desk: Desk) -> None:
    desk.tell(STOP)
    next_one = Desk(store=desk.store, now=desk.now)
    next_one.elect(leader=2)
    assert next_one.told() == [("a", EndQuery)]
    next_one.answer("a", RunFailed("q", 1, "it was told to end"))
    next_one.pass_time(500)
    assert next_one.record().phase is Phase.STOPPED


def test_forgotten_folders_are_deleted_by_whoever_can_be_reached(desk: Desk) -> None:
    stopped(desk, replace(STOP, forget=True))
    assert ("a", DeleteFolders) in desk.told()
    desk.nodes = ("b",)
    desk.pass_time(10_000)
    assert ("b", DeleteFolders) in desk.told()
    desk.answer("b", FoldersDeleted("q", ("q/epoch-1",)))
    assert desk.record().retired == () and desk.record().phase is Phase.STOPPED
    desk.pass_time(1_000)
    assert desk.told() == [] and desk.core.take(Tick(), WallMs(desk.now)) == []


def test_a_move_ends_with_its_query(desk: Desk) -> None:
    desk.tell(MoveAsked("m1", "q", "b", "it was asked for"))
    desk.answer("b", Prepared("q", "m1"))
    stopped(desk)
    assert desk.record().move is None and desk.record().phase is Phase.STOPPED
    assert "q: move m1: undone, because the query is being stopped" in desk.journal
    assert "q: it is to be stopped" in desk.journal


def test_submitted_again_it_runs_again_and_late_requests_change_nothing(desk: Desk) -> None:
    desk.tell(STOP)
    desk.tell(QuerySubmitted("x1", "q", "q.py", "b"))
    assert desk.answers[-1] == AskAnswered("x1", False, "submit.query = 'q': it is being stopped: wait for its end")
    stopped(desk)
    desk.tell(QuerySubmitted("s-q", "q", "q.py", "a"))  # the very first, once more
    assert desk.record().phase is Phase.STOPPED and desk.answers[-1].accepted
    desk.told()
    desk.tell(QuerySubmitted("x2", "q", "q.py", "b"))
    here = desk.record().here
    assert here is not None and (here.node, here.epoch) == ("b", 2) and desk.told() == [("b", TakeOver)]
    desk.answer("b", Copied("q", 2))
    desk.answer("b", Running("q", 2, 1))
    desk.tell(STOP)
    assert desk.record().phase is Phase.SERVING and desk.answers[-1].accepted


def test_one_that_fails_again_and_again_can_be_stopped(desk: Desk) -> None:
    desk.held.clear()
    desk.answer("a", RunFailed("q", 1, "a bug"))
    assert desk.record().phase is Phase.VACANT
    desk.tell(STOP)
    desk.pass_time(5_000)
    assert desk.record().phase is Phase.STOPPED and desk.record().top == 1
