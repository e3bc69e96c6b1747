"""WASP: what is wrong, which technique, what it should bring, and whether it did."""

from dataclasses import replace

import numpy as np
import pytest

from headway.model.adaptation import (
    AdaptationMemory,
    AreaView,
    Awaited,
    Degrade,
    ExpectedEffect,
    Keep,
    Reassign,
    Replan,
    ScaleDown,
    ScaleOut,
    ScaleUp,
    StateMove,
)
from headway.model.geo import GeoPlan, Stage
from headway.model.time import WallMs
from headway.policy.adaptation import DegradeOnly, NoAdapt, ReassignOnly, ReplanOnly, ScaleOnly, Wasp
from headway.policy.adaptation.diagnosis import Thresholds, diagnose
from headway.policy.adaptation.state_moves import state_moves, takes_s
from headway.policy.adaptation.streams import streams_of
from headway.policy.adaptation.tree import order_of
from headway.wan.plan import plan_of
from model.areas import MB, NOW, area, chain, healthy, rate, running, view, with_link

NOTHING = AdaptationMemory()
SENT = {"a": 4_000.0, "b": 4_000.0}  # 0.4 MB/s each


def seen(plan: GeoPlan | None = None, thin: float | None = None, sites: int = 3, **more: object) -> AreaView:
    """A chain whose stage is at s0; the link from s1 to it may be too thin, and then only what it carries arrives."""
    plan = plan or chain()
    where = area((3,) * sites, 2 * MB)
    rates = list(healthy(plan, SENT, calm_ms=200_000))
    if thin is not None:
        where = with_link(where, "s1", "s0", thin)
        through = 4_000 + min(4_000.0, thin / 100)
        rates[2] = rate(plan.names[2], through, waiting=50_000.0, strained_ms=60_000)
        rates[3] = rate("sink", through)
    return view(where, plan, running(plan, sites, **{plan.names[2]: {0: 1}}), rates, **more)


def test_a_pipeline_that_keeps_up_is_left_alone() -> None:
    decided, memory = Wasp().decide(seen(), NOTHING)
    assert decided == Keep("every stage processes what is sent to it") and memory == NOTHING


def test_what_is_wrong_is_told_by_rates_and_the_first_stage_that_lags_is_named() -> None:
    slow = seen()
    busy = replace(slow, rates=(*slow.rates[:2], rate("mid", 8_000, 5_000, waiting=9_000), slow.rates[3]))
    for one, ailment in ((slow, "healthy"), (busy, "compute-bound"), (seen(thin=0.2 * MB), "network-bound")):
        found = diagnose(one, streams_of(one), Thresholds())
        assert (found.ailment, found.place) == (ailment, None if ailment == "healthy" else 2)


def test_expected_rates_come_from_the_sources_not_from_what_got_through() -> None:
    one = seen(thin=0.2 * MB)
    assert one.rates[2].processed == 6_000 and streams_of(one).rates.into.tolist() == [4_000, 4_000, 8_000, 8_000]


def test_a_thin_link_makes_a_stateful_stage_move_to_where_links_carry_it() -> None:
    decided, memory = Wasp().decide(seen(thin=0.2 * MB), NOTHING)
    assert isinstance(decided, Reassign) and decided.stage == "mid"
    assert decided.deployed.tasks[2] == (0, 0, 1)  # from s1 the sink at s0 is behind the thin link too
    assert decided.moves == (StateMove("mid", "s0", "s2", 10.0, 5.0),)
    assert decided.expect is not None and decided.expect.takes_s == 5.0 and decided.expect.at_least == 0.95 * 8_000
    assert memory.awaited == Awaited("re-assign", decided.expect)
    assert "6,000 of 8,000" in decided.because and "elsewhere its links carry" in decided.because


