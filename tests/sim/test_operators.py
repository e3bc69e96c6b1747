"""The papers' engine: events are neither lost nor made, cores not used twice, and the policies are the live ones."""

from dataclasses import replace

import numpy as np
import pytest

from headway.estimate.pressure import Pressure
from headway.model.time import WallMs
from headway.sim.delays import Constant, Uniform
from headway.sim.node import Node
from headway.sim.operators import Engine, EngineLoad
from headway.sim.pipelines import PIPELINES, ysb
from headway_lab.experiments.simulator.paper import ORDERS

SMALL = Node(cores=2)


def engine(
    order: str = "klink", queries: int = 8, rate: float = 5_000, machine: Node = SMALL, memory_policy: bool = False,
    nodes: int = 1, seed: int = 0,
) -> Engine:  # fmt: skip
    load = EngineLoad(replace(ysb(), events_per_s=rate), queries, Uniform(0, 500))
    scheduling = replace(ORDERS[order], memory_policy=memory_policy)
    return Engine(load, scheduling, machine=machine, nodes=nodes, seed=seed)


def in_flight(e: Engine) -> np.ndarray:
    """Events at the source that have not been through the first operator, and those queued behind it."""
    return e.queues.made - e.queues.outside - e.queues.done[:, 0]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_every_event_is_somewhere(order: str, nodes: int) -> None:
    e = engine(order, nodes=nodes, memory_policy=ORDERS[order].memory_policy)
    e.run(40, warm_s=0)
    q = e.queues
    assert np.allclose(in_flight(e), q.queue[:, 0], atol=1e-3)
    for k in range(1, q.k):
        assert np.allclose(q.done[:, k - 1] * q.selectivity[k - 1], q.done[:, k] + q.queue[:, k], rtol=1e-6, atol=1e-2)
    assert (q.queue >= -1e-6).all() and (q.outside >= -1e-6).all()


@pytest.mark.parametrize("order", ORDERS)
def test_no_core_is_used_twice(order: str) -> None:
    trace = engine(order, queries=20).run(40, warm_s=0)
    assert max(trace.cpu) <= 1 + 1e-6 and min(trace.cpu) >= -1e-6


@pytest.mark.parametrize("order", [name for name, by in ORDERS.items() if not by.holds])
def test_work_is_conserved_under_overload(order: str) -> None:
    """With far more events than the cores can process, no order leaves a core idle."""
    trace = engine(order, queries=40, machine=replace(SMALL, gc=0.0)).run(60, warm_s=30)
    assert min(trace.cpu) >= 0.99


def test_as_many_turns_last_as_there_are_cores() -> None:
    """Until its watermark is through, a query keeps a core; so there are no more turns than cores, and none is lost."""
    e = engine("streambox", queries=12, rate=8_000)
    for start in range(0, 30_000, SMALL.cycle_ms):
        e.cycle(start, SMALL.cycle_ms, count=True)
        assert e.dispatcher.held.sum() <= SMALL.cores
    assert e.trace.latencies_ms


@pytest.mark.parametrize("order", ORDERS)
def test_memory_stays_within_its_bound(order: str) -> None:
    machine = replace(SMALL, memory_bytes=2e8, heap_bytes=2.2e8)
    trace = engine(order, queries=40, machine=machine, memory_policy=ORDERS[order].memory_policy).run(60, warm_s=0)
    assert max(trace.memory) <= 1 + 1e-6


@pytest.mark.parametrize("order", ORDERS)
def test_no_query_starves(order: str) -> None:
    """Below saturation every query's windows come out, none later than a few cycles after its delay."""
    e = engine(order, queries=8, rate=5_000)
    e.run(60, warm_s=30)
    assert min(e.views.swept) >= 60_000 - 3_000 - 3_000


@pytest.mark.parametrize("workload", PIPELINES)
def test_an_idle_machine_passes_watermarks_on_at_once(workload: str) -> None:
    e = Engine(EngineLoad(PIPELINES[workload](), 1, Constant(100)), ORDERS["klink"])
    trace = e.run(90)
    assert trace.latencies_ms and max(trace.latencies_ms) <= 100 + 2 * e.machine.cycle_ms


def test_the_same_seed_gives_the_same_run() -> None:
    one, two, other = (engine(queries=20, seed=seed).run(40, warm_s=20).latencies_ms for seed in (1, 1, 2))
    assert one == two != other


def test_a_full_heap_slows_everything_down() -> None:
    full = replace(SMALL, gc=0.5, memory_bytes=2e8, heap_bytes=2.2e8)
    slow = engine("default", queries=40, machine=full).run(60, warm_s=30)
    fast = engine("default", queries=40, machine=replace(full, gc=0.0)).run(60, warm_s=30)
    assert slow.processed < 0.9 * fast.processed


def test_turning_to_another_operator_costs_the_default_too() -> None:
    """An operating system that shares cores among more operators than it has pays for its switches, as a policy does."""
    free = engine("default", queries=40, machine=replace(SMALL, gc=0.0, switch_ms=0.0)).run(60, warm_s=30)
    paid = engine("default", queries=40, machine=replace(SMALL, gc=0.0)).run(60, warm_s=30)
    lost = SMALL.switch_ms / SMALL.quantum_ms
    assert paid.processed == pytest.approx((1 - lost) * free.processed, rel=0.01)


def test_the_memory_policy_rests_as_long_as_it_ran_as_it_does_live() -> None:
    """Memory stays full. Pressed again after one cycle, least slack would never have its turn."""
    e = engine(memory_policy=True)
    live = Pressure()
    on = []
    for now in range(0, 15_000, SMALL.cycle_ms):
        e.now, live = now, live.step(WallMs(now), 0.95)
        on.append(e.pressed(0.95))
        assert on[-1] == live.view().pressed
    assert 0.45 < sum(on) / len(on) < 0.7


def test_short_of_memory_events_are_run_no_further_than_frees_most() -> None:
    """With room for few events, they wait behind the filter instead of before it."""
    tight = replace(SMALL, memory_bytes=2e8, heap_bytes=2.2e8, pressed=0.5)
    with_it, without = (_most_behind_filter(engine(queries=40, machine=tight, memory_policy=on)) for on in (True, False))
    assert without == 0 < 0.1 < with_it


def _most_behind_filter(e: Engine) -> float:
    """The greatest share of the queued events that was seen behind the filter."""
    shares = []
    for start in range(0, 30_000, e.machine.cycle_ms):
        e.cycle(start, e.machine.cycle_ms, count=True)
        shares.append(float(e.queues.queue[:, 3:].sum() / max(1.0, e.queues.queue.sum())))
    return max(shares)
