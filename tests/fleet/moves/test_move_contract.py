"""What callers of `fleet move` are promised, and told."""

from dataclasses import replace

import pytest

from headway.errors import SettingError
from headway.fleet.moves.contract import STOP, MoveContract, contract, standing
from headway.fleet.moves.record import EndedMove, FleetIncarnation, Outcome, Phase, QueryRecord, QueryStop, Revision, Step
from headway.model.time import WallMs

CODE = Revision("clicks.py")
SERVING = QueryRecord("clicks", CODE, Phase.SERVING, FleetIncarnation(3, "a", "f", CODE), top=3)
MOVE = MoveContract().move("m1", "a", "b", CODE, "it was asked for", WallMs(0))
RESUMING = replace(SERVING, move=replace(MOVE, step=Step.RESUMING, trouble="b is gone"))
STOPPED = replace(SERVING, phase=Phase.STOPPED, here=None)


def ended(outcome: Outcome, because: str) -> QueryRecord:
    return replace(SERVING, ended=EndedMove("m1", outcome, because, WallMs(9)))


def test_a_contract_as_people_write_it() -> None:
    assert contract() == MoveContract(60_000, "rollback", 1)
    assert contract("5 s", "force", 3) == MoveContract(5_000, "force", 3)


@pytest.mark.parametrize(
    ("timeout", "on_timeout", "trial", "key"),
    [
        ("soon", "force", 1, "timeout"),
        (0, "force", 1, "timeout"),
        ("5 s", "give up", 1, "on_timeout"),
        ("5 s", "force", 0, "trial"),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_name(timeout: object, on_timeout: str, trial: int, key: str) -> None:
    with pytest.raises(SettingError) as caught:
        contract(timeout, on_timeout, trial)
    assert caught.value.key == key


@pytest.mark.parametrize(
    ("record", "state", "says", "code"),
    [
        (replace(SERVING, move=MOVE), "under way", "clicks to b: asked", 1),
        (RESUMING, "under way", "being undone, because b is gone", 1),
        (replace(SERVING, ended=EndedMove("m1", Outcome.DONE, "", WallMs(9))), "done", "clicks is on a", 0),
        (ended(Outcome.UNDONE, "b is gone"), "undone", "not moved: b is gone", 1),
        (ended(Outcome.HOME, "its code has failed"), "home", "gone home, to a: its code", 1),
        (replace(SERVING, ended=EndedMove("m0", Outcome.DONE, "", WallMs(9))), "unknown", "nothing is known of move m1", 1),
    ],
)  # fmt: skip
def test_who_waits_is_told_how_it_stands(record: QueryRecord, state: str, says: str, code: int) -> None:
    stands = standing(record, "m1")
    assert (stands.state, stands.exit_code, stands.over) == (state, code, state != "under way") and says in stands.line


@pytest.mark.parametrize(("on_timeout", "partitions", "key"), [("rollback", 0, "partitions"), ("force", 2, "on_timeout")])
def test_state_is_spread_over_one_partition_or_more_and_never_by_force(on_timeout: str, partitions: int, key: str) -> None:
    with pytest.raises(SettingError) as caught:
        contract("5 s", on_timeout, partitions=partitions)
    assert caught.value.key == key and contract(partitions=2).move("m", "a", "b", CODE, "", WallMs(0)).partitions == 2


@pytest.mark.parametrize(
    ("record", "state", "says"),
    [
        (SERVING, "unknown", "it is not being stopped"),
        (replace(SERVING, phase=Phase.ENDING, stop=QueryStop()), "under way", "clicks: ending on a"),
        (replace(STOPPED, stop=QueryStop()), "done", "clicks is stopped; its checkpoint is kept"),
        (replace(STOPPED, stop=QueryStop(True), retired=("f",)), "under way", "its checkpoint is being deleted"),
        (replace(STOPPED, stop=QueryStop(True)), "done", "clicks is stopped; its checkpoint is deleted"),
    ],
)
def test_who_stops_a_query_is_told_how_that_stands(record: QueryRecord, state: str, says: str) -> None:
    stands = standing(record, STOP)
    assert stands.state == state and says in stands.line
