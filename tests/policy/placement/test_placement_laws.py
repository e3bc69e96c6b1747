"""The laws that every placement policy obeys; adding one to the list is the whole registration."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.loop.questions.placement import (
    never_ask_for_the_resting,
    never_ask_while_cooling,
    never_to_itself,
    never_while_cooling,
    one_move_a_node,
    only_where_ready,
)
from headway.model.placement import (
    Choice,
    FleetView,
    HostView,
    Move,
    PlacementDecision,
    PlacementMemory,
    PlacementPolicy,
    Placements,
    Refuse,
    RequestMemory,
    RequestMove,
    Start,
)
from headway.model.time import WallMs
from headway.policy.placement import (
    LeastLoaded,
    NearIdeal,
    NeverMove,
    PredictionRings,
    RandomPlacement,
    RoundRobinPlacement,
)
from model.fleets import NOW, fleet_later, fleets, host_later, hosts, memory_later

POLICIES: list[PlacementPolicy] = [
    PredictionRings(),
    PredictionRings(n=2, threshold=0.0, rounds=1, reduction=0.0, initial="round-robin"),
    PredictionRings(threshold=0.0, rounds=1, others="multiplied", others_in="innermost", steepest=8.0),
    LeastLoaded(),
    LeastLoaded(limit=0.0, rounds=1),
    RoundRobinPlacement(rounds=1),
    RandomPlacement(rounds=1),
    RandomPlacement(seed=4),
    NeverMove(),
    NearIdeal(),
]
every_placement_policy = pytest.mark.parametrize("policy", POLICIES, ids=repr)
few = settings(max_examples=max(5, settings().max_examples // 4))  # of ten policies: a fleet takes a while to make

memories = st.builds(
    PlacementMemory,
    st.dictionaries(st.sampled_from(["n0", "n1"]), st.integers(NOW - 5_000, NOW + 5_000).map(WallMs), max_size=2),
    st.dictionaries(st.sampled_from(["q-n0", "q-n2"]), st.integers(NOW - 5_000, NOW + 5_000).map(WallMs), max_size=2),
    st.integers(0, 9),
)


def choices(decided: PlacementDecision) -> tuple[Choice, ...]:
    return decided.choices if isinstance(decided, Placements) else ()


@every_placement_policy
@few
@given(seen=fleets(), memory=memories)
def test_the_same_view_and_memory_have_the_same_answer(
    policy: PlacementPolicy, seen: FleetView, memory: PlacementMemory
) -> None:
    assert policy.decide(seen, memory) == policy.decide(seen, memory)


@every_placement_policy
@few
@given(seen=fleets(), memory=memories)
def test_guards_find_nothing_to_refuse(policy: PlacementPolicy, seen: FleetView, memory: PlacementMemory) -> None:
    decided, _ = policy.decide(seen, memory)
    guarded = decided
    for guard in (never_to_itself, never_while_cooling, one_move_a_node, only_where_ready):
        guarded = guard(guarded, seen)
    assert guarded == decided


@every_placement_policy
@few
@given(seen=fleets(), memory=memories)
def test_every_choice_says_why_and_no_two_are_about_one_query(
    policy: PlacementPolicy, seen: FleetView, memory: PlacementMemory
) -> None:
    decided, _ = policy.decide(seen, memory)
    made = choices(decided)
    assert decided.because and all(choice.because for choice in made)
    assert len({choice.query for choice in made}) == len(made)


@every_placement_policy
@few
@given(seen=fleets(), memory=memories)
def test_every_new_query_starts_somewhere_if_any_node_takes_it(
    policy: PlacementPolicy, seen: FleetView, memory: PlacementMemory
) -> None:
    decided, _ = policy.decide(seen, memory)
    started = {choice.query for choice in choices(decided) if isinstance(choice, Start)}
    takes = any(node.ready for node in seen.nodes)
    assert started == ({newcomer.query for newcomer in seen.newcomers} if takes else set())


@every_placement_policy
@few
@given(seen=fleets(), memory=memories)
def test_who_rests_or_cools_down_is_let_alone(policy: PlacementPolicy, seen: FleetView, memory: PlacementMemory) -> None:
    decided, after = policy.decide(seen, memory)
    moves = [choice for choice in choices(decided) if isinstance(choice, Move)]
    cooling = {node for node, until in memory.cooling.items() if until > seen.now}
    resting = {query for table in (memory.resting, seen.resting) for query, until in table.items() if until > seen.now}
    assert not cooling & {node for move in moves for node in (move.source, move.target)}
    assert not resting & {move.query for move in moves} or policy.foresees
    assert all(until > seen.now for until in (*after.cooling.values(), *after.resting.values()))


@every_placement_policy
@few
@given(seen=fleets(), memory=memories)
def test_who_has_moved_cools_down_and_who_was_refused_rests(
    policy: PlacementPolicy, seen: FleetView, memory: PlacementMemory
) -> None:
    decided, after = policy.decide(seen, memory)
    made = choices(decided)
    assert all({c.source, c.target} <= after.cooling.keys() for c in made if isinstance(c, Move))
    assert after.turn >= memory.turn
    assert all(after.resting[c.query] == c.rest_until for c in made if isinstance(c, Refuse) and c.rest_until > seen.now)


@every_placement_policy
@few
@given(seen=fleets(), memory=memories, by=st.integers(-10_000, 10**9))
def test_shifting_all_times_changes_no_choice(
    policy: PlacementPolicy, seen: FleetView, memory: PlacementMemory, by: int
) -> None:
    decided, after = policy.decide(seen, memory)
    later, after_later = policy.decide(fleet_later(seen, by), memory_later(memory, by))
    said = [(c.query, "" if isinstance(c, Refuse) else c.target, c.because) for c in choices(decided)]
    assert [(c.query, "" if isinstance(c, Refuse) else c.target, c.because) for c in choices(later)] == said
    assert after_later == memory_later(after, by)


@every_placement_policy
@few
@given(seen=fleets(), memory=memories, chance=st.randoms(use_true_random=False))
def test_the_order_of_nodes_and_requests_changes_nothing(
    policy: PlacementPolicy, seen: FleetView, memory: PlacementMemory, chance: Random
) -> None:
    nodes, requests = list(seen.nodes), list(seen.requests)
    chance.shuffle(nodes)
    chance.shuffle(requests)
    shuffled = replace(seen, nodes=tuple(nodes), requests=tuple(requests))
    assert policy.decide(shuffled, memory) == policy.decide(seen, memory)


@every_placement_policy
@few
@given(seen=hosts(), above=st.dictionaries(st.sampled_from(["q0", "q1", "q2", "a"]), st.integers(1, 9)))
def test_a_node_asks_for_one_of_its_own_and_for_none_that_rests(
    policy: PlacementPolicy, seen: HostView, above: dict[str, int]
) -> None:
    decided, _ = policy.request(seen, RequestMemory(above))
    assert decided.because and decided == policy.request(seen, RequestMemory(above))[0]
    assert never_ask_while_cooling(never_ask_for_the_resting(decided, seen), seen) == decided
    if isinstance(decided, RequestMove):
        assert decided.request.query in seen.computations.names and decided.request.node == seen.node.name


@every_placement_policy
@few
@given(seen=hosts(), by=st.integers(-10_000, 10**9))
def test_a_node_asks_the_same_at_any_time_of_day(policy: PlacementPolicy, seen: HostView, by: int) -> None:
    memory = RequestMemory(dict.fromkeys(("a", *seen.computations.names), 9))
    decided, after = policy.request(seen, memory)
    later, after_later = policy.request(host_later(seen, by), memory)
    assert later.because == decided.because and after_later == after


@every_placement_policy
def test_an_empty_fleet_has_nothing_to_decide(policy: PlacementPolicy) -> None:
    assert choices(policy.decide(FleetView(NOW, ()), PlacementMemory())[0]) == ()
