"""A pipeline in virtual time under the live policy."""

from dataclasses import replace

import numpy as np
import pytest

from headway.loop.questions.adaptation import ADAPTATION
from headway.model.adaptation import Keep, Reassign
from headway.model.geo import GeoPlan
from headway.policy.adaptation import DegradeOnly, NoAdapt, ReplanOnly, ScaleOnly, Wasp
from headway.sim.microbatch import Notebook
from headway.sim.wan.truth import AreaTruth
from headway.sim.wan.world import AreaRules, WanWorld
from model.areas import MB, area, chain, running


def world(policy: object, thin: float = 0.3, plan: GeoPlan | None = None, steps: int = 600, **more: object) -> WanWorld:
    """From 100 to 400 s the link from b to the stage has less."""
    plan = plan or chain()
    factor = np.ones((steps, 3, 3))
    factor[100:400, 1, 0] = thin
    truth = AreaTruth(
        area((3, 3, 3), MB), ("a", "b"), np.array([4_000.0, 4_000.0]), factor, np.ones((steps, 2)),
        np.ones((steps, 3), dtype=bool),
    )  # fmt: skip
    return WanWorld(truth, (plan,), running(plan, 3, **{plan.names[2]: {0: 1}}), policy, seed=1, **more)  # type: ignore[arg-type]


def test_wasp_keeps_up_where_no_adapt_falls_behind_and_neither_loses_a_row() -> None:
    runs = {name: world(policy) for name, policy in (("wasp", Wasp()), ("no-adapt", NoAdapt()))}
    traces = {name: run.run() for name, run in runs.items()}
    assert all(run.engine.lawful() and not run.trace.lost for run in runs.values())
    assert traces["wasp"].mean_delay_ms(340_000, 400_000) < 3_000 < traces["no-adapt"].mean_delay_ms(340_000, 400_000)
    assert traces["no-adapt"].ratio(100_000, 400_000) < 0.9 and traces["no-adapt"].ratio(400_000, 500_000) > 1
    assert traces["wasp"].changes[0].technique == "re-assign" and not traces["no-adapt"].changes


def test_state_takes_its_time_over_the_real_link_and_the_policy_knew_how_long() -> None:
    run = world(Wasp(), plan=chain(state_mb=15.0))
    change = run.run().changes[0]
    took = (change.ended_ms - change.began_ms) / 1000 - 2  # the restart
    assert change.state_mb == 15.0 and change.expected_s == pytest.approx(15.0, rel=0.2) and took == pytest.approx(15, abs=2)


def test_dropping_keeps_results_young_and_says_how_many_rows_it_cost() -> None:
    run = world(DegradeOnly(), rules=AreaRules(may_degrade=True))
    trace = run.run()
    assert trace.lost > 100_000 and run.engine.lawful() and trace.mean_delay_ms(340_000, 400_000) < 12_000
    kept = world(DegradeOnly())
    assert kept.run().lost == 0


def test_a_short_spike_changes_nothing() -> None:
    run = world(Wasp())
    run.truth.link_factor[:] = 1.0
    run.truth.rate_factor[155:163] = 4.0
    assert run.run().changes == []


def test_what_was_taken_in_haste_is_given_back_one_task_a_round() -> None:
    run = world(ScaleOnly(), thin=1.0, steps=500)
    run.engine.redeploy(run.engine.plan, running(run.engine.plan, 3, mid={0: 1, 1: 1, 2: 1}))
    trace = run.run()
    assert [c.technique for c in trace.changes] == ["scale-down", "scale-down"]
    assert trace.changes[1].began_ms - trace.changes[0].ended_ms >= 40_000
    assert run.engine.deployed.parallelism(2) == 1


def test_a_link_that_is_down_holds_up_what_needs_it_and_all_of_it_arrives_later() -> None:
    plan = chain("stateless", state_mb=0.0)
    run = world(NoAdapt(), thin=0.0, plan=plan)
    run.truth.rate_factor[500:] = 0.0
    trace = run.run()
    during = sum(s.results for s in trace.between(150_000, 400_000))
    assert during == pytest.approx(250 * 4_000, rel=0.02)  # the other source's results go on
    assert sum(s.results for s in trace.seconds) == 2 * 4_000 * 500 and run.engine.lawful()


def test_a_link_that_is_down_at_the_start_is_found_out_and_gone_around() -> None:
    run = world(Wasp(), thin=1.0)
    run.truth.link_factor[:, 1, 0] = 0.0
    trace = run.run()
    assert trace.changes and trace.mean_delay_ms(540_000, 600_000) < 3_000 and run.engine.lawful()


def test_while_no_site_computes_the_last_good_placement_stands() -> None:
    book = Notebook()
    run = world(Wasp(), thin=1.0, journal=book)
    run.truth.up[100:190] = False
    trace = run.run()
    during = [e for e in book.entries if 100_000 < e.at <= 190_000]
    assert during and all(isinstance(e.decided, Keep) for e in during)
    assert trace.lost == 0 and trace.mean_delay_ms(540_000, 600_000) < 3_000


def test_a_run_is_the_same_again_and_its_decisions_have_reasons() -> None:
    books = [Notebook(), Notebook()]
    for book in books:
        world(Wasp(), journal=book).run()
    said = [[(e.at, e.decided, e.receipt) for e in book.entries if e.question == ADAPTATION] for book in books]
    assert said[0] == said[1] and all(decided.because for _, decided, _ in said[0])
    assert any(isinstance(decided, Reassign) for _, decided, _ in said[0])


def test_probes_are_paid_for_and_keep_to_their_budget() -> None:
    run = world(NoAdapt(), thin=1.0)
    trace = run.run()
    spent = run.monitor.links.probed_bytes
    assert 0 < spent <= 0.01 * MB * 6 * 600 + 6 * 64_000
    rows = sum(s.wan_bytes for s in trace.seconds)
    assert rows > 4_000 * 100 * 600 + 0.9 * spent


def test_another_plan_comes_at_the_end_of_a_window_without_moving_state() -> None:
    run = world(ReplanOnly(), plan=replace(chain(state_mb=500.0, window_ms=30_000)))
    trace = run.run()
    assert run.engine.lawful() and all(c.technique == "re-plan" for c in trace.changes)
