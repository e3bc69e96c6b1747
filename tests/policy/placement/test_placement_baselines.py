"""What the rivals of prediction rings do, case by case."""

import pytest

from headway.errors import SettingError
from headway.model.placement import (
    FleetView,
    Move,
    Newcomer,
    PlacementDecision,
    PlacementMemory,
    Placements,
    Refuse,
    RequestMemory,
    RequestMove,
    Start,
    Stay,
)
from headway.model.time import WallMs
from headway.policy.placement import LeastLoaded, NeverMove, RandomPlacement, RoundRobinPlacement
from headway.policy.placement.asking import AsksWhenLoaded
from model.fleets import NOW, host, node, request


def made(decided: PlacementDecision) -> list[tuple[str, str]]:
    """Query and target; nowhere if it was refused."""
    assert isinstance(decided, Placements)
    return [(choice.query, "" if isinstance(choice, Refuse) else choice.target) for choice in decided.choices]


def test_a_loaded_node_asks_to_be_rid_of_its_heaviest_computation() -> None:
    seen, memory = host([0.2, 0.5, 0.3], load=0.9), RequestMemory()
    said = []
    for _ in range(3):
        decided, memory = LeastLoaded().request(seen, memory)
        said.append(decided)
    assert [type(decided) for decided in said] == [Stay, Stay, RequestMove]
    assert isinstance(said[2], RequestMove) and said[2].request.query == "q1"
    assert said[2].because == "load 0.90 per core for 3 rounds, this is the heaviest"


def test_load_below_the_limit_begins_the_count_anew() -> None:
    decided, memory = LeastLoaded().request(host([0.5], load=0.6), RequestMemory({"a": 2}))
    assert decided == Stay("load 0.60 per core, not above 0.666") and memory == RequestMemory()


def test_least_loaded_looks_at_the_load_of_this_moment() -> None:
    seen = FleetView(NOW, (node("a", 0.9), node("b", 0.1, load=0.7), node("c", 0.8, load=0.2)), (request("q", "a"),))
    decided, _ = LeastLoaded().decide(seen, PlacementMemory())
    assert made(decided) == [("q", "c")]
    assert isinstance(decided, Placements) and decided.choices[0].because == "load 0.20 per core there, 0.90 here"


def test_least_loaded_moves_nothing_to_a_node_with_more_load() -> None:
    seen = FleetView(NOW, (node("a", 0.7), node("b", 0.8)), (request("q", "a"),))
    decided, memory = LeastLoaded().decide(seen, PlacementMemory())
    assert made(decided) == [("q", "")] and memory.resting == {"q": WallMs(NOW + LeastLoaded().rest_ms)}


def test_new_queries_fill_the_least_loaded_until_it_is_so_no_longer() -> None:
    nodes = (node("a", 0.4, queries=4), node("b", 0.2, queries=2))
    new = tuple(Newcomer(f"q{i}") for i in range(4))
    decided, _ = LeastLoaded().decide(FleetView(NOW, nodes, newcomers=new), PlacementMemory())
    # A query costs 0.1 on either: b takes two, then they are alike.
    assert sorted(target for _, target in made(decided)) == ["a", "b", "b", "b"] and made(decided)[0] == ("q0", "b")


def test_round_robin_takes_the_nodes_in_turn_whatever_their_load() -> None:
    nodes = (node("a", 9.0), node("b", 0.0), node("c", 5.0))
    seen = FleetView(NOW, nodes, (request("q", "a"),), (Newcomer("r"), Newcomer("s")))
    decided, memory = RoundRobinPlacement().decide(seen, PlacementMemory(turn=2))
    assert made(decided) == [("r", "c"), ("s", "a"), ("q", "b")] and memory.turn == 5


def test_random_draws_another_node_another_time_and_the_same_from_the_same_seed() -> None:
    nodes = tuple(node(f"n{i}") for i in range(40))
    seen = FleetView(NOW, nodes, (request("q", "n0"),))
    drawn = [made(RandomPlacement(seed).decide(seen, PlacementMemory(turn=turn))[0]) for seed in (0, 1) for turn in range(8)]
    assert len({target for ((_, target),) in drawn}) > 4
    assert made(RandomPlacement(1).decide(seen, PlacementMemory(turn=3))[0]) == drawn[8 + 3]


def test_never_move_starts_new_queries_and_refuses_all_else() -> None:
    seen = FleetView(NOW, (node("a", 9.0), node("b", 0.0)), (request("q", "a"),), (Newcomer("r"),))
    decided, _ = NeverMove().decide(seen, PlacementMemory())
    assert made(decided) == [("r", "a"), ("q", "")]
    assert NeverMove().request(host([9.0]), RequestMemory())[0] == Stay("nothing ever moves")


@pytest.mark.parametrize("policy", [LeastLoaded(), RoundRobinPlacement(), RandomPlacement(), NeverMove()], ids=repr)
def test_nothing_goes_to_a_node_that_is_not_ready(policy: LeastLoaded | NeverMove) -> None:
    nodes = (node("a", 0.9), node("b", 0.0, ready=False), node("c", 0.1))
    seen = FleetView(NOW, nodes, (request("q", "a"),), (Newcomer("r"), Newcomer("s")))
    decided, _ = policy.decide(seen, PlacementMemory())
    assert "b" not in {target for _, target in made(decided)}
    alone = FleetView(NOW, (node("b", 0.0, ready=False),), newcomers=(Newcomer("r"),))
    nowhere, _ = policy.decide(alone, PlacementMemory())
    assert made(nowhere) == [("r", "")]


def test_after_a_move_both_nodes_cool_down() -> None:
    seen = FleetView(NOW, (node("a", 0.9), node("b", 0.1)), (request("q", "a"),))
    decided, memory = LeastLoaded(cool_down_ms=10_000).decide(seen, PlacementMemory())
    assert isinstance(decided, Placements) and isinstance(decided.choices[0], Move)
    again = FleetView(WallMs(NOW + 9_000), seen.nodes, (request("p", "a"),))
    later, memory = LeastLoaded(cool_down_ms=10_000).decide(again, memory)
    assert made(later) == [("p", "")]
    last = FleetView(WallMs(NOW + 10_000), seen.nodes, (request("p", "a"),))
    assert made(LeastLoaded().decide(last, memory)[0]) == [("p", "b")]


def test_a_node_without_queries_is_where_the_first_one_starts() -> None:
    seen = FleetView(NOW, (node("a", 0.5), node("b", 0.0, queries=0)), newcomers=(Newcomer("q"), Newcomer("r")))
    decided, _ = LeastLoaded().decide(seen, PlacementMemory())
    assert isinstance(decided, Placements) and isinstance(decided.choices[0], Start)
    assert made(decided) == [("q", "b"), ("r", "a")]


@pytest.mark.parametrize(
    ("settings", "key"), [({"limit": -1.0}, "limit"), ({"rounds": 0}, "rounds"), ({"cool_down_ms": -1}, "cool_down_ms")]
)
def test_settings_without_sense_are_refused(settings: dict[str, float], key: str) -> None:
    with pytest.raises(SettingError, match=f"placement.{key} "):
        AsksWhenLoaded(**settings)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match=r"placement\.seed "):
        RandomPlacement(seed=-1)
