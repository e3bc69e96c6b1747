"""The laws that every adaptation policy obeys; adding one to the list is the whole registration."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.model.adaptation import (
    AdaptationDecision,
    AdaptationMemory,
    AdaptationPolicy,
    AreaView,
    Degrade,
    Keep,
    Reassign,
    Replan,
    StageRates,
)
from headway.model.time import WallMs
from headway.policy.adaptation import DegradeOnly, NoAdapt, ReassignOnly, ReplanOnly, ScaleOnly, Wasp
from headway.policy.adaptation.streams import streams_of
from model.areas import MB, NOW, area, deployments, healthy, trees, view

POLICIES: list[AdaptationPolicy] = [
    Wasp(),
    Wasp(goal="dollars", budget_usd_h=0.5),
    Wasp(alpha=1.0, p_max=1, t_max_s=0.0),
    ReassignOnly(),
    ReassignOnly(state_goes="distant"),
    ScaleOnly(),
    ReplanOnly(),
    DegradeOnly(),
    NoAdapt(),
]
every_adaptation_policy = pytest.mark.parametrize("policy", POLICIES, ids=repr)
few = settings(max_examples=max(5, settings().max_examples // 5), deadline=None)
NOTHING = AdaptationMemory()


@st.composite
def views(draw: st.DrawFn) -> AreaView:
    """Any pipeline on three sites, some of whose stages get less than is sent to them."""
    plan = draw(trees(3, windowed=draw(st.booleans())))
    table = np.array(draw(st.lists(st.floats(0.01, 4), min_size=9, max_size=9))).reshape(3, 3) * MB
    where = area(tuple(draw(st.lists(st.integers(1, 8), min_size=3, max_size=3))))
    where = replace(where, links=replace(where.links, bandwidth=table))
    sent = {s.name: draw(st.floats(50, 9_000)) for s in plan.stages if s.kind == "source"}
    rates = [lagging(rates, draw(st.sampled_from([1.0, 1.0, 0.6]))) for rates in healthy(plan, sent, calm_ms=100_000)]
    return view(where, plan, draw(deployments(plan)), rates, alternatives=(replace(plan, name="other"),))


def lagging(rates: StageRates, share: float) -> StageRates:
    if share == 1:
        return rates
    less = replace(rates, arrived=share * rates.arrived, processed=share * rates.processed, emitted=share * rates.emitted)
    return replace(less, waiting=30 * rates.arrived, strained_ms=60_000, calm_ms=0)


def changes(decided: AdaptationDecision) -> bool:
    return not isinstance(decided, Keep | Degrade)


@every_adaptation_policy
@few
@given(seen=views())
def test_the_same_view_and_memory_have_the_same_answer_with_a_reason(policy: AdaptationPolicy, seen: AreaView) -> None:
    decided, memory = policy.decide(seen, NOTHING)
    assert (decided, memory) == policy.decide(seen, NOTHING) and decided.because
    assert "\n" not in decided.because


@every_adaptation_policy
@few
@given(seen=views())
def test_what_is_decided_has_slots_and_tasks_and_leaves_alone_what_has_its_place(
    policy: AdaptationPolicy, seen: AreaView
) -> None:
    decided, _ = policy.decide(seen, NOTHING)
    if isinstance(decided, Keep | Degrade):
        assert decided.because
        return
    plan = decided.plan if isinstance(decided, Replan) else seen.plan
    table = decided.deployed.table
    streams = streams_of(seen) if plan == seen.plan else streams_of(seen).of(plan)
    before = streams_of(seen).taken(seen.deployed.table)  # a site may have had too many before
    assert (table.sum(axis=1) >= 1).all() and (streams.taken(table) <= np.maximum(seen.area.slots, before)).all()
    assert all(decided.deployed.sites(n) == (int(s.site[1:]),) for n, s in enumerate(plan.stages) if s.site is not None)
    assert all(sum(decided.deployed.tasks[n]) == 1 for n, s in enumerate(plan.stages) if not s.splittable and not s.free)
    assert decided.expect is not None and decided.expect.by >= seen.now and decided.expect.takes_s >= 0


@every_adaptation_policy
@few
@given(seen=views(), shift=st.integers(1, 10**9))
def test_another_time_changes_nothing_but_the_moment_of_the_judgement(
    policy: AdaptationPolicy, seen: AreaView, shift: int
) -> None:
    later = replace(seen, now=WallMs(seen.now + shift))
    decided, again = policy.decide(seen, NOTHING)[0], policy.decide(later, NOTHING)[0]
    assert type(decided) is type(again) and decided.because == again.because
    assert getattr(decided, "deployed", None) == getattr(again, "deployed", None)


@every_adaptation_policy
@few
@given(seen=views())
def test_nothing_is_decided_while_a_change_is_under_way_and_nothing_dropped_unasked(
    policy: AdaptationPolicy, seen: AreaView
) -> None:
    decided, _ = policy.decide(replace(seen, changing=True), NOTHING)
    assert isinstance(decided, Keep)
    free, _ = policy.decide(seen, NOTHING)
    assert not isinstance(free, Degrade)


@few
@given(seen=views())
def test_who_only_re_assigns_never_changes_a_number_of_tasks(seen: AreaView) -> None:
    decided, _ = ReassignOnly().decide(seen, NOTHING)
    assert not changes(decided) or isinstance(decided, Reassign)
    if isinstance(decided, Reassign):
        assert decided.deployed.table.sum(axis=1).tolist() == seen.deployed.table.sum(axis=1).tolist()
        assert decided.deployed != seen.deployed and seen.now == NOW
