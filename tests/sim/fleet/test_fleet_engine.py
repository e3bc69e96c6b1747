"""Nodes and computations in virtual time: nothing is lost, nobody is in two places, and crowds are slow."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import SettingError
from headway.sim.fleet.engine import FleetEngine
from headway.sim.fleet.load import Arrivals, FleetLoad
from headway.sim.fleet.machines import Contention, ExternalProcess, FleetMachines, MovingMeans, SharedResource
from headway.sim.fleet.moving import MovesInFlight, MoveTimes
from headway.sim.fleet.trace import LatencyCounts

SUDDEN = MoveTimes(prepare_ms=0, out_ms=0)
OPEN = Contention()


def load(rates: list[float], cpu_us: float = 10.0, wire_bytes: float = 100.0, depth: float = 0.0) -> FleetLoad:
    n = len(rates)
    return FleetLoad(
        rate=np.array(rates, float),
        cpu_us=np.full(n, cpu_us),
        wire_bytes=np.full(n, wire_bytes),
        active_ms=np.zeros(n),
        depth=np.full(n, depth),
        period_s=np.full(n, 60.0),
        phase=np.zeros(n),
        jitter=0.0,
    )


def engine(
    rates: list[float], nodes: int = 2, link: float = 1e6, contention: Contention = OPEN, times: MoveTimes = SUDDEN
) -> FleetEngine:
    machines = FleetMachines.alike(nodes, cores=4, link=link)
    return FleetEngine(load(rates), machines, contention, times, np.zeros(len(rates), dtype=np.int64))


@given(
    rates=st.lists(st.floats(0, 20_000), min_size=1, max_size=6),
    buffer_s=st.sampled_from([0.0, 0.3, 2.0, np.inf]),
    crowding=st.sampled_from([0.0, 0.5]),
    moves=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 14)), max_size=8),
    seed=st.integers(0, 5),
)
def test_every_message_that_was_sent_is_processed_or_queued_whatever_moves(
    rates: list[float], buffer_s: float, crowding: float, moves: list[tuple[int, int, int]], seed: int
) -> None:
    fleet = FleetEngine(
        load(rates, depth=0.5),
        FleetMachines.alike(3, cores=4, link=1e6, external=(ExternalProcess(1, 4, 5e5, from_ms=3_000, until_ms=9_000),)),
        Contention(crowding=crowding, buffer_s=buffer_s),
        MoveTimes(prepare_ms=200, out_ms=800, out_sd_ms=900),
        np.zeros(len(rates), dtype=np.int64),
        seed,
    )
    offered = np.zeros(len(rates))
    for second in range(15):
        for computation, target, at in moves:
            if at == second and computation < len(rates) and not fleet.moves(computation):
                fleet.move(computation, target, 1000.0 * second)
        step = fleet.step(1000.0 * second, 1.0)
        offered += step.offered
        assert np.array_equal(fleet.sent, fleet.processed + fleet.queue)
        assert np.array_equal(offered, fleet.sent + fleet.held_back)
        assert np.all(fleet.queue >= 0) and np.all(step.done >= 0) and np.all(step.came >= 0)
        assert np.all(fleet.queue <= buffer_s * np.maximum(1, np.array(rates)) + 1e-9)


@given(moves=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=12))
def test_a_computation_is_on_one_node_and_gets_there_only_by_a_move(moves: list[tuple[int, int]]) -> None:
    fleet = engine([100.0] * 4, nodes=3, times=MoveTimes(prepare_ms=900, out_ms=300, out_sd_ms=100))
    place = fleet.node_of.copy()
    for second, (computation, target) in enumerate(moves):
        if not fleet.moves(computation):
            fleet.move(computation, target, 1000.0 * second)
        for move in fleet.step(1000.0 * second, 1.0).landed:
            assert place[move.computation] == move.source
            place[move.computation] = move.target
        assert np.array_equal(fleet.node_of, place)
    assert np.array_equal(fleet.node_of, place) and len(fleet.node_of) == 4


def test_an_idle_node_processes_all_that_comes_and_a_full_link_no_more_than_it_carries() -> None:
    idle = engine([1_000.0]).step(0, 1.0)
    assert idle.done.tolist() == [1_000.0] and idle.latency_ms[0] < 5
    full = engine([30_000.0])
    for second in range(10):
        step = full.step(1000.0 * second, 1.0)
    assert step.done[0] == 10_000 and full.queue[0] == 200_000 and step.latency_ms[0] > 10_000


def test_a_computation_has_one_thread() -> None:
    fleet = FleetEngine(
        load([50_000.0], cpu_us=100.0, wire_bytes=1.0),
        FleetMachines.alike(1, 4, 1e6),
        Contention(),
        SUDDEN,
        np.zeros(1, int),
    )
    assert fleet.step(0, 1.0).done.tolist() == [10_000.0]


def test_whoever_asks_gets_a_share_of_what_crowding_leaves() -> None:
    asked, foreign, capacity = np.array([150.0, 50.0]), np.array([50.0, 0.0]), np.array([100.0, 100.0])
    fair = SharedResource.among(asked, asked, foreign, capacity, crowding=0.0)
    assert fair.share.tolist() == [0.5, 1.0] and fair.busy.tolist() == [1.0, 0.5]
    crowded = SharedResource.among(asked, asked, foreign, capacity, crowding=0.5)
    assert crowded.share.tolist() == pytest.approx([0.5 / 1.5, 1.0])


def test_another_program_takes_its_share_and_shows_in_the_load() -> None:
    machines = FleetMachines.alike(2, 4, 1e6, (ExternalProcess(0, cores=3.5, bytes_per_s=1e6, from_ms=5_000),))
    fleet = FleetEngine(load([10_000.0, 10_000.0]), machines, Contention(), SUDDEN, np.array([0, 1]))
    done = [fleet.step(1000.0 * second, 1.0).done for second in range(65)]
    assert done[0].tolist() == [10_000, 10_000] and done[5][0] == 5_000 and done[5][1] == 10_000
    assert fleet.whole_load.value[0] > 2 and fleet.own_load.value[0] < 0.15
    assert fleet.whole_load.value[1] == pytest.approx(fleet.own_load.value[1])
    assert fleet.whole_wire.value[0] == pytest.approx(1e6, rel=0.05)


def test_a_source_that_finds_no_room_is_held_up_and_makes_nothing() -> None:
    fleet = engine([30_000.0], contention=Contention(buffer_s=0.5))
    for second in range(10):
        fleet.step(1000.0 * second, 1.0)
    assert fleet.queue[0] == 15_000 and fleet.held_back[0] == 300_000 - fleet.sent[0] > 0


def test_while_it_is_out_of_service_messages_wait_and_then_are_processed_elsewhere() -> None:
    fleet = engine([1_000.0], times=MoveTimes(prepare_ms=0, out_ms=2_500, out_sd_ms=0))
    move = fleet.move(0, 1, now_ms=0.0)
    assert fleet.moves(0) and fleet.in_flight == 1
    first = fleet.step(0, 1.0)
    assert first.done[0] == 0 and fleet.queue[0] == 1_000 and fleet.node_of[0] == 0
    fleet.step(1_000, 1.0)
    last = fleet.step(2_000, 1.0)
    assert last.landed == (move,) and fleet.node_of[0] == 1 and fleet.queue[0] == 0
    assert last.held_up[0] == pytest.approx(0.5) and last.latency_ms[0] > 300
    assert not fleet.moves(0)


def test_moves_take_as_long_as_they_are_said_to() -> None:
    times, rng = MoveTimes(), np.random.default_rng(1)
    out = np.array([times.drawn(rng)[1] for _ in range(20_000)])
    assert out.mean() == pytest.approx(times.out_ms, rel=0.05) and out.std() == pytest.approx(times.out_sd_ms, rel=0.15)
    assert np.median(out) == pytest.approx(35, rel=0.05)
    flying = MovesInFlight(MoveTimes(prepare_ms=0, out_ms=400, out_sd_ms=0), seed=1)
    flying.begin(2, 0, 1, now_ms=800)
    assert flying.out_of_service(4, 0, 1_000).tolist() == [0, 0, 200, 0]
    assert flying.land(1_000) == [] and len(flying.land(1_200)) == 1 and len(flying) == 0


def test_a_profile_recurs_and_dormant_computations_send_nothing() -> None:
    deep = load([1_000.0], depth=0.4)
    assert deep.rates(0)[0] == 1_000 and deep.rates(30_000)[0] == pytest.approx(600) and deep.mean_rate[0] == 800
    assert deep.rates(17_000)[0] == pytest.approx(deep.rates(77_000)[0])
    late = FleetLoad(**{**{n: getattr(deep, n) for n in deep.__slots__}, "active_ms": np.array([5_000.0])})
    assert late.rates(4_999)[0] == 0 and late.rates(5_000)[0] == 1_000


def test_sources_send_whole_messages_and_the_same_for_the_same_seed() -> None:
    slow, again = Arrivals(load([0.4]), 3), Arrivals(load([0.4]), 3)
    sent = [slow.take(1000.0 * second, 1.0)[0] for second in range(10)]
    assert sum(sent) == 4 and set(sent) == {0.0, 1.0}
    assert sent == [again.take(1000.0 * second, 1.0)[0] for second in range(10)]


def test_latencies_are_counted_by_messages() -> None:
    counts, more = LatencyCounts(), LatencyCounts()
    counts.add(np.array([10.0, 1_000.0]), np.array([99.0, 1.0]))
    assert counts.mean_ms == pytest.approx(19.9) and counts.percentile(0.5) == pytest.approx(10, rel=0.01)
    assert counts.percentile(0.995) == pytest.approx(1_000, rel=0.01)
    more.add(np.array([1_000.0]), np.array([100.0]))
    more.merge(counts)
    assert more.messages == 200 and more.percentile(0.5) == pytest.approx(1_000, rel=0.01)
    assert LatencyCounts().percentile(0.99) == 0 and LatencyCounts().sd_ms == 0


def test_a_load_average_takes_a_minute_to_show_two_thirds_of_a_change() -> None:
    means = MovingMeans(1, 60.0)
    for _ in range(60):
        means.see(np.array([1.0]), 1.0)
    assert means.value[0] == pytest.approx(1 - np.exp(-1))


@pytest.mark.parametrize(
    ("make", "key"),
    [
        (lambda: FleetMachines.alike(2, 0, 1e6), "machines"),
        (lambda: FleetMachines.alike(2, 4, 1e6, (ExternalProcess(2, 1, 1),)), "machines.external"),
        (lambda: Contention(crowding=-1), "contention.crowding"),
        (lambda: Contention(buffer_s=float("nan")), "contention.buffer_s"),
        (lambda: MoveTimes(out_ms=-1), "moves.out_ms"),
        (lambda: load([1.0], cpu_us=0.0), "load.cpu_us"),
        (lambda: load([-1.0]), "load"),
        (lambda: engine([1.0], nodes=0), "placed"),
    ],
)
def test_what_cannot_be_is_told_with_its_key(make: object, key: str) -> None:
    with pytest.raises(SettingError) as told:
        make()  # type: ignore[operator]
    assert told.value.key == key
