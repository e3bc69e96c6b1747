"""Random schedules of moves and faults: the laws hold, and each notices when its rule is broken."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import SettingError
from headway.fleet.moves.messages import Drained, DrainQuery, Outdated, Receipt
from headway.fleet.moves.record import Outcome, Phase
from headway.sim.fleet_faults.fault_laws import BrokenLaw, judged
from headway.sim.fleet_faults.making import fleet_schedule
from headway.sim.fleet_faults.schedule import FleetAction, FleetSchedule, from_json
from headway.sim.fleet_faults.store import StoreRules
from headway.sim.fleet_faults.story import counts, moves_ended
from headway.sim.fleet_faults.world import FaultyFleet, FleetRules
from tried import tried

MOVE: FleetAction = {
    "do": "move", "at": 6_000, "query": "q0", "node": "n1", "id": "m0", "timeout": 8_000, "force": False, "times": 1,
}  # fmt: skip


def words(schedule: FleetSchedule, broken: list[BrokenLaw]) -> str:
    """What a failed test prints: the reason, and the schedule to replay."""
    return "\n".join(f"{one.law}: {one.says}" for one in broken) + "\n" + schedule.as_json()


def outcomes(schedule: FleetSchedule) -> list[Outcome]:
    """Of its moves, all laws kept."""
    world, broken = judged(schedule)
    assert not broken, words(schedule, broken)
    return [ended.outcome for ended in moves_ended(world)]


@pytest.mark.parametrize("tens", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 10))])
def test_random_schedules_break_no_law(tens: int) -> None:
    for number in range(20 * tens, 20 * tens + 20):
        schedule = fleet_schedule(7, number)
        broken = judged(schedule)[1]
        assert not broken, words(schedule, broken)


def test_the_same_schedule_is_the_same_story() -> None:
    first, second = (judged(fleet_schedule(7, 3))[0] for _ in range(2))
    assert first.store.applied == second.store.applied and counts(first) == counts(second)


def test_a_schedule_comes_back_from_its_file() -> None:
    for number in range(5):
        assert from_json(fleet_schedule(7, number).as_json()) == fleet_schedule(7, number)
    with pytest.raises(SettingError, match=r"schedule\.do = 'laugh'"):
        from_json('{"actions": [{"do": "laugh", "at": 1}]}')


# ---- plain stories


def test_without_trouble_a_move_is_done() -> None:
    assert outcomes(FleetSchedule(actions=(MOVE,))) == [Outcome.DONE]


def test_a_silent_query_can_be_moved_too() -> None:
    """Its first batch has no rows, and proves it all the same."""
    late = {**MOVE, "at": 12_000}
    assert outcomes(FleetSchedule(silent=1, actions=(late,))) == [Outcome.DONE]


def test_two_moves_of_one_query_at_once_are_one_and_a_refusal() -> None:
    both = (MOVE, {**MOVE, "id": "m1", "node": "n2", "at": 6_001})
    world, broken = judged(FleetSchedule(actions=both))
    refused = [answer for answer in world.answers() if not answer.accepted and "is not being moved" in answer.line]
    assert not broken and len(moves_ended(world)) == 1 and refused


def test_a_target_that_cannot_run_it_undoes_the_move_and_one_that_cannot_launch_it_sends_it_home() -> None:
    assert outcomes(FleetSchedule(actions=(MOVE,), unfit=(("q0", "n1"),))) == [Outcome.UNDONE]
    assert outcomes(FleetSchedule(actions=(MOVE,), broken=(("q0", "n1"),))) == [Outcome.HOME]


@pytest.mark.parametrize("ending", [{"fails": 1}, {"fails": 2}, {"fails": 3}, {"hangs": True}], ids=str)
def test_an_upgrade_that_does_not_prove_itself_goes_home(ending: FleetAction) -> None:
    for seed in range(5):
        schedule = FleetSchedule(str(seed), actions=({**MOVE, "do": "upgrade", **ending},))
        assert outcomes(schedule) == [Outcome.HOME]


def test_an_upgrade_that_does_is_done_on_the_same_node_as_well() -> None:
    for node in ("n0", "n1"):
        assert outcomes(FleetSchedule(actions=({**MOVE, "do": "upgrade", "node": node},))) == [Outcome.DONE]


SPREAD: FleetAction = {**MOVE, "partitions": 2}
STOP: FleetAction = {"do": "stop", "at": 8_000, "query": "q0", "id": "stop", "forget": False, "again": None}


def test_the_state_is_spread_on_the_way_or_the_query_is_left_where_it_is() -> None:
    assert outcomes(FleetSchedule(actions=(SPREAD,))) == [Outcome.DONE]
    assert outcomes(FleetSchedule(actions=(SPREAD,), whole=("q0",))) == [Outcome.UNDONE]


def test_a_target_that_dies_while_it_spreads_the_state_is_left_for_home() -> None:
    ended = [
        outcomes(FleetSchedule(str(at), actions=(SPREAD, {"do": "kill", "at": at, "who": "n1", "down": 9_000})))
        for at in range(6_000, 12_000, 100)
    ]
    assert {outcome for one in ended for outcome in one} == {Outcome.DONE, Outcome.UNDONE, Outcome.HOME}


@pytest.mark.parametrize("forget", [True, False])
def test_a_query_that_is_stopped_stays_so_whoever_dies_meanwhile(forget: bool) -> None:
    for who in ("o0", "n0", "n1"):
        for at in range(7_700, 9_500, 300):
            stop = {**STOP, "forget": forget}
            schedule = FleetSchedule(actions=(MOVE, stop, {"do": "kill", "at": at, "who": who, "down": 3_000}))
            world, broken = judged(schedule)
            record = world.store.records["q0"].record
            assert not broken and record.phase is Phase.STOPPED, words(schedule, broken)
            left = [name for name in world.disk.folders if name.startswith("q0/") and world.disk.folders[name].complete]
            assert bool(left) != forget


def test_one_that_was_stopped_is_submitted_again_and_goes_on() -> None:
    world, broken = judged(FleetSchedule(actions=({**STOP, "again": 500},)))
    sink = world.disk.sinks["q0"]
    assert not broken and {written.epoch for written in sink.batches} == {1, 2} and not sink.wrong


def test_the_primary_may_die_at_any_step_of_a_move() -> None:
    ended = [
        outcomes(FleetSchedule(actions=(MOVE, {"do": "kill", "at": at, "who": "o0", "down": 3_000})))
        for at in range(6_000, 9_000, 150)
    ]
    assert ended and all(one == [Outcome.DONE] for one in ended)


def test_the_target_may_die_at_any_step_of_a_move() -> None:
    ended = [
        outcomes(FleetSchedule(actions=(MOVE, {"do": "kill", "at": at, "who": "n1", "down": 9_000})))
        for at in range(6_000, 9_000, 100)
    ]
    assert {outcome for one in ended for outcome in one} == {Outcome.DONE, Outcome.UNDONE, Outcome.HOME}


def test_a_node_that_wakes_after_its_lease_is_refused_by_the_sink_or_at_its_folder() -> None:
    refused = 0
    for at in range(6_000, 9_000, 150):
        schedule = FleetSchedule(actions=({"do": "freeze", "at": at, "who": "n0", "ms": 9_000, "clock": at % 300 == 0},))
        world, broken = judged(schedule)
        assert not broken, words(schedule, broken)
        refused += counts(world).refused_by_sink + counts(world).refused_files
    assert refused > 3


def test_a_store_that_is_away_for_ten_seconds_costs_no_query_its_node() -> None:
    world, broken = judged(FleetSchedule(actions=({"do": "store", "at": 8_000, "ms": 10_000},)))
    assert not broken and [stored.record.top for stored in world.store.records.values()] == [1, 1]


# ---- with a rule broken on purpose, the laws notice


def noticed(rules: FleetRules, schedules: list[FleetSchedule]) -> set[str]:
    return {one.law for schedule in schedules for one in judged(schedule, rules)[1]}


FREEZES = [
    FleetSchedule(str(at), actions=({"do": "freeze", "at": at, "who": "n0", "ms": 9_000, "clock": False},))
    for at in range(6_000, 9_000, 100)
]
CUT_FROM_ORCHESTRATORS = [
    FleetSchedule(
        str(at), queries=1, actions=tuple({"do": "cut", "at": at, "who": "n0", "whom": o, "ms": 7_000} for o in ("o0", "o1"))
    )
    for at in range(6_000, 6_500, 100)
]
LATE_ORDERS = [
    FleetSchedule(
        str(ms), queries=1,
        actions=({**MOVE, "at": 8_100}, {"do": "freeze", "at": 6_000, "who": "o0", "ms": ms, "clock": True}),
    )
    for ms in range(3_600, 4_000, 50)
]  # fmt: skip
FAILING_UPGRADES = [
    FleetSchedule(str(seed), queries=1, actions=({**MOVE, "do": "upgrade", "fails": 1 + seed % 3},)) for seed in range(9)
]


def test_a_lease_that_is_not_waited_for_is_noticed() -> None:
    """A query is started elsewhere since nobody hears its node, which runs it all the same."""
    nobody_waits = FleetRules(StoreRules(leases=False), silence_is_no_death=False)
    assert noticed(nobody_waits, CUT_FROM_ORCHESTRATORS) == {"the_order_of_things_is_kept"}


def test_an_orchestrator_that_takes_silence_for_death_is_held_back_by_the_lease() -> None:
    assert noticed(FleetRules(silence_is_no_death=False), CUT_FROM_ORCHESTRATORS) == set()


def test_a_sink_that_does_not_look_at_the_epoch_is_noticed() -> None:
    assert "no_batch_is_lost_or_doubled" in noticed(FleetRules(sink_looks_at_epochs=False), FREEZES)


def test_a_plan_that_does_not_come_along_is_noticed() -> None:
    assert noticed(FleetRules(plans_come_along=False), FAILING_UPGRADES) == {"no_batch_is_lost_or_doubled"}


def test_a_store_that_does_not_look_at_elections_is_noticed() -> None:
    assert noticed(FleetRules(StoreRules(leaders=False)), LATE_ORDERS) == {"one_leader_writes"}


def test_state_that_is_spread_in_the_middle_of_a_batch_is_noticed() -> None:
    """The source is interrupted, which nobody may ask for here: what it has planned, and perhaps put out, is not done."""
    forced = [
        FleetSchedule(str(at), queries=1, actions=({**SPREAD, "at": at, "timeout": 1, "force": True},), length_ms=15_000)
        for at in range(6_000, 8_000, 20)
    ]
    assert noticed(FleetRules(), forced) == set()
    assert "no_batch_is_lost_or_doubled" in noticed(FleetRules(spreads_between_batches=False), forced)


@pytest.mark.parametrize("looks", [True, False])
def test_a_node_that_obeys_what_was_overtaken_is_noticed(looks: bool) -> None:
    """An order to drain for a move that was undone long ago arrives."""
    world, said = FaultyFleet(FleetSchedule(queries=1), FleetRules(nodes_look_at_versions=looks)), list[Receipt]()
    node = world.nodes["n0"]
    late = DrainQuery("q0", 1, "m9", 1, 2)
    world.agenda.at(9_000, lambda: node.run(node.boot, lambda: node.obey(late, said.append)))
    world.play()
    assert [type(receipt) for receipt in said] == [Outdated if looks else Drained]
    assert bool(world.wrong) != looks


# ---- shrunk by hypothesis

times = st.integers(4_000, 14_000)
hosts = st.sampled_from(["n0", "n1", "n2", "o0", "o1"])
spans = st.sampled_from([300, 2_000, 5_000, 9_000])


def a_move(at: int, node: str, number: int) -> FleetAction:
    return {**MOVE, "at": at, "node": node, "id": f"m{number}"}


def a_freeze(at: int, who: str, ms: int, clock: bool) -> FleetAction:
    return {"do": "freeze", "at": at, "who": who, "ms": ms, "clock": clock}


actions = st.one_of(
    st.builds(a_move, times, st.sampled_from(["n0", "n1", "n2"]), st.integers(0, 99)),
    st.builds(a_freeze, times, hosts, spans, st.booleans()),
    st.builds(lambda at, who, ms: {"do": "kill", "at": at, "who": who, "down": ms}, times, hosts, spans),
    st.builds(lambda at, who, ms: {"do": "cut", "at": at, "who": who, "whom": "*", "ms": ms}, times, hosts, spans),
    st.builds(lambda at, ms: {"do": "crowd", "at": at, "ms": ms}, times, spans),
    st.builds(lambda at, node: {**SPREAD, "at": at, "node": node, "id": f"s{at}"}, times, st.sampled_from(["n0", "n1"])),
    st.builds(lambda at, again: {**STOP, "at": at, "again": again}, times, st.sampled_from([500, 4_000])),
    st.builds(lambda at, ms: {"do": "store", "at": at, "ms": ms}, times, spans),
)


@tried(25)
@given(st.lists(actions, max_size=6), st.integers(0, 10_000))
def test_no_short_list_of_faults_breaks_a_law(happens: list[FleetAction], seed: int) -> None:
    schedule = FleetSchedule(str(seed), queries=1, actions=tuple(happens), length_ms=15_000)
    broken = judged(schedule)[1]
    assert not broken, words(schedule, broken)