def test_state_that_would_move_for_too_long_is_split_over_more_links() -> None:
    one = seen(chain(state_mb=100.0), thin=0.3 * MB)
    decided, _ = Wasp(t_max_s=30.0).decide(one, NOTHING)
    assert isinstance(decided, ScaleOut) and sum(decided.deployed.tasks[2]) > 1
    assert takes_s(decided.moves) <= 30.0 and "50 s elsewhere" in decided.because
    whole, _ = Wasp(t_max_s=1_000.0).decide(one, NOTHING)
    assert isinstance(whole, Reassign) and takes_s(whole.moves) == pytest.approx(50.0)


def test_what_one_site_s_links_cannot_carry_is_scaled_out_over_several() -> None:
    one = seen()
    table = np.full((3, 3), 0.36 * MB)  # no link carries 0.4 MB/s
    thin = replace(one.area, links=replace(one.area.links, bandwidth=table))
    rates = (*one.rates[:2], rate("mid", 7_000, waiting=40_000.0, strained_ms=60_000), rate("sink", 7_000))
    plan = chain()
    plan = replace(plan, stages=(*plan.stages[:3], replace(plan.stages[3])))
    small = replace(plan, stages=tuple(replace(s, row_bytes=10.0) if s.name == "mid" else s for s in plan.stages))
    decided, _ = Wasp().decide(replace(one, area=thin, plan=small, rates=rates), NOTHING)
    assert isinstance(decided, ScaleOut), decided
    assert streams_of(replace(one, area=thin, plan=small, rates=rates)).fits(decided.deployed, 0.8)


def test_too_few_tasks_become_as_many_as_are_needed_where_they_are() -> None:
    plan = chain(task_per_s=3_000.0)
    one = seen(plan)
    slow = replace(
        one, rates=(*one.rates[:2], rate("mid", 8_000, 3_000, waiting=100.0, strained_ms=60_000), rate("sink", 3_000))
    )
    decided, _ = Wasp().decide(slow, NOTHING)
    assert isinstance(decided, ScaleUp | ScaleOut)
    assert sum(decided.deployed.tasks[2]) == 3  # ceil(8,000 / 3,000)
    roomy = replace(slow, area=area((6, 3, 3), 2 * MB))
    up, _ = Wasp().decide(roomy, NOTHING)
    assert isinstance(up, ScaleUp) and up.deployed.tasks[2] == (3, 0, 0) and up.moves == ()


def test_a_task_too_many_is_taken_away_one_a_round_those_far_from_their_neighbours_first() -> None:
    one = seen()
    wide = replace(one, deployed=running(one.plan, 3, mid={0: 1, 1: 1, 2: 1}))
    decided, _ = Wasp().decide(wide, NOTHING)
    assert isinstance(decided, ScaleDown) and decided.deployed.tasks[2] == (1, 1, 0)
    young = tuple(replace(r, calm_ms=10_000) for r in wide.rates)
    assert isinstance(Wasp().decide(replace(wide, rates=young), NOTHING)[0], Keep)
    busy = replace(wide, plan=chain(task_per_s=4_500.0))
    assert isinstance(Wasp().decide(busy, NOTHING)[0], Keep)  # two tasks would be 89 % busy


def test_a_stage_without_state_has_its_whole_plan_placed_anew() -> None:
    decided, _ = Wasp().decide(seen(chain("stateless", state_mb=0.0), thin=0.2 * MB), NOTHING)
    assert isinstance(decided, Replan) and decided.plan.name == "chain" and not decided.moves
    assert decided.deployed.tasks[2] == (0, 0, 1) and "the same plan placed anew" in decided.because


def test_what_cannot_be_split_is_re_planned_and_never_scaled() -> None:
    one = seen(chain(splittable=False), thin=0.2 * MB)
    decided, _ = Wasp().decide(one, NOTHING)
    assert isinstance(decided, Replan)
    decided, _ = ScaleOnly().decide(one, NOTHING)
    assert isinstance(decided, Reassign)


