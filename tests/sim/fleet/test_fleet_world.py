"""A fleet in virtual time: the live questions move computations, and write it down."""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import SettingError
from headway.loop.journal import Journal, JournalReader
from headway.loop.kernel import Entry
from headway.loop.replay import replay
from headway.model.placement import (
    FleetView,
    HostView,
    Move,
    MoveRequest,
    PlacementDecision,
    PlacementMemory,
    PlacementPolicy,
    Placements,
    Refuse,
    RequestDecision,
    RequestMemory,
    RequestMove,
    Stay,
)
from headway.model.ring import RingShape
from headway.model.time import WallMs
from headway.policy.placement import (
    LeastLoaded,
    NearIdeal,
    NeverMove,
    PredictionRings,
    RandomPlacement,
    RoundRobinPlacement,
)
from headway.sim.fleet.engine import FleetEngine
from headway.sim.fleet.load import FleetLoad
from headway.sim.fleet.machines import Contention, ExternalProcess, FleetMachines
from headway.sim.fleet.moving import MoveTimes
from headway.sim.fleet.nodes import node_name, query_name
from headway.sim.fleet.senses import Senses, Sight
from headway.sim.fleet.world import FleetTimes, FleetWorld
from headway.sim.microbatch import Notebook
from tried import tried

COOL_MS = 3_000
POLICIES: list[PlacementPolicy] = [
    NeverMove(),
    RandomPlacement(limit=0.1, cool_down_ms=COOL_MS),
    RoundRobinPlacement(limit=0.1, cool_down_ms=COOL_MS),
    LeastLoaded(limit=0.1, cool_down_ms=COOL_MS),
    PredictionRings(threshold=1e-9, cool_down_ms=COOL_MS),
    NearIdeal(),
]
every_policy = pytest.mark.parametrize("policy", POLICIES, ids=lambda p: type(p).__name__)
SMALL = Sight(shape=RingShape((1_000, 2_000), 6))


def engine(crowded: int = 12, nodes: int = 3, seed: int = 1, depth: float = 0.0) -> FleetEngine:
    """All computations begin on the first node, whose link they would fill twice."""
    load = FleetLoad(
        rate=np.full(crowded, 2_000.0),
        cpu_us=np.full(crowded, 100.0),
        wire_bytes=np.full(crowded, 90.0),
        active_ms=np.zeros(crowded),
        depth=np.full(crowded, depth),
        period_s=np.full(crowded, 10.0),
        phase=np.arange(crowded) / crowded,
        jitter=0.02,
    )
    contention = Contention(crowding=0.3, buffer_s=0.5)
    machines = FleetMachines.alike(nodes, cores=4, link=1e6, external=(ExternalProcess(2, 1, 1e5, from_ms=5_000),))
    return FleetEngine(load, machines, contention, MoveTimes(), np.zeros(crowded, dtype=np.int64), seed)


def world(policy: PlacementPolicy, book: Notebook | Journal | None = None, seed: int = 1, depth: float = 0.0) -> FleetWorld:
    return FleetWorld(engine(seed=seed, depth=depth), policy, book, FleetTimes(), SMALL, seed)


def moved(entries: list[Entry]) -> list[Move]:
    found = [entry.decided for entry in entries if isinstance(entry.decided, Placements)]
    return [choice for decided in found for choice in decided.choices if isinstance(choice, Move)]


def test_prediction_rings_relieve_a_crowded_node_and_nothing_else_does_without_moves() -> None:
    stays, rings = world(NeverMove()), world(POLICIES[4])
    before, after = stays.run(120_000), rings.run(120_000)
    assert set(stays.engine.node_of) == {0} and np.bincount(rings.engine.node_of, minlength=3).max() <= 6
    assert after.minutes[-1].throughput > 1.7 * before.minutes[-1].throughput
    assert after.minutes[-1].p99_ms < before.minutes[-1].p99_ms / 5 and after.minutes[-1].load_sd < 0.2


