"""A move, step by step: what each answer makes of the record, and what no answer can."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import HeadwayError
from headway.fleet.moves import protocol
from headway.fleet.moves.contract import MoveContract
from headway.fleet.moves.messages import (
    CannotRun,
    Copied,
    DeleteFolders,
    Drained,
    DrainQuery,
    EndQuery,
    FoldersDeleted,
    Instruction,
    Prepare,
    Prepared,
    Receipt,
    ResumeQuery,
    Running,
    StartQuery,
    TakeOver,
    WentOn,
)
from headway.fleet.moves.record import (
    FleetIncarnation,
    MoveRecord,
    Outcome,
    Phase,
    QueryRecord,
    Revision,
    Step,
    folder_of,
    reached,
)
from headway.fleet.moves.wanted import instructions
from headway.fleet.orchestrator.candidate import QUERIES
from headway.fleet.records import dumps, loads
from headway.model.time import WallMs

CODE, NEXT_CODE = Revision("clicks.py"), Revision("clicks2.py", 2)
SERVING = QueryRecord(
    "clicks", CODE, Phase.SERVING, FleetIncarnation(3, "a", folder_of("clicks", 3), CODE),
    top=3, lineage=(folder_of("clicks", 3),), begun=True,
)  # fmt: skip
NOW = WallMs(1_000)


def a_move(target: str = "b", revision: Revision = CODE, contract: MoveContract | None = None) -> MoveRecord:
    return (contract or MoveContract()).move("m1", "a", target, revision, "a is busy", NOW)


def told(record: QueryRecord, *receipts: Receipt) -> QueryRecord:
    for receipt in receipts:
        record = protocol.received(record, receipt, NOW)
    return record


def as_before(record: QueryRecord) -> QueryRecord:
    """But for what is remembered of the move, and the epoch that its target has prepared for."""
    assert (record.top, record.retired) == (SERVING.top + 1, (folder_of("clicks", SERVING.top + 1),))
    return replace(record, ended=None, past=(), top=SERVING.top, retired=())


def said(record: QueryRecord) -> list[tuple[str, type[Instruction]]]:
    return [(node, type(instruction)) for node, instruction in instructions(record, 7)]


SPREAD = MoveContract(partitions=4)
ASKED = protocol.ask(SERVING, a_move())
DRAINING = protocol.drain(told(ASKED, Prepared("clicks", "m1")))
DRAINED = told(DRAINING, Drained("clicks", "m1", 3))
TRIAL = told(DRAINED, Copied("clicks", 4), Running("clicks", 4, 0))


def test_a_move_as_it_should_be() -> None:
    assert said(ASKED) == [("b", Prepare)]
    assert said(DRAINING) == [("b", Prepare), ("a", DrainQuery)]
    assert DRAINED.here == FleetIncarnation(4, "b", "clicks/epoch-4", CODE) and said(DRAINED) == [("b", TakeOver)]
    folders, own = ("clicks/epoch-3",), "clicks/epoch-4"
    assert instructions(DRAINED, 7)[0][1] == TakeOver("clicks", 7, 4, CODE, folders, own, False, commits=1)
    assert told(DRAINED, Running("clicks", 4, 0)) == TRIAL and said(TRIAL) == [("b", StartQuery)]
    done = told(TRIAL, Running("clicks", 4, 1))
    assert done.ended is not None and done.ended.outcome is Outcome.DONE and done.move is None
    assert (done.phase, done.node, done.lineage, done.retired) == (
        Phase.SERVING,
        "b",
        ("clicks/epoch-4",),
        ("clicks/epoch-3",),
    )
    assert said(done) == [("b", DeleteFolders)]
    assert said(told(done, FoldersDeleted("clicks", ("clicks/epoch-3",)))) == []


def test_who_has_a_checkpoint_starts_when_it_has_taken_over_and_a_new_query_not_before_that_is_written_down() -> None:
    copied = told(DRAINED, Copied("clicks", 4))  # by a node that was not told to start, or by an older one
    assert said(copied) == [("b", StartQuery)] and told(copied, Running("clicks", 4, 0)) == TRIAL
    new = protocol.launch(QueryRecord("clicks", CODE), "a", CODE)
    assert instructions(new, 7)[0][1] == TakeOver("clicks", 7, 1, CODE, (), "clicks/epoch-1", True, commits=None)
    assert told(new, Copied("clicks", 1)).begun and told(new, Running("clicks", 1, 0)).begun
    assert told(DRAINED, Running("clicks", 4, 1)) == told(TRIAL, Running("clicks", 4, 1))


def test_its_steps_have_the_names_of_the_documentation() -> None:
    copied = told(DRAINED, Copied("clicks", 4))
    steps = (ASKED, told(ASKED, Prepared("clicks", "m1")), DRAINING, DRAINED, copied, TRIAL)
    names = [reached(record.move, record.phase) for record in steps if record.move is not None]
    assert names == ["asked", "prepared", "draining", "drained", "copied", "started"]


def test_a_target_that_cannot_run_it_says_so_and_nothing_was() -> None:
    undone = told(ASKED, CannotRun("clicks", "m1", "no such class"))
    assert undone.ended is not None and undone.ended.because == "the target cannot run it: no such class"
    assert as_before(undone) == SERVING


def test_readiness_for_another_move_is_nothing_to_this_one() -> None:
    """An older revision that has become ready must not retire the one that serves."""
    assert told(ASKED, Prepared("clicks", "m0")) == ASKED
    assert told(SERVING, Prepared("clicks", "m0")) == SERVING
    assert told(DRAINING, Drained("clicks", "m0", 3), Drained("clicks", "m1", 2)) == DRAINING
    assert told(TRIAL, Running("clicks", 3, 5), Copied("clicks", 3)) == TRIAL


def test_a_target_that_dies_before_the_source_has_ended_leaves_all_as_it_was() -> None:
    assert as_before(protocol.target_gone(ASKED, "b is gone", NOW)) == SERVING
    resuming = protocol.target_gone(DRAINING, "b is gone", NOW)
    assert said(resuming) == [("a", ResumeQuery)]
    undone = told(resuming, WentOn("clicks", "m1", 3))
    assert as_before(undone) == SERVING and undone.ended is not None and undone.ended.outcome is Outcome.UNDONE


def test_a_source_that_had_ended_already_starts_again_from_its_own_folder_under_a_newer_epoch() -> None:
    resuming = protocol.target_gone(DRAINING, "b is gone", NOW)
    ended = told(resuming, Drained("clicks", "m1", 3))
    assert ended.phase is Phase.VACANT and ended.move is not None and ended.move.step is Step.HOME
    home = protocol.launch(ended, "a", ended.revision)
    assert home.here == FleetIncarnation(4, "a", "clicks/epoch-4", CODE) and home.lineage == ("clicks/epoch-3",)
    served = told(home, Copied("clicks", 4), Running("clicks", 4, 1))
    assert served.ended is not None and (served.ended.outcome, served.ended.because) == (Outcome.HOME, "b is gone")


@pytest.mark.parametrize(
    "record", [DRAINED, told(DRAINED, Copied("clicks", 4)), TRIAL], ids=["drained", "copied", "started"]
)
def test_a_target_that_dies_later_is_left_for_home_with_what_it_has_logged(record: QueryRecord) -> None:
    vacant = protocol.gone(record, 4, "b has lost its session", NOW)
    assert vacant.phase is Phase.VACANT and vacant.move is not None and vacant.move.step is Step.HOME
    home = protocol.launch(vacant, "a", vacant.revision)
    assert home.lineage == ("clicks/epoch-3", "clicks/epoch-4") and home.top == 5
    served = told(home, Copied("clicks", 5), Running("clicks", 5, 1))
    assert served.retired == ("clicks/epoch-3", "clicks/epoch-4") and served.lineage == ("clicks/epoch-5",)


def test_a_source_that_dies_when_the_target_is_prepared_is_a_move_that_goes_on() -> None:
    vacant = protocol.gone(DRAINING, 3, "a has lost its session", NOW)
    assert vacant.move is not None and vacant.move.step is Step.FORWARD and vacant.phase is Phase.VACANT


def test_a_source_that_dies_before_that_ends_the_move_and_the_query_is_placed_anew() -> None:
    vacant = protocol.gone(ASKED, 3, "a has lost its session", NOW)
    assert vacant.move is None and vacant.phase is Phase.VACANT
    assert vacant.ended is not None and vacant.ended.outcome is Outcome.UNDONE


def test_what_is_gone_is_gone_once() -> None:
    assert protocol.gone(DRAINED, 3, "late news", NOW) == DRAINED


def test_the_time_is_up() -> None:
    later = WallMs(NOW + 60_000)
    undone = protocol.timed(ASKED, later)
    assert undone.ended is not None and undone.ended.because == "not done within 60000 ms"
    assert said(protocol.timed(DRAINING, later)) == [("a", ResumeQuery)]
    assert protocol.timed(DRAINED, later) == DRAINED  # from here on there is only forward, or home
    assert protocol.timed(ASKED, WallMs(later - 1)) == ASKED


def test_a_forced_move_waits_for_nobody() -> None:
    later, forced = WallMs(NOW + 60_000), MoveContract(on_timeout="force")
    asked = protocol.ask(SERVING, a_move(contract=forced))
    draining = protocol.drain(protocol.timed(asked, later))
    assert [i.at_once for _, i in instructions(draining, 7) if isinstance(i, DrainQuery)] == [True]
    assert protocol.timed(draining, later) == draining
    prepared = protocol.drain(told(asked, Prepared("clicks", "m1")))
    assert [i.at_once for _, i in instructions(prepared, 7) if isinstance(i, DrainQuery)] == [False]


def test_an_upgrade_is_proved_by_several_batches_and_taken_back_with_its_code() -> None:
    asked = protocol.ask(SERVING, a_move("a", NEXT_CODE, MoveContract(trial=3)))
    trial = told(
        protocol.drain(told(asked, Prepared("clicks", "m1"))),
        Drained("clicks", "m1", 3), Copied("clicks", 4), Running("clicks", 4, 2),
    )  # fmt: skip
    assert trial.phase is Phase.TRIAL and trial.retired == () and trial.here is not None and trial.here.revision == NEXT_CODE
    assert told(trial, Running("clicks", 4, 3)).revision == NEXT_CODE
    home = protocol.gone(trial, 4, "its code has failed", NOW)
    again = protocol.launch(home, "a", home.revision)
    assert again.here is not None and again.here.revision == CODE and again.lineage == ("clicks/epoch-3", "clicks/epoch-4")


def test_what_never_commits_is_told_to_end_and_only_then_comes_the_next() -> None:
    ending = protocol.end(TRIAL, "no batch was committed")
    assert said(ending) == [("b", EndQuery)] and ending.here == TRIAL.here
    assert protocol.gone(ending, 4, "it was told to end", NOW).phase is Phase.VACANT


@pytest.mark.parametrize(
    ("record", "move", "says"),
    [
        (None, a_move(), "move.query = 'clicks': expected a query of this fleet"),
        (DRAINING, a_move("c"), "expected a query that is not being moved; move m1 to b is draining: wait for its end"),
        (TRIAL, a_move("c"), "move m1 to b is started"),
        (replace(TRIAL, move=None), a_move("c"), "expected a query that is serving, and this one is trial"),
        (SERVING, a_move("a"), "move.node = 'a': expected another node"),
        (SERVING, a_move("a", NEXT_CODE, SPREAD), "move.node = 'a': expected another node"),
    ],
)
def test_a_move_that_cannot_begin_is_refused_in_one_line(record: QueryRecord | None, move: MoveRecord, says: str) -> None:
    why = protocol.refusal(record, move, "clicks")
    assert why is not None and says in why and "\n" not in why


def test_an_upgrade_on_the_same_node_is_a_move() -> None:
    assert protocol.refusal(SERVING, a_move("a", NEXT_CODE), "clicks") is None


@pytest.mark.parametrize("record", [SERVING, ASKED, DRAINING, DRAINED, TRIAL, told(TRIAL, Running("clicks", 4, 1))])
def test_a_record_is_the_same_when_it_comes_back_from_the_store(record: QueryRecord) -> None:
    assert loads(QUERIES, dumps(QUERIES, record, 7), "/queries/clicks") == (record, 7)


@pytest.mark.parametrize("text", ["", "[]", "{}", dumps(QUERIES, SERVING).replace("serving", "sleeping")])
def test_a_text_that_is_no_record_is_named_in_one_line(text: str) -> None:
    with pytest.raises(HeadwayError, match="/queries/clicks") as caught:
        loads(QUERIES, text, "/queries/clicks")
    assert "\n" not in str(caught.value)


# ---- laws

EPOCHS, MOVES = st.integers(1, 8), st.sampled_from(["m1", "m2"])
receipts = st.one_of(
    st.builds(Prepared, st.just("clicks"), MOVES),
    st.builds(CannotRun, st.just("clicks"), MOVES, st.just("no")),
    st.builds(Drained, st.just("clicks"), MOVES, EPOCHS),
    st.builds(WentOn, st.just("clicks"), MOVES, EPOCHS),
    st.builds(Copied, st.just("clicks"), EPOCHS),
    st.builds(Running, st.just("clicks"), EPOCHS, st.integers(0, 4)),
)
happenings = st.one_of(
    receipts,
    st.sampled_from(["ask", "drain", "launch", "gone", "target gone", "time"]),
)


def happen(record: QueryRecord, what: Receipt | str) -> QueryRecord:
    """As the orchestrator would do it."""
    match what:
        case "ask":
            move = replace(a_move("b" if record.node == "a" else "a"), id=f"m{1 + record.top % 2}")
            return record if protocol.refusal(record, move, "clicks") else protocol.ask(record, move)
        case "drain":
            return protocol.drain(record)
        case "launch":
            return protocol.launch(record, "c", record.revision) if record.phase is Phase.VACANT else record
        case "gone":
            return record if record.here is None else protocol.gone(record, record.here.epoch, "gone", NOW)
        case "target gone":
            return protocol.target_gone(record, "gone", NOW)
        case "time":
            return protocol.timed(record, WallMs(NOW + 100_000))
    assert not isinstance(what, str)
    return protocol.received(record, what, NOW)


@given(st.lists(happenings, max_size=40))
def test_whatever_happens_no_folder_is_forgotten_and_no_epoch_given_out_twice(story: list[Receipt | str]) -> None:
    record, given_out = SERVING, {3: SERVING.here}
    for what in story:
        before, record = record, happen(record, what)
        here = record.here
        assert record.top >= before.top and (here is None or here.epoch <= record.top)
        assert here is None or given_out.setdefault(here.epoch, here) == here
        kept = {*record.lineage, *record.retired} | ({here.folder} if here is not None else set())
        assert {*before.lineage, *before.retired} <= kept and not set(record.lineage) & set(record.retired)
        assert (record.phase is Phase.VACANT) == (here is None)
        undone = before.move is not None and record.move is None
        assert record.retired == before.retired or record.phase is Phase.SERVING or undone
        assert record.move is None or record.move.step in (Step.FORWARD, Step.HOME) or record.phase is Phase.SERVING
    assert record.query == "clicks" and len(given_out) <= record.top