@pytest.mark.parametrize(
    ("kind", "state", "splittable", "ailment", "order"),
    [
        ("combine", 5.0, True, "network-bound", ("re-assign", "scale-out", "re-plan")),
        ("stateless", 0.0, True, "network-bound", ("re-plan", "re-assign", "scale-out")),
        ("combine", 5.0, False, "network-bound", ("re-plan", "re-assign")),
        ("combine", 5.0, True, "compute-bound", ("scale-up", "scale-out", "re-plan")),
        ("combine", 5.0, True, "over-allocated", ("scale-down",)),
    ],
)
def test_the_tree_of_fig_6(kind: str, state: float, splittable: bool, ailment: str, order: tuple[str, ...]) -> None:
    assert order_of(chain(kind, state, splittable).stage("mid"), ailment) == order


def test_what_has_to_be_at_a_site_is_never_moved_from_it() -> None:
    pinned = replace(chain().stage("mid"), site="s0")
    assert order_of(pinned, "network-bound") == ("re-plan",)
    assert order_of(pinned, "compute-bound") == ("scale-up", "re-plan")


def two_plans(window_ms: int) -> tuple[GeoPlan, GeoPlan]:
    """Joins of three sources in two orders; only (b, c) is in both."""
    sources = [Stage(n, "source", site=f"s{k}") for k, n in enumerate("abc")]

    def made(name: str, first: tuple[str, str], second: str) -> GeoPlan:
        inner = Stage("inner", "join", first, state_mb=5.0, window_ms=window_ms, selectivity=0.5)
        outer = Stage("outer", "join", ("inner", second), state_mb=5.0, window_ms=window_ms, selectivity=0.5)
        return plan_of(name, [*sources, inner, outer, Stage("sink", "sink", ("outer",), splittable=False)])

    return made("ab-c", ("a", "b"), "c"), made("bc-a", ("b", "c"), "a")


@pytest.mark.parametrize(("window_ms", "may"), [(0, False), (10_000, True)])
def test_a_plan_that_loses_state_is_taken_only_when_windows_end(window_ms: int, may: bool) -> None:
    now, other = two_plans(window_ms)
    where = area((2, 2, 2), 2 * MB)
    for source in ("s0", "s1"):  # a and b cannot meet at any one place, b and c can
        for target in ("s0", "s1", "s2"):
            if {source, target} == {"s0", "s1"} or (source, target) == ("s0", "s2"):
                where = with_link(where, source, target, 0.1 * MB)
    deployed = running(now, 3, inner={1: 1}, outer={1: 1}, sink={1: 1})
    rates = list(healthy(now, dict.fromkeys("abc", 4_000.0)))
    rates[3] = rate("inner", 5_000, emitted=2_500, waiting=90_000.0, strained_ms=90_000)
    one = view(where, now, deployed, rates, alternatives=(other,))
    decided, _ = ReplanOnly().decide(one, NOTHING)
    if isinstance(decided, Replan):
        assert may or decided.plan == now
        assert decided.at_window_end == (decided.plan == other)
    else:
        assert not may and "it loses state" in decided.because


def test_what_did_not_help_is_remembered_and_tried_last() -> None:
    late = ExpectedEffect("mid", 7_600.0, WallMs(NOW - 1))
    decided, memory = Wasp().decide(seen(thin=0.2 * MB), AdaptationMemory(Awaited("re-assign", late)))
    assert memory.in_vain == (("mid", "re-assign"),) and "did not: 6,000 rows/s" in memory.says
    assert not isinstance(decided, Reassign)
    _, after = Wasp().decide(seen(), AdaptationMemory(Awaited("re-assign", late), (("mid", "scale-out"),)))
    assert after.in_vain == () and after.says == "re-assign of mid did what was expected"


def test_a_change_is_not_judged_before_its_time() -> None:
    soon = AdaptationMemory(Awaited("re-assign", ExpectedEffect("mid", 7_600.0, WallMs(NOW + 1))))
    assert Wasp().decide(seen(), soon)[1].awaited == soon.awaited