@every_policy
def test_moves_are_honoured_and_nothing_moves_that_was_not_decided(policy: PlacementPolicy) -> None:
    book = Notebook()
    fleet = world(policy, book)
    place = {query_name(c): node_name(0) for c in range(12)}
    trace = fleet.run(60_000)
    decided = Counter((move.query, move.source, move.target) for move in moved(book.entries))
    done = Counter((query_name(m.computation), node_name(m.source), node_name(m.target)) for m in trace.moves)
    assert done <= decided and (decided - done).total() == fleet.engine.in_flight
    for move in trace.moves:
        assert place[query_name(move.computation)] == node_name(move.source) and move.asked_ms < move.out_ms <= move.in_ms
        place[query_name(move.computation)] = node_name(move.target)
    assert [place[query_name(c)] for c in range(12)] == [node_name(int(n)) for n in fleet.engine.node_of]
    assert np.array_equal(fleet.engine.sent, fleet.engine.processed + fleet.engine.queue)


@every_policy
def test_a_node_takes_part_in_one_move_at_a_time_and_then_cools_down(policy: PlacementPolicy) -> None:
    book = Notebook()
    world(policy, book).run(60_000)
    last: dict[str, int] = {}
    for entry in book.entries:
        for move in moved([entry]):
            for node in (move.source, move.target):
                assert entry.at >= last.get(node, 0)
                last[node] = move.cool_until
    assert bool(last) == (not isinstance(policy, NeverMove))


@every_policy
def test_the_same_seed_gives_the_same_run_and_another_one_another(policy: PlacementPolicy) -> None:
    one, two, other = world(policy), world(policy), world(policy, seed=2)
    traces = [fleet.run(60_000) for fleet in (one, two, other)]
    assert traces[0].minutes == traces[1].minutes != traces[2].minutes
    assert np.array_equal(one.engine.node_of, two.engine.node_of) and traces[0].moves == traces[1].moves


@every_policy
def test_what_a_policy_has_seen_does_not_change_afterwards(policy: PlacementPolicy) -> None:
    """A journal writes it down later, on a thread of its own."""
    book = Notebook()
    world(policy, book, depth=0.5).run(40_000)
    told = [entry for entry in book.entries if entry.question in ("request", "placement")]
    assert told or type(policy) is NeverMove
    assert not list(replay(told, policy))


@every_policy
@pytest.mark.parametrize("depth", [0.0, 0.5], ids=["fixed", "variable"])
def test_a_simulated_journal_replays_to_the_same_decisions(policy: PlacementPolicy, depth: float, tmp_path: Path) -> None:
    """Bit for bit, from the file: what was seen and remembered is all that a decision rests upon."""
    journal = Journal(tmp_path / "journal.db")
    fleet = world(policy, journal, depth=depth)
    fleet.run(40_000)
    journal.close()
    reader = JournalReader(tmp_path / "journal.db")
    told = {name: list(reader.entries(name)) for name in ("request", "placement")}
    assert moved(told["placement"]) or type(policy) is NeverMove
    assert told["placement"] or type(policy) is NeverMove
    assert not list(replay([*told["request"], *told["placement"]], policy))


def test_a_journal_changes_nothing() -> None:
    with_book, without = world(POLICIES[4], Notebook()), world(POLICIES[4])
    assert with_book.run(60_000).minutes == without.run(60_000).minutes
    assert np.array_equal(with_book.engine.node_of, without.engine.node_of)


