"""The orchestrator as messages in and orders out: what it places, moves, waits for, and never does."""

from dataclasses import replace

import pytest

from fleet.orchestrator.desk import Desk
from headway.fleet.moves.contract import MoveContract
from headway.fleet.moves.messages import (
    CannotRun,
    Copied,
    DeleteFolders,
    Drained,
    DrainQuery,
    Outdated,
    Prepare,
    Prepared,
    RunFailed,
    Running,
    StartQuery,
    TakeOver,
)
from headway.fleet.moves.record import Outcome, Phase, Step
from headway.fleet.orchestrator.asks import NOT_PRIMARY
from headway.fleet.orchestrator.core import Orchestrator
from headway.fleet.orchestrator.messages import (
    AskAnswered,
    Elected,
    Members,
    MoveAsked,
    NodeReport,
    QuerySubmitted,
    ReadRecords,
    RecordWritten,
    TermOver,
    Tick,
    WriteRecord,
)
from headway.model.time import WallMs

TO_B = MoveAsked("m1", "q", "b", "it was asked for")


@pytest.fixture
def desk() -> Desk:
    made = Desk()
    made.elect()
    made.serve()
    return made


def drained(desk: Desk) -> None:
    """A move of q to b, up to where the source has ended."""
    desk.tell(TO_B)
    desk.answer("b", Prepared("q", "m1"))
    desk.held.discard("q")
    desk.answer("a", Drained("q", "m1", 1))


def test_a_new_query_goes_to_the_node_with_the_fewest() -> None:
    desk = Desk(nodes=("a", "b", "c"))
    desk.elect()
    for name in ("p", "q", "r", "s"):
        desk.tell(QuerySubmitted(name, name, f"{name}.py"))
    assert [desk.record(name).node for name in ("p", "q", "r", "s")] == ["a", "b", "c", "a"]
    assert all(answer.accepted for answer in desk.answers) and len(desk.answers) == 4
    assert desk.told() == [("a", TakeOver), ("b", TakeOver), ("c", TakeOver), ("a", TakeOver)]


def test_a_move_is_driven_from_receipt_to_receipt_and_each_step_is_in_the_store_first(desk: Desk) -> None:
    desk.tell(TO_B)
    assert desk.answers[-1].accepted and desk.told() == [("b", Prepare)]
    desk.answer("b", Prepared("q", "m1"))
    assert desk.record().move is not None and desk.told() == [("b", Prepare), ("a", DrainQuery)]
    desk.answer("a", Drained("q", "m1", 1))
    assert desk.told() == [("b", TakeOver)]
    desk.answer("b", Copied("q", 2))
    assert desk.told() == [("b", StartQuery)]
    desk.answer("b", Running("q", 2, 1))
    assert desk.told() == [("b", DeleteFolders)] and desk.record().ended is not None
    assert "q: move m1: done, because it was asked for" in desk.journal


def test_nothing_is_said_to_anybody_before_the_store_has_it(desk: Desk) -> None:
    desk.waiting = []
    desk.tell(TO_B)
    desk.pass_time(1_000)
    assert [type(order) for order in desk.waiting] == [WriteRecord] and desk.told() == [] and desk.answers[1:] == []


def test_of_two_moves_of_one_query_the_second_is_refused_in_one_line(desk: Desk) -> None:
    desk.tell(TO_B)
    desk.tell(replace(TO_B, id="m2"))
    assert desk.answers[-1].line == (
        "move.query = 'q': expected a query that is not being moved; move m1 to b is asked: wait for its end"
    )


