"""Spark in virtual time: without a gate as it is, on shared cores, and with the very policies that run live."""

from statistics import mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headway as hw
from headway.model.deadline import window
from headway.model.decision import OrderPolicy
from headway.policy.order import FirstCome, FixedTrigger, HighestRate, Klink, RoundRobin, Stock, StreamBox
from headway.sim.microbatch import VirtualQuery, VirtualWorld
from headway.sim.streams import VirtualInput
from headway_lab.experiments.simulator import paper

GATED = [Klink(), FirstCome(), RoundRobin(), HighestRate(), StreamBox()]
STREAM = VirtualInput(patience_ms=500, rows_per_s=200, delays_ms=(0, 250, 500))


def world(
    policy: OrderPolicy, queries: int = 4, cores: float = 2, seed: int = 1, shift: int = 0, **more: object
) -> VirtualWorld:
    made = VirtualWorld(policy, slots=2, cores=cores, seed=seed, **more)  # type: ignore[arg-type]
    for i in range(queries):
        grid = window(3_000, start=(i * 700 + shift) % 3_000)
        made.add(VirtualQuery(f"q{i}", grid, STREAM, fixed_ms=60, per_row_ms=0.01, wait_ms=10, starts_ms=shift + 20 * i))
    return made


def test_the_policy_of_the_simulator_is_the_one_that_runs_live() -> None:
    assert hw.order.Klink is Klink and type(paper.ORDERS["klink"].policy) is Klink
    one = Klink()
    w = world(one)
    assert w.controller.policy is one and hw.order.Klink().decide.__func__ is one.decide.__func__  # type: ignore[attr-defined]


def test_stock_needs_two_batches_for_a_window_and_runs_many_more() -> None:
    """A watermark follows the rows of a batch and is acted upon by the next one: a window waits for both."""
    stock, klink = world(Stock()), world(Klink())
    for w in (stock, klink):
        w.run(60_000)
    assert len(stock.batches) > 5 * len(klink.batches)
    assert sum(w.latency_ms for w in stock.windows) / len(stock.windows) > 60
    assert len(klink.batches) <= 2.2 * len(klink.windows)


def test_a_trigger_fires_at_its_moments_only() -> None:
    w = world(FixedTrigger(1_000))
    w.run(20_000)
    assert {b.began % 1_000 for b in w.batches} == {0}


def test_on_fewer_cores_everything_takes_longer() -> None:
    means = []
    for cores in (4, 1):
        w = world(Stock(), queries=8, cores=cores)
        w.run(60_000)
        means.append(sum(x.latency_ms for x in w.windows) / len(w.windows))
    assert means[1] > 1.5 * means[0]


@pytest.mark.parametrize("policy", GATED, ids=lambda p: type(p).__name__)
@given(seed=st.integers(0, 1_000), queries=st.integers(1, 12), spread=st.sampled_from([0.0, 0.5]))
@settings(max_examples=max(2, settings().max_examples // 20))
def test_no_window_is_swept_early_and_none_is_left_behind(
    policy: OrderPolicy, seed: int, queries: int, spread: float
) -> None:
    w = world(policy, queries, seed=seed, spread=spread)
    w.run(30_000)
    assert not w.early
    for i in range(queries):  # nobody starves: the last window is at most a few rounds of everybody's batches old
        ends = [e.end for e in w.windows if e.query == f"q{i}"]
        assert max(ends) >= 30_000 - 3_000 - 500 - 3_000 - 400 * queries
        assert ends == sorted(set(ends))


@pytest.mark.parametrize("policy", GATED, ids=lambda p: type(p).__name__)
def test_a_shift_of_all_times_shifts_the_run_and_nothing_else(policy: OrderPolicy) -> None:
    runs = []
    for shift in (3_000, 33_000):
        w = world(policy, shift=shift)
        w.run(shift + 20_000)
        runs.append([(b.query, b.began - shift, b.rows) for b in w.batches])
    assert runs[0] == runs[1]


def test_never_idle_while_something_is_due_and_a_slot_is_free() -> None:
    w = world(Klink(), queries=10)
    w.run(60_000)
    decided = [
        type(entry.decided).__name__
        for entry in w.notebook.entries
        if entry.seen.busy < entry.seen.slots and any(q.due is not None and q.due <= entry.at for q in entry.seen.waiting)
    ]
    assert set(decided) == {"Grant"}


def test_ever_smaller_batches_bring_heavy_windows_out_sooner() -> None:
    """A batch takes what came in during the one before: fixed + load x that, down to fixed / (1 - load)."""

    def latency_ms(before: int) -> float:
        world = VirtualWorld(Klink(before=before, spare=0.0), slots=2, cores=2)  # here no batch takes longer than expected
        for n in range(2):
            rows = VirtualInput("rows", 200, 200_000, (0, 200))
            world.add(VirtualQuery(f"q{n}", window(3_000, start=1_500 * n), rows, 80, 0.0015, ahead=True))
        world.run(60_000)
        assert not world.early
        return mean(w.at - w.end - 200 for w in world.windows if w.end > 30_000)

    once, many = latency_ms(1), latency_ms(5)
    assert many < 0.5 * once and many < 1.2 * 80 / (1 - 0.3)


def test_time_in_hand_brings_heavy_windows_out_sooner_where_batches_take_longer_than_expected() -> None:
    def latencies_ms(spare: float) -> list[int]:
        found = []
        for seed in range(3):
            world = VirtualWorld(Klink(spare=spare), slots=2, cores=2, spread=0.3, seed=seed)
            world.add(VirtualQuery("q", window(3_000), VirtualInput("rows", 200, 200_000, (0, 200)), 80, 0.0013))
            world.run(120_000)
            found += [w.latency_ms for w in world.windows if w.end > 20_000]
        return found

    without, with_some = latencies_ms(0.0), latencies_ms(0.3)
    assert mean(with_some) < 0.9 * mean(without)