def test_rows_are_dropped_last_and_only_if_allowed() -> None:
    lost = seen(thin=0.01 * MB)
    none = replace(lost.area, links=replace(lost.area.links, bandwidth=np.full((3, 3), 0.01 * MB)))
    hopeless = replace(lost, area=none)
    decided, _ = Wasp().decide(hopeless, NOTHING)
    assert isinstance(decided, Keep) and "re-assign: no 1 tasks elsewhere" in decided.because
    allowed, _ = Wasp().decide(replace(hopeless, may_degrade=True), NOTHING)
    assert isinstance(allowed, Degrade) and allowed.later_than_ms == 10_000 and "as was allowed" in allowed.because
    again, _ = Wasp().decide(replace(seen(), degrading=True), NOTHING)
    assert isinstance(again, Degrade) and again.later_than_ms is None


def test_a_budget_keeps_a_dear_site_out() -> None:
    one = seen(thin=0.2 * MB)
    price = one.area.links.usd_per_gb.copy()
    price[:, 2] = price[2, :] = 10.0
    dear = replace(one, area=replace(one.area, links=replace(one.area.links, usd_per_gb=price)))
    assert isinstance(Wasp().decide(dear, NOTHING)[0], Reassign)
    frugal, _ = Wasp(budget_usd_h=1.0).decide(dear, NOTHING)
    assert not isinstance(frugal, Reassign) or (frugal.expect is not None and frugal.expect.usd_h <= 1.0)


def test_baselines_do_what_their_names_say() -> None:
    one = seen(thin=0.2 * MB)
    assert isinstance(NoAdapt().decide(one, NOTHING)[0], Keep)
    assert isinstance(ReassignOnly().decide(one, NOTHING)[0], Reassign)
    assert isinstance(ReplanOnly().decide(one, NOTHING)[0], Replan)
    assert isinstance(ScaleOnly().decide(one, NOTHING)[0], Reassign)
    assert isinstance(DegradeOnly().decide(one, NOTHING)[0], Keep)
    assert isinstance(DegradeOnly().decide(replace(one, may_degrade=True), NOTHING)[0], Degrade)


def test_tasks_are_matched_so_that_the_slowest_state_arrives_soonest() -> None:
    stage = Stage("m", "combine", ("a",), state_mb=20.0, window_ms=10)
    table = np.array([[1, 1, 4, 1], [1, 1, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1]]) * MB
    where = replace(area((2, 2, 2, 2)), links=replace(area((2, 2, 2, 2)).links, bandwidth=table.astype(float)))
    moves = state_moves(stage, (1, 1, 0, 0), (0, 0, 1, 1), where)
    assert [(m.source, m.target, m.megabytes) for m in moves] == [("s0", "s2", 10.0), ("s1", "s3", 10.0)]
    assert takes_s(moves) == 10.0
    stays = state_moves(stage, (1, 1, 0, 0), (0, 1, 1, 0), where)
    assert [(m.source, m.target) for m in stays] == [("s0", "s2")]


def test_more_tasks_hold_smaller_parts_and_the_parts_come_over_several_links() -> None:
    stage = Stage("m", "combine", ("a",), state_mb=30.0, window_ms=10)
    moves = state_moves(stage, (1, 0, 0), (1, 1, 1), area((2, 2, 2)))
    assert sorted((m.target, m.megabytes) for m in moves) == [("s1", 10.0), ("s2", 10.0)] and takes_s(moves) == 10.0
    assert state_moves(stage, (1, 0, 0), (3, 0, 0), area((3, 2, 2))) == ()
    assert sum(m.megabytes for m in state_moves(stage, (1, 1, 1), (1, 1, 0), area((2, 2, 2)))) == pytest.approx(10.0)


@pytest.mark.parametrize(
    "setting", [{"alpha": 0.0}, {"p_max": 0}, {"t_max_s": -1.0}, {"goal": "speed"}, {"state_goes": "x"}]
)
def test_settings_that_cannot_be_are_refused(setting: dict[str, object]) -> None:
    from headway.errors import SettingError

    with pytest.raises(SettingError, match=rf"adaptation\.{next(iter(setting))}"):
        Wasp(**setting)  # type: ignore[arg-type]
