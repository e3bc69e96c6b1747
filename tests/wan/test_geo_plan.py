"""Geo plans: what a query stands for, and one line on what is wrong."""

from dataclasses import replace

import pytest

from headway.errors import SettingError
from headway.model.geo import Stage
from headway.wan.plan import (
    FilterRows,
    GeoQuery,
    GeoSource,
    MapRows,
    WindowAggregate,
    WindowedJoin,
    logical_plans,
    merged,
    plan_of,
    pushed,
)

COUNT = WindowAggregate(10_000, keys=500, row_bytes=40, state_mb=50, by=("country",))
A, B = Stage("a", "source", site="s0"), Stage("b", "source", site="s1")
SINK = Stage("sink", "sink", ("mid",))
MID = Stage("mid", "combine", ("a", "b"), window_ms=1000, state_mb=5)


def query(n: int = 3, **more: object) -> GeoQuery:
    sources = tuple(GeoSource(f"in{k}", f"s{k}", 100.0) for k in range(n))
    return GeoQuery("q", sources, **{"last": COUNT, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("stages", "says"),
    [
        ((A, replace(MID, inputs=("a", "two")), Stage("two", "stateless", ("mid",)), SINK), "mid -> two -> mid"),
        ((A, replace(B, site="s9"), MID, SINK), "expected one of s0, s1"),
        ((A, replace(B, site=None), MID, SINK), "the site where its rows come into being"),
        ((A, B, replace(MID, window_ms=0), SINK), "without one it never knows that its inputs are complete"),
        ((A, replace(B, progress=False), MID, SINK), "no window ends while one of them says nothing of its progress"),
        ((A, B, replace(MID, inputs=("a", "c")), SINK), "expected one of a, b, mid, sink"),
        ((A, B, replace(MID, inputs=("a",)), SINK), "what is not read need not be made"),
        ((A, A, MID, SINK), "each name once"),
        ((A, B, Stage("c", "stateless"), replace(MID, inputs=("a", "b", "c")), SINK), "only sources have none"),
        ((A, B, MID, SINK, Stage("more", "sink", ("sink",))), "no stage behind a sink"),
        ((A, B, replace(MID, task_per_s=0.0), SINK), "more than 0"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(stages: tuple[Stage, ...], says: str) -> None:
    with pytest.raises(SettingError, match=says) as told:
        plan_of("p", stages, ("s0", "s1"))
    assert "\n" not in str(told.value) and str(told.value).startswith("p.")


def test_stages_are_put_in_order_and_know_what_is_in_them() -> None:
    plan = plan_of("p", (SINK, MID, B, A))
    assert plan.names == ("b", "a", "mid", "sink") and plan.stage("mid").covers == ("a", "b")
    assert plan.edges() == [(1, 2), (0, 2), (2, 3)]


def test_filters_go_towards_the_sources_unless_they_read_what_was_made_on_the_way() -> None:
    steps = (MapRows(50, makes=("topic",)), FilterRows(0.5, reads=("country",)), FilterRows(0.1, reads=("topic",)))
    assert pushed(query(steps=steps)).steps == (steps[1], steps[0], steps[2])
    after = (FilterRows(0.2, reads=("country",)), FilterRows(0.3, reads=("count",)))
    both = pushed(query(steps=steps[:1], after=after))
    assert both.steps == (after[0], steps[0]) and both.after == (after[1],)


def test_what_sources_send_is_what_the_fused_steps_leave() -> None:
    plan = logical_plans(query(steps=(FilterRows(0.5), MapRows(30), FilterRows(0.5))))[0]
    assert (plan.stage("in0").selectivity, plan.stage("in0").row_bytes) == (0.25, 30)


def test_every_order_of_few_sources_is_tried_with_and_without_partial_aggregation() -> None:
    plans = logical_plans(query(3))
    assert len(plans) == 2 * 4 and len({p.name for p in plans}) == 8  # all at once, and three pairings
    partial = [p for p in plans if "-partial-" in p.name]
    assert all({"part-in0", "part-in1", "part-in2"} <= set(p.names) for p in partial) and len(partial) == 4
    assert {p.stage("combine-all").covers for p in plans} == {("in0", "in1", "in2")}
    assert len(logical_plans(query(4, last=replace(COUNT, partial=False)))) == 1 + 15


def test_many_sources_are_grouped_with_those_that_are_near() -> None:
    plans = logical_plans(query(8, last=replace(COUNT, partial=False)), lambda a, b: abs(int(a[1:]) - int(b[1:])))
    assert len(plans) == 4
    assert plans[1].stage("combine-in0+in1").inputs == ("in0", "in1") and len(plans[1].stages) == 8 + 4 + 1 + 1


def test_joins_are_ordered_too_and_a_median_is_not_aggregated_in_parts() -> None:
    joined = logical_plans(query(4, last=WindowedJoin(0, 0.5, 80, 20)))
    assert len(joined) == 16 and joined[0].stage("join-all").kind == "join"
    assert not any("partial" in p.name for p in logical_plans(query(3, last=replace(COUNT, partial=False))))


def test_a_query_without_state_has_one_plan() -> None:
    (plan,) = logical_plans(query(2, last=None, steps=(FilterRows(0.1),)))
    assert plan.names == ("in0", "in1", "union", "sink") and not any(s.stateful for s in plan.stages)


def test_two_plans_with_a_common_sub_plan_share_its_state() -> None:
    plans = {p.names: p for p in logical_plans(query(4, last=WindowedJoin(0, 0.5, 80, 20)))}
    first = next(p for p in plans.values() if {"join-in0+in1", "join-in2+in3"} <= set(p.names))
    second = next(p for p in plans.values() if {"join-in2+in3", "join-in1+in2+in3"} <= set(p.names))
    assert first.shares_state_with(second) == {"join-in2+in3", "join-all"}


def test_queries_with_the_same_prefix_have_it_once() -> None:
    one, two = logical_plans(query(3))[0], logical_plans(query(3, last=replace(COUNT, keys=9)))[0]
    both = merged("both", (one, two))
    assert len(both.stages) == 3 + 2 + 2 and sum(s.kind == "sink" for s in both.stages) == 2
    same = merged("same", (one, replace(one, name="again")))
    assert [s.name for s in same.stages if s.kind == "combine"] == ["combine-all"] and len(same.stages) == 3 + 1 + 2


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: FilterRows(1.5), "filter.keep"), (lambda: MapRows(0), "map.row_bytes"),
        (lambda: replace(COUNT, keys=0), "aggregate.keys"), (lambda: WindowedJoin(-1, 1, 1, 1), "join.window_ms"),
        (lambda: GeoSource("", "s0"), "source.site"), (lambda: query(0), "query.sources"),
        (lambda: merged("m", ()), "one plan or more"),
    ],
)  # fmt: skip
def test_values_that_cannot_be_are_refused(made: object, says: str) -> None:
    with pytest.raises(SettingError, match=says):
        made()  # type: ignore[operator]
