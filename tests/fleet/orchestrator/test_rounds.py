"""Rings filled from statuses, and both halves of the placement question asked of them."""

from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fleet.orchestrator.loaded_fleet import REVISION, LoadedFleet, at_once, record
from headway.fleet.moves.record import EndedMove, MoveRecord, Outcome, Step
from headway.fleet.node.wire import HostedQuery, MachineFigures, NodeStatus
from headway.fleet.orchestrator.launching import LaunchCandidate
from headway.fleet.orchestrator.loads import FleetLoads, RowCost
from headway.fleet.orchestrator.views import COOL_MS, FleetSeen, hosts
from headway.model.placement import Placements, RequestMove
from headway.model.time import WallMs
from headway.policy.placement import LeastLoaded, NeverMove, PredictionRings


def test_a_ring_is_the_share_of_a_core_that_a_query_has_been_using() -> None:
    fleet = LoadedFleet(NeverMove(), {"n1": {"a": 200.0, "b": 50.0}, "n2": {}}, {"n1": 0.3, "n2": 0.0})
    for _ in range(10):
        fleet.second()
    own = fleet.loads.by_node({"a": "n1", "b": "n1"}, fleet.now)["n1"]
    uses = dict(zip(own.names, own.rings.values.mean(axis=1).tolist(), strict=True))
    assert uses == pytest.approx({"a": 0.2, "b": 0.05}, rel=0.01)
    seen = hosts(fleet.seen(), {"n1": own})
    assert np.allclose(seen["n1"].node.ring.values, 0.25, rtol=0.01) and seen["n2"].node.ring.values.max() == 0
    assert (seen["n1"].node.queries, seen["n1"].node.load, seen["n2"].node.queries) == (2, 0.3, 0)


def test_a_status_that_was_heard_before_says_nothing_new_and_a_silent_query_is_forgotten() -> None:
    fleet = LoadedFleet(NeverMove(), {"n1": {"a": 200.0}}, {"n1": 0.3})
    for _ in range(5):
        fleet.second()
    before = fleet.loads.ring("a", fleet.now)
    fleet.loads.hear(fleet.heard["n1"].status, fleet.now)
    assert fleet.loads.ring("a", fleet.now) == before
    fleet.loads.step(WallMs(fleet.now + 61_000))
    assert fleet.loads.ring("a", fleet.now) is None


def test_the_forecast_of_a_query_goes_with_it_to_its_next_node() -> None:
    fleet = LoadedFleet(NeverMove(), {"n1": {"a": 200.0}, "n2": {}}, {"n1": 0.3, "n2": 0.0})
    for _ in range(10):
        fleet.second()
    fleet.rates = {"n1": {}, "n2": {"a": 200.0}}
    fleet.second()
    own = fleet.loads.by_node({"a": "n2"}, fleet.now)["n2"]
    assert own.names == ("a",) and own.rings.values.mean() == pytest.approx(0.2, rel=0.01)


@pytest.mark.parametrize("policy", [LeastLoaded(rounds=2), PredictionRings(rounds=2, reduction=0.01)], ids=repr)
def test_what_a_loaded_node_asks_for_becomes_a_wish_and_stands_in_the_journal(policy: Any) -> None:
    busy = {"n1": {"a": 600.0, "b": 500.0}, "n2": {}}
    fleet = LoadedFleet(policy, busy, {"n1": 1.1, "n2": 0.0})
    for _ in range(8):
        fleet.second()
    (wish,) = fleet.wishes.unmet
    assert wish.query in ("a", "b") and wish.target == "n2" and wish.because
    asked = [entry for entry in fleet.journal.entries if isinstance(entry.decided, RequestMove)]
    placed = [entry for entry in fleet.journal.entries if isinstance(entry.decided, Placements)]
    assert asked and asked[0].scope == "n1" and placed and "planned" in placed[0].receipt


def test_a_query_that_has_been_wished_elsewhere_is_not_asked_about_again() -> None:
    fleet = LoadedFleet(LeastLoaded(rounds=1), {"n1": {"a": 900.0}, "n2": {}}, {"n1": 1.1, "n2": 0.0})
    for _ in range(3):
        fleet.second(wished=frozenset({"a"}))
    assert fleet.wishes.unmet == [] and fleet.rounds.hosts["n1"].computations.names == ("a",)