def test_who_asks_again_with_the_same_id_asks_once(desk: Desk) -> None:
    desk.tell(TO_B)
    desk.tell(TO_B)
    assert [answer.accepted for answer in desk.answers[-2:]] == [True, True]
    desk.answer("b", CannotRun("q", "m1", "no such class"))
    desk.tell(TO_B)
    assert desk.answers[-1] == AskAnswered("m1", True, "q: that move has ended: undone")


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (replace(TO_B, query="r"), "move.query = 'r': expected a query of this fleet"),
        (replace(TO_B, target="z"), "move.node = 'z': expected one of a, b"),
        (replace(TO_B, target="a"), "move.node = 'a': expected another node than the one that q is on"),
        (QuerySubmitted("x", "q", "other.py"), "submit.query = 'q': expected a name that no query has; one of q.py has it"),
        (QuerySubmitted("x", "r", "r.py", "z"), "submit.node = 'z': expected a node of this fleet"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(desk: Desk, asked: MoveAsked | QuerySubmitted, says: str) -> None:
    desk.tell(asked)
    assert not desk.answers[-1].accepted and desk.answers[-1].line.startswith(says)


def test_a_dead_nodes_queries_start_elsewhere_when_the_store_has_barred_their_leases_and_not_before(desk: Desk) -> None:
    desk.nodes = ("b",)
    desk.tell(
        Members(frozenset(desk.nodes))
    )  # a has no session any more, but let the store have another opinion of the lease
    desk.pass_time(3_000)
    assert desk.record().phase is Phase.SERVING and desk.told() == []
    desk.held.clear()
    desk.tell(Members(frozenset(desk.nodes)))
    desk.pass_time(500)
    assert desk.record().node == "b" and desk.record().phase is Phase.COPYING and desk.told() == [("b", TakeOver)]
    assert desk.record().top == 2 and desk.record().lineage == ("q/epoch-1",)


def test_a_node_that_is_silent_but_has_its_session_keeps_its_queries(desk: Desk) -> None:
    for _ in range(100):
        desk.now += 250
        desk.tell(Tick())
        desk.tell(Members(frozenset(desk.nodes)))
    assert desk.record().phase is Phase.SERVING and desk.record().node == "a"


def test_a_node_that_has_been_started_anew_hosts_nothing_and_that_is_a_sign(desk: Desk) -> None:
    desk.tell(NodeReport("a", 2, 1))
    assert desk.record().phase is Phase.SERVING  # its lease may still run
    desk.held.clear()
    desk.now += 1_000
    desk.tell(NodeReport("a", 2, 2))
    desk.pass_time(500)
    here = desk.record().here
    assert here is not None and here.epoch == 2


def test_a_report_that_was_overtaken_is_not_heard(desk: Desk) -> None:
    desk.held.clear()
    desk.tell(NodeReport("a", 0, 99))
    assert desk.record().phase is Phase.SERVING


def test_a_query_that_fails_starts_again_and_not_where_it_has_failed(desk: Desk) -> None:
    desk.held.clear()
    desk.answer("a", RunFailed("q", 1, "a bug"))
    assert desk.record().phase is Phase.VACANT
    desk.pass_time(250)
    assert desk.record().node == "b" and "q: epoch 1 on a is over: a bug" in desk.journal


def test_a_target_that_dies_after_the_source_has_ended_is_not_waited_for(desk: Desk) -> None:
    drained(desk)
    desk.nodes = ("a",)
    desk.tell(Members(frozenset(desk.nodes)))
    desk.pass_time(500)
    home = desk.record()
    assert home.node == "a" and home.top == 3 and home.lineage == ("q/epoch-1", "q/epoch-2")
    desk.answer("a", Copied("q", 3))
    desk.answer("a", Running("q", 3, 1))
    ended = desk.record().ended
    assert ended is not None and ended.outcome is Outcome.HOME and "b has lost its session" in ended.because


def test_a_target_that_does_not_answer_is_given_up_only_if_it_has_no_lease(desk: Desk) -> None:
    drained(desk)
    desk.held.add("q")
    desk.pass_time(20_000)
    assert desk.record().node == "b"  # it copies, and that takes its time
    desk.held.clear()
    desk.pass_time(1_000)
    assert desk.record().node == "a" and desk.record().move is not None


def test_what_starts_and_never_commits_is_taken_back(desk: Desk) -> None:
    drained(desk)
    desk.answer("b", Copied("q", 2))
    desk.answer("b", Running("q", 2, 0))
    desk.held.add("q")
    desk.pass_time(60_000)
    assert desk.record().phase is Phase.ENDING and desk.record().node == "b"
    desk.held.clear()
    desk.answer("b", RunFailed("q", 2, "it was told to end"))
    desk.pass_time(500)
    assert desk.record().node == "a"


def test_a_query_is_not_drained_for_a_target_that_cannot_be_reached(desk: Desk) -> None:
    desk.tell(TO_B)
    desk.nodes = ("a",)
    desk.pass_time(5_000)
    desk.answer("b", Prepared("q", "m1"))
    move = desk.record().move
    assert move is not None and move.step is Step.PREPARED and (DrainQuery not in [kind for _, kind in desk.told()])


def test_a_successor_reads_the_store_and_goes_on(desk: Desk) -> None:
    drained(desk)
    next_one = Desk(store=desk.store, now=desk.now)
    next_one.elect(leader=2)
    assert next_one.told() == [("b", TakeOver)]
    next_one.answer("b", Copied("q", 2))
    next_one.answer("b", Running("q", 2, 1))
    assert next_one.record().ended is not None and next_one.record().node == "b"


def test_one_that_is_deposed_does_and_says_nothing_more(desk: Desk) -> None:
    desk.waiting = []
    desk.tell(TO_B)
    desk.tell(TermOver())
    assert desk.answers[-1] == AskAnswered("m1", False, NOT_PRIMARY)
    desk.waiting = []
    desk.answer("b", Prepared("q", "m1"))
    desk.pass_time(5_000)
    desk.tell(TO_B)
    assert desk.waiting == [] and desk.told() == [] and desk.answers[-1].line == NOT_PRIMARY


def test_what_the_store_answers_to_an_earlier_term_is_not_heard(desk: Desk) -> None:
    desk.waiting = []
    desk.tell(TO_B)
    (write,) = desk.waiting
    assert isinstance(write, WriteRecord)
    desk.tell(TermOver())
    desk.tell(Elected(2))
    desk.tell(RecordWritten(1, "q", write.number, 9))
    assert desk.told() == [] and isinstance(desk.waiting[-1], ReadRecords)


def test_a_write_without_an_answer_is_read_again(desk: Desk) -> None:
    desk.waiting = []
    desk.tell(TO_B)
    (write,) = desk.waiting
    assert isinstance(write, WriteRecord) and desk.put(write.record, write.expected)  # but the answer is lost
    desk.waiting = None
    desk.pass_time(2_000)
    assert desk.answers[-1].accepted and ("b", Prepare) in desk.told()


def test_a_write_that_comes_late_does_not_undo_what_was_written_meanwhile(desk: Desk) -> None:
    desk.waiting = []
    desk.tell(TO_B)
    (late,) = desk.waiting
    assert isinstance(late, WriteRecord)
    desk.waiting = None
    desk.pass_time(2_000)  # it was read again: not there; so it was written again
    version = desk.store["q"].version
    assert not desk.put(late.record, late.expected) and desk.store["q"].version == version


def test_an_answer_to_a_write_that_was_given_up_is_not_taken_for_one_to_the_next() -> None:
    desk = Desk()
    desk.elect()
    desk.serve()
    desk.waiting = []
    desk.tell(TO_B)
    (first,) = desk.waiting
    assert isinstance(first, WriteRecord)
    desk.pass_time(1_500)
    desk.ask_store(desk.waiting[-1])  # it is read again, and has not been written
    second = desk.waiting[-1]
    assert isinstance(second, WriteRecord) and second.number != first.number
    desk.tell(RecordWritten(1, "q", first.number, 99))
    assert desk.told() == []


def test_a_record_that_somebody_else_has_written_is_read(desk: Desk) -> None:
    stored = desk.store["q"]
    desk.put(replace(stored.record, retired=("old",)), stored.version)
    desk.tell(TO_B)  # is refused by the store, read, and written on top
    assert desk.record().retired == ("old",) and desk.record().move is not None


def test_a_node_that_knows_a_later_record_is_believed(desk: Desk) -> None:
    stored = desk.store["q"]
    desk.put(replace(stored.record, retired=("old",)), stored.version)
    desk.answer("a", Outdated("q", stored.version + 1))
    assert desk.told() == [("a", DeleteFolders)]


def test_instructions_are_repeated_until_there_is_a_receipt(desk: Desk) -> None:
    desk.tell(TO_B)
    desk.told()
    desk.pass_time(1_000)
    assert desk.told() == [("b", Prepare), ("b", Prepare)]


def test_what_serves_in_peace_costs_a_tick_nothing() -> None:
    desk = Desk(nodes=("a",))
    desk.elect()
    desk.serve()
    desk.answer("a", Running("q", 1, 5))
    assert desk.core.term is not None and desk.core.term.book.open == []
    assert desk.core.take(Tick(), WallMs(10_000)) == []


def test_a_wish_becomes_a_move_once_and_is_met(desk: Desk) -> None:
    assert desk.core.wishes.wish("q", "b", "less interference") == "q to b: planned"
    desk.pass_time(500)
    assert desk.core.wishes.wish("q", "b", "less interference") == "q to b: requested already"
    move = desk.record().move
    assert move is not None and move.because == "less interference" and desk.answers[1:] == []
    desk.answer("b", Prepared("q", move.id))
    desk.answer("a", Drained("q", move.id, 1))
    desk.answer("b", Copied("q", 2))
    desk.answer("b", Running("q", 2, 1))
    desk.pass_time(250)
    met = desk.core.wishes.of("q")
    assert met is not None and met.state == "met" and desk.core.wishes.unmet == []


def test_a_wish_that_cannot_be_is_given_up_with_the_reason(desk: Desk) -> None:
    desk.core.wishes.wish("q", "z", "less interference")
    desk.core.wishes.wish("r", "b", "less interference")
    desk.pass_time(500)
    given_up = [desk.core.wishes.of(query) for query in ("q", "r")]
    assert [wish.trouble.partition(":")[0] for wish in given_up if wish is not None and wish.state == "given up"] == [
        "move.node = 'z'",
        "there is no such query",
    ]


def test_a_move_that_was_taken_back_is_a_wish_given_up(desk: Desk) -> None:
    desk.core.wishes.wish("q", "b", "less interference")
    desk.pass_time(250)
    move = desk.record().move
    assert move is not None
    desk.answer("b", CannotRun("q", move.id, "no such class"))
    desk.pass_time(1_000)
    wish = desk.core.wishes.of("q")
    assert wish is not None and wish.state == "given up" and "no such class" in wish.trouble


def test_a_secondary_refuses_and_orders_nothing() -> None:
    core = Orchestrator()
    assert core.take(TO_B, WallMs(0)) == [AskAnswered("m1", False, NOT_PRIMARY)]
    assert core.take(Tick(), WallMs(9)) == [] and core.take(Members(frozenset("ab")), WallMs(9)) == []


def test_a_forced_move_drains_at_once_when_its_time_is_up(desk: Desk) -> None:
    desk.tell(replace(TO_B, contract=MoveContract(2_000, "force")))
    desk.pass_time(2_250)
    drains = [order.instruction for order in desk.said if isinstance(order.instruction, DrainQuery)]
    assert drains and all(drain.at_once for drain in drains)


def test_a_request_that_comes_again_long_after_is_not_made_again(desk: Desk) -> None:
    for n, (source, target) in enumerate((("a", "b"), ("b", "a"), ("a", "b"))):
        desk.tell(replace(TO_B, id=f"m{n}", target=target))
        desk.answer(target, Prepared("q", f"m{n}"))
        desk.answer(source, Drained("q", f"m{n}", n + 1))
        desk.answer(target, Copied("q", n + 2))
        desk.answer(target, Running("q", n + 2, 1))
    desk.tell(replace(TO_B, id="m1", target="a"))
    assert desk.answers[-1] == AskAnswered("m1", True, "q: that move has ended long ago")
    assert desk.record().node == "b" and desk.record().move is None


def test_an_upgrade_whose_code_fails_goes_home_to_its_node(desk: Desk) -> None:
    desk.tell(MoveAsked("u1", "q", "a", "an upgrade", MoveContract(trial=3), "q2.py"))
    desk.answer("a", Prepared("q", "u1"))
    desk.held.clear()
    desk.answer("a", Drained("q", "u1", 1))
    desk.answer("a", Copied("q", 2))
    desk.answer("a", RunFailed("q", 2, "its code has failed"))
    home = desk.record().here
    assert home is not None and (home.node, home.epoch, home.revision.pipeline) == ("a", 3, "q.py")