@dataclass(frozen=True)
class Blind:
    """Asks for anything and moves it anywhere, cooling or not."""

    foresees: ClassVar[bool] = False

    def request(self, seen: HostView, memory: RequestMemory) -> tuple[RequestDecision, RequestMemory]:
        if not len(seen.computations):
            return Stay("nothing here"), memory
        first = seen.computations[0]
        return RequestMove(MoveRequest(first.name, seen.node.name, first.ring, 1.0), "anything"), memory

    def decide(self, seen: FleetView, memory: PlacementMemory) -> tuple[PlacementDecision, PlacementMemory]:
        cool = WallMs(seen.now + 2_500)
        choices = tuple(
            Move(r.query, r.node, seen.nodes[(n + seen.now // 1000) % len(seen.nodes)].name, "anywhere", None, cool)
            for n, r in enumerate(seen.requests)
        )
        return Placements(choices, "all of it"), memory


def test_what_a_policy_wishes_is_guarded_as_live() -> None:
    book = Notebook()
    fleet = world(Blind(), book)
    fleet.run(60_000)
    refused = [
        choice.because
        for entry in book.entries
        if isinstance(entry.decided, Placements) and entry.proposed != entry.decided
        for choice in entry.decided.choices
        if isinstance(choice, Refuse)
    ]
    assert any("already" in because for because in refused)
    assert all(move.source != move.target for move in moved(book.entries)) and moved(book.entries)
    assert np.array_equal(fleet.engine.sent, fleet.engine.processed + fleet.engine.queue)


@tried(10)
@given(
    seed=st.integers(0, 50), delay=st.sampled_from([(0, 0), (1, 50), (900, 2_500)]), prepare=st.sampled_from([0, 300, 4_000])
)
def test_whatever_the_delays_no_computation_is_lost_or_moved_twice(seed: int, delay: tuple[int, int], prepare: int) -> None:
    fleet = engine(seed=seed)
    fleet = FleetEngine(
        fleet.load,
        fleet.machines,
        fleet.contention,
        MoveTimes(prepare_ms=prepare, out_ms=700, out_sd_ms=900),
        fleet.node_of,
        seed,
    )
    made = FleetWorld(fleet, Blind(), None, FleetTimes(delay_ms=delay), SMALL, seed)
    trace = made.run(30_000)
    place = np.zeros(12, dtype=np.int64)
    ended = np.zeros(12)
    for move in trace.moves:
        assert place[move.computation] == move.source and move.asked_ms >= ended[move.computation]
        place[move.computation], ended[move.computation] = move.target, move.in_ms
    assert np.array_equal(place, fleet.node_of) and trace.moves
    assert np.array_equal(fleet.sent, fleet.processed + fleet.queue)


def test_nodes_see_what_sources_would_send_or_only_what_gets_through() -> None:
    crowded = engine()
    wanted, got = Senses(crowded.load, 1.0, SMALL), Senses(crowded.load, 1.0, replace(SMALL, wanted=False))
    for second in range(20):
        step = crowded.step(1000.0 * second, 1.0)
        wanted.see(step)
        got.see(step)
    now = WallMs(20_000)
    true = wanted.true_rings(now).values
    assert wanted.rings(now).values == pytest.approx(true, rel=0.05)
    assert got.rings(now).values.mean() < 0.7 * true.mean()
    unit = Senses(crowded.load, 1.0, replace(SMALL, unit_bytes=500.0)).true_rings(now).values
    assert unit == pytest.approx(2 * true)


def test_a_variable_rate_is_foreseen_once_two_seasons_are_seen() -> None:
    fleet = engine(crowded=3, depth=0.5)
    fleet.load = replace(fleet.load, period_s=np.full(3, 60.0), jitter=0.0)
    fleet = FleetEngine(fleet.load, fleet.machines, fleet.contention, MoveTimes(), fleet.node_of)
    senses = Senses(fleet.load, 1.0, SMALL)
    for second in range(200):
        senses.see(fleet.step(1000.0 * second, 1.0))
    now = WallMs(200_000)
    true, seen = (rings.values for rings in (senses.true_rings(now), senses.rings(now)))
    assert np.abs(seen / true - 1).mean() < 0.15 and true.std() > 0.1 * true.mean()


def test_the_orchestrator_knows_a_node_by_its_last_status_only() -> None:
    book = Notebook()
    made = FleetWorld(engine(), POLICIES[4], book, FleetTimes(status_ms=5_000), SMALL, 1)
    made.run(30_000)
    seen = [entry for entry in book.entries if entry.question == "placement"]
    assert seen and all(node.ring.at % 5_000 == 0 and node.ring.at < e.at for e in seen for node in e.seen.nodes)


@pytest.mark.parametrize(
    ("make", "key"),
    [
        (lambda: FleetTimes(step_ms=1_000, status_ms=1_500), "times.status_ms"),
        (lambda: FleetTimes(delay_ms=(5, 1)), "times.delay_ms"),
        (lambda: Sight(unit_bytes=0), "sight.unit_bytes"),
    ],
)
def test_what_cannot_be_is_told_with_its_key(make: object, key: str) -> None:
    with pytest.raises(SettingError) as told:
        make()  # type: ignore[operator]
    assert told.value.key == key
