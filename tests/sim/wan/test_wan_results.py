"""The rows themselves: results are those of one site, for every plan, placement, order and crash."""

from collections import Counter
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from headway.model.geo import GeoPlan, Stage
from headway.sim.wan.results import Event, GeoTask, ProgressMark, WindowPart, played
from headway.wan.plan import GeoQuery, GeoSource, WindowAggregate, logical_plans
from model.areas import deployments, trees

events = st.lists(st.builds(Event, st.integers(0, 499), st.sampled_from(["x", "y", "z"])), max_size=15)


def at_one_site(sent: dict[str, list[Event]], window_ms: int) -> dict[tuple[int, str], int]:
    return dict(Counter((event.at // window_ms, event.key) for rows in sent.values() for event in rows))


@settings(max_examples=60, deadline=None)
@given(data=st.data(), plan=trees(), seed=st.integers(0, 99), crashes=st.integers(0, 4))
def test_every_plan_and_placement_counts_as_one_site_does(
    data: st.DataObject, plan: GeoPlan, seed: int, crashes: int
) -> None:
    sent = {s.name: data.draw(events) for s in plan.stages if s.kind == "source"}
    found = played(plan, data.draw(deployments(plan)), sent, Random(seed), crashes)
    assert found == at_one_site(sent, 100)


@settings(max_examples=20, deadline=None)
@given(data=st.data(), seed=st.integers(0, 99))
def test_all_logical_plans_of_a_query_have_the_same_results(data: st.DataObject, seed: int) -> None:
    sources = tuple(GeoSource(f"in{k}", f"s{k}") for k in range(3))
    query = GeoQuery("q", sources, last=WindowAggregate(100, keys=3, row_bytes=10, state_mb=1))
    sent = {source.name: data.draw(events) for source in sources}
    plans = logical_plans(query)
    wanted = at_one_site(sent, 100)
    assert len(plans) == 8
    for plan in plans:
        assert played(plan, data.draw(deployments(plan)), sent, Random(seed), crashes=2) == wanted


def test_a_window_is_said_when_all_senders_have_come_past_its_end_and_to_say_it_twice_changes_nothing() -> None:
    stage = Stage("mid", "combine", ("a", "b"), window_ms=100)
    topics: dict[str, list] = {"a": [WindowPart("a", 0, "x", 3), ProgressMark("a", 100)], "b": []}  # type: ignore[type-arg]
    task = GeoTask(stage, "mid@0", ("a", "b"), topics)
    assert task.run(9) == []
    topics["a"] += [WindowPart("a", 0, "x", 3)]  # again, after a crash of its sender
    topics["b"] += [WindowPart("b", 0, "x", 2), ProgressMark("b", 150)]
    said = task.run(9)
    assert said == [WindowPart("mid@0", 0, "x", 5), ProgressMark("mid@0", 100)]
    task.crash()
    assert task.run(9) == said