def test_a_new_query_starts_where_the_policy_says_and_never_on_a_node_that_is_drained() -> None:
    fleet = LoadedFleet(LeastLoaded(), {"n1": {"a": 900.0}, "n2": {}}, {"n1": 1.1, "n2": 0.1})
    both = [LaunchCandidate("n1", 1), LaunchCandidate("n2", 0)]
    assert fleet.rounds.choose("new", both) == "n2", "the fewest queries, before anything is known"
    fleet.second()
    assert fleet.rounds.choose("new", both) == "n2"
    fleet.second(draining=frozenset({"n2"}))
    assert fleet.rounds.choose("new", both) == "n1"
    assert fleet.rounds.choose("new", both[1:]) == "n2", "there is no other"


def test_nodes_of_a_move_are_moving_then_cool_down_and_who_is_silent_is_not_ready() -> None:
    fleet = LoadedFleet(NeverMove(), {"n1": {"a": 10.0}, "n2": {}}, {"n1": 0.1, "n2": 0.0})
    fleet.second()
    move = MoveRecord("m", "n1", "n2", REVISION, "", fleet.now)
    ended = EndedMove("m", Outcome.DONE, "", fleet.now)
    moving = FleetSeen(fleet.now, frozenset({"n1", "n2"}), fleet.heard, (record("a", "n1", move=move),))
    cooling = FleetSeen(fleet.now, frozenset({"n1", "n2"}), fleet.heard, (record("a", "n2", ended=ended),))
    later = FleetSeen(WallMs(fleet.now + COOL_MS), frozenset({"n1"}), fleet.heard, (record("a", "n2", ended=ended),))
    assert [hosts(moving, {})[name].node.moving for name in ("n1", "n2")] == [True, True]
    for step, left in ((Step.DRAINING, True), (Step.FORWARD, False), (Step.HOME, True)):
        there = FleetSeen(
            fleet.now, frozenset({"n1", "n2"}), fleet.heard, (record("a", "n2", move=replace(move, step=step)),)
        )
        told = [hosts(there, {})[name].node.moving for name in ("n1", "n2")]
        assert told == [left, True], "a query that has left its source keeps that from nothing"
    assert hosts(cooling, {})["n2"].node.cooling_until == fleet.now + COOL_MS
    assert hosts(later, {})["n1"].node.cooling_until == 0 and not hosts(later, {})["n1"].node.ready


def test_seconds_that_are_told_together_are_forecast_from_as_if_they_had_been_told_one_by_one() -> None:
    """As in a large fleet, whose nodes are asked every ten seconds."""
    rates = [100.0 + 40.0 * (second % 4) for second in range(120)]

    def forecast(every: int) -> Any:
        loads, now = FleetLoads(lambda *arguments: Future()), WallMs(1_000_000)  # nothing is fitted
        loads.step(now)
        for second in range(every, len(rates) + 1, every):
            told = HostedQuery("a", 1, "at the gate", now, rows=second, busy_ms=second, rates=tuple(rates[:second]))
            now = WallMs(1_000_000 + 1_000 * second)
            loads.hear(NodeStatus("n1", "run", "0", second, now, MachineFigures(0.1, 1.0, 0.5, 0.0, 0.0, 0.3), (told,)), now)
            loads.step(now)
        ring = loads.ring("a", now)
        assert ring is not None
        return ring.values

    assert np.allclose(forecast(10), forecast(1), rtol=0.05)


def test_a_second_more_or_less_than_have_passed_is_no_gap() -> None:
    loads, now = FleetLoads(at_once), WallMs(1_000_000)
    machine = MachineFigures(0.1, 1.0, 0.5, 0.0, 0.0, 0.3)
    sequence = 0
    for passed, seconds in ((5, 4), (5, 6), (5, 5), (5, 4), (5, 6)) * 4:
        sequence, now = sequence + seconds, WallMs(now + 1_000 * passed)
        told = HostedQuery("a", 1, "at the gate", now, rows=50 * sequence, busy_ms=50 * sequence, rates=(50.0,) * 20)
        loads.hear(NodeStatus("n1", "run", "0", sequence, now, machine, (told,)), now)
        loads.step(now)
    ring = loads.ring("a", now)
    assert ring is not None and ring.values == pytest.approx(0.05)


