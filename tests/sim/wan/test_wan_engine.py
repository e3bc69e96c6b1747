"""The engine of a wide area: no row is lost or made, whatever the plan, the placement and the changes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.errors import SettingError
from headway.model.geo import Deployment, GeoPlan
from headway.sim.wan.cohorts import oldest, shared, split, thinned
from headway.sim.wan.engine import WanEngine
from headway.sim.wan.truth import AreaTruth, steady
from model.areas import MB, area, chain, deployments, running, trees, with_link

rows = st.lists(st.integers(0, 50), min_size=1, max_size=12).map(lambda xs: np.array(xs, dtype=np.int64))
few = settings(max_examples=40, deadline=None)


@given(rows=rows, weights=st.lists(st.floats(0.01, 5), min_size=1, max_size=5))
def test_a_split_loses_nothing_and_is_nearly_fair(rows: np.ndarray, weights: list[float]) -> None:
    parts = np.array(weights) / sum(weights)
    made = split(rows, parts)
    assert (made.sum(axis=0) == rows).all() and (made >= 0).all()
    assert (abs(made - parts[:, None] * rows[None, :]) <= 2).all()


@given(rows=rows, most=st.integers(0, 400))
def test_the_oldest_leave_first(rows: np.ndarray, most: int) -> None:
    taken = oldest(rows[None, :], np.array([most]))[0]
    assert taken.sum() == min(most, rows.sum()) and (taken <= rows).all()
    left = np.flatnonzero(rows - taken)
    assert not len(left) or not taken[left[0] + 1 :].any()


@given(waiting=rows, amount=st.integers(0, 900))
def test_a_capacity_is_shared_by_what_waits(waiting: np.ndarray, amount: int) -> None:
    got = shared(amount, waiting)
    assert (got <= waiting).all() and got.sum() <= amount and (amount < waiting.sum() or (got == waiting).all())


def test_an_aggregate_has_no_more_rows_than_its_keys() -> None:
    assert thinned(np.array([10, 100]), 0.5, None).tolist() == [5, 50]
    assert thinned(np.array([10, 100]), 0.5, np.array([7, 7])).tolist() == [5, 7]


def truth_of(plan: GeoPlan, bandwidth: float, sent: float, steps: int = 60, stops: int = 30) -> AreaTruth:
    """Sources send for a while, and then what waits has time to come through."""
    names = [s.name for s in plan.stages if s.kind == "source"]
    made = steady(area((99, 99, 99), bandwidth), dict.fromkeys(names, sent), steps)
    made.rate_factor[stops:] = 0.0
    return made


@few
@given(
    data=st.data(), plan=trees(), bandwidth=st.floats(1e3, 1e6), sent=st.integers(1, 3_000), late=st.sampled_from([None, 5])
)
def test_sent_is_processed_and_waiting_and_lost_whatever_changes(
    data: st.DataObject, plan: GeoPlan, bandwidth: float, sent: int, late: int | None
) -> None:
    engine = WanEngine(plan, data.draw(deployments(plan)), truth_of(plan, bandwidth, sent))
    engine.drop_after = late
    for step in range(60):
        engine.step()
        assert engine.lawful()
        if step % 15 == 14:
            engine.redeploy(plan, data.draw(deployments(plan)))
            assert engine.lawful()
        engine.paused = frozenset(["mid0"]) if step % 20 < 5 else frozenset()
    assert late is not None or not any(tally.lost for tally in engine.tallies.values())


@few
@given(data=st.data(), plan=trees(), sent=st.integers(1, 2_000))
def test_results_are_the_same_for_every_placement_and_change(data: st.DataObject, plan: GeoPlan, sent: int) -> None:
    """What sinks get in the end, of rows of each birth, when everything has come through."""
    found = []
    for changes in (False, True):
        engine = WanEngine(plan, data.draw(deployments(plan)), truth_of(plan, 5e6, sent, steps=80, stops=20))
        while engine.step_at < 80:
            engine.step()
            if changes and engine.step_at in (7, 13, 25):
                engine.redeploy(plan, data.draw(deployments(plan)))
        assert not any(engine.flows.waiting(name) for name in engine.tallies)
        found.append(engine._processed["sink"].copy())
    assert (found[0] == found[1]).all() and found[0].sum() > 0


def test_a_link_carries_what_it_can_and_the_rest_waits() -> None:
    plan = chain("stateless", state_mb=0.0)
    truth = replace(truth_of(plan, MB, 5_000, 45, 20), area=with_link(area((9, 9, 9), MB), "s1", "s0", 0.25 * MB))
    engine = WanEngine(plan, running(plan, 3, mid={0: 1}), truth)
    seen = [engine.step() for _ in range(20)]
    assert max(s.link_bytes[1, 0] for s in seen) <= 0.25 * MB
    assert engine.flows.waiting("mid") == pytest.approx(20 * 2_500, abs=50) and seen[-1].held_up[1, 0] == 1
    while engine.step_at < 45:
        engine.step()
    assert engine.flows.waiting("mid") == 0 and engine.tallies["sink"].processed == 2 * 20 * 5_000


def test_an_aggregate_waits_for_its_slowest_input_and_others_do_not() -> None:
    for kind, soon in (("combine", False), ("stateless", True)):
        plan = chain(kind, state_mb=1.0 if kind == "combine" else 0.0)
        slow = with_link(area((9, 9, 9), MB), "s1", "s0", 0.1 * MB)
        engine = WanEngine(plan, running(plan, 3, mid={0: 1}), replace(truth_of(plan, MB, 5_000), area=slow))
        ages = [np.flatnonzero(engine.step().results) for _ in range(20)]
        fresh = any(len(age) and age[0] == 0 for age in ages[5:])
        assert fresh == soon


def test_a_site_without_power_processes_nothing_and_loses_nothing() -> None:
    plan = chain()
    truth = truth_of(plan, 10 * MB, 5_000, 60, 40)
    truth.up[10:20] = False
    engine = WanEngine(plan, running(plan, 3, mid={0: 1}), truth)
    for _ in range(20):
        engine.step()
    assert engine.tallies["mid"].processed == 10 * 10_000 and engine.flows.waiting("mid") == 100_000
    while engine.step_at < 60:
        engine.step()
    assert engine.tallies["sink"].processed == 400_000 and engine.lawful()


def test_another_plan_goes_on_with_the_rows_of_the_first() -> None:
    from headway.model.geo import Stage
    from headway.wan.plan import plan_of

    sources = [Stage(n, "source", site=f"s{k}") for k, n in enumerate("abc")]

    def made(first: tuple[str, str], second: str) -> GeoPlan:
        inner = Stage("-".join(first), "combine", first, window_ms=100)
        outer = Stage("all", "combine", (inner.name, second), window_ms=100)
        return plan_of("p", [*sources, inner, outer, Stage("sink", "sink", ("all",))])

    one, two = made(("a", "b"), "c"), made(("b", "c"), "a")
    at_one = Deployment.of([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 0], [0, 1, 0], [0, 1, 0]])
    engine = WanEngine(one, at_one, truth_of(one, 0.45 * MB, 5_000, 120, 20))
    for _ in range(10):
        engine.step()
    assert engine.flows.waiting("a-b") > 0
    engine.redeploy(two, Deployment.of([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 0, 1], [0, 0, 1]]))
    assert engine.lawful()
    while engine.step_at < 120:
        engine.step()
        assert engine.lawful()
    assert engine.tallies["sink"].processed == 3 * 20 * 5_000


def test_steps_that_do_not_fit_together_are_refused() -> None:
    made = steady(area(), {"a": 1.0}, 5)
    with pytest.raises(SettingError, match=r"truth\.steps"):
        replace(made, rate_factor=np.ones(4))
    with pytest.raises(SettingError, match=r"truth\.step_ms"):
        replace(made, link_factor=-np.ones(5))