def test_a_query_that_reads_its_windows_at_their_ends_has_the_ring_of_one_that_reads_at_once() -> None:
    """Rows are counted when a batch ends: a forecast of these counts is nothing in one second and too much in the next."""
    loads, now, rates = FleetLoads(lambda *given: Future()), WallMs(1_000_000), tuple[float, ...]()
    rings = []
    for second in range(1, 121):
        now, rates = WallMs(now + 1_000), (*rates, 0.0 if second % 10 else 1_400.0)[-60:]
        rows = 1_400 * (second // 10)
        told = HostedQuery("a", 1, "at the gate", now, rows=rows, busy_ms=rows, rates=rates)
        loads.hear(NodeStatus("n1", "run", "0", second, now, MachineFigures(0.1, 1.0, 0.5, 0.0, 0.0, 0.3), (told,)), now)
        loads.step(now)
        if (ring := loads.ring("a", now)) is not None:
            rings.append(float(ring.values.mean()))
    assert len(rings) == 101 and rings == pytest.approx([0.14] * 101, rel=0.01)


def test_what_a_query_costs_is_known_from_the_first_word_of_it() -> None:
    """An orchestrator that has just begun would take a node for empty until each of its queries has run a batch."""
    loads, now, rates = FleetLoads(at_once), WallMs(1_000_000), (*[0.0] * 9, 1_400.0) * 5
    told = HostedQuery("a", 1, "at the gate", now, commits=100, rows=140_000, busy_ms=280_000, rates=(*rates, 0.0))
    loads.hear(NodeStatus("n1", "run", "0", 51, now, MachineFigures(0.1, 1.0, 0.5, 0.0, 0.0, 0.3), (told,)), now)
    loads.step(now)
    ring = loads.ring("a", now)
    assert ring is not None and ring.values == pytest.approx(0.28)
    mean = RowCost(100_000.0, 200_000.0).weighing(100)
    assert mean.ms_per_row == 2 and mean.after(1_000.0, 10_000.0).ms_per_row == pytest.approx(2.8, rel=0.01)


def test_what_is_prepared_elsewhere_does_not_silence_the_query_that_runs() -> None:
    loads, now = FleetLoads(at_once), WallMs(1_000_000)
    machine = MachineFigures(0.1, 1.0, 0.5, 0.0, 0.0, 0.3)
    ahead = HostedQuery("a", 2, "prepared", now)
    for second in range(1, 20):
        now = WallMs(now + 1_000)
        told = HostedQuery("a", 1, "at the gate", now, rows=50 * second, busy_ms=50 * second, rates=(50.0,) * second)
        loads.hear(NodeStatus("n2", "run", "0", second, now, machine, (ahead,)), now)
        loads.hear(NodeStatus("n1", "run", "0", second, now, machine, (told,)), now)
        loads.step(now)
    ring = loads.ring("a", now)
    assert ring is not None and ring.values == pytest.approx(0.05)


def test_a_node_is_asked_once_for_each_status() -> None:
    fleet = LoadedFleet(LeastLoaded(rounds=3), {"n1": {"a": 900.0}, "n2": {}}, {"n1": 1.1, "n2": 0.0})
    fleet.second()
    for _ in range(5):
        fleet.rounds.turn(fleet.now)
    assert fleet.wishes.unmet == [], "three rounds about one status are one"
    for _ in range(3):
        fleet.second()
    assert [wish.query for wish in fleet.wishes.unmet] == ["a"]


def test_in_a_large_fleet_a_status_is_fresh_for_longer_and_nodes_cool_down_as_the_policy_says() -> None:
    fleet = LoadedFleet(NeverMove(), {"n1": {"a": 10.0}, "n2": {}}, {"n1": 0.1, "n2": 0.0})
    fleet.second()
    later = WallMs(fleet.now + 20_000)
    ended = EndedMove("m", Outcome.DONE, "", WallMs(later - 6_000))
    records = (record("a", "n2", ended=ended),)
    slow = FleetSeen(later, frozenset({"n1", "n2"}), fleet.heard, records, fresh_ms=35_000, cool_ms=5_000)
    assert hosts(slow, {})["n1"].node.ready and hosts(slow, {})["n2"].node.cooling_until == 0
    assert not hosts(FleetSeen(later, frozenset({"n1", "n2"}), fleet.heard, records), {})["n1"].node.ready
