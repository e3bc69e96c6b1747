"""The integer program: against every placement there is, its bound, its limits, and a part of it anew."""

from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.errors import HeadwayError
from headway.estimate.stream_rates import planned_rates
from headway.model.geo import Counts, Deployment
from headway.policy.adaptation import whole_program
from headway.policy.adaptation.first import first_placement
from headway.policy.adaptation.patterns import cheapest, pattern_costs
from headway.policy.adaptation.prices import priced
from headway.policy.adaptation.stage_program import Limits, StageTable, stage_program
from headway.policy.adaptation.streams import Streams
from headway.policy.adaptation.whole_program import (
    lower_bound,
    place_all,
    place_some,
    strained_stages,
)
from headway_lab.experiments.wan.program import exhaustive, random_streams
from model.areas import MB, area, chain, running, with_link

seeds = st.integers(0, 1_000_000)
few = settings(max_examples=max(10, settings().max_examples // 3), deadline=None)


def small(seed: int) -> tuple[Streams, dict[int, int]]:
    rng = np.random.default_rng(seed)
    streams = random_streams(int(rng.integers(2, 4)), int(rng.integers(1, 4)), rng, 2, float(rng.uniform(0.2, 3)))
    return streams, {p: int(rng.integers(1, 3)) for p, s in enumerate(streams.plan.stages) if s.free}


@few
@given(seed=seeds, goal=st.sampled_from(["delay", "dollars"]))
def test_no_placement_is_better_than_the_program_s(seed: int, goal: str) -> None:
    streams, tasks = small(seed)
    limits = Limits(goal=goal)  # type: ignore[arg-type]
    best, found = exhaustive(streams, tasks, limits), place_all(streams, tasks, limits)
    assert (best is None) == (found is None)
    if best is not None and found is not None:
        assert found.cost == pytest.approx(best.cost, rel=1e-6, abs=1e-9)
        assert found.bound is None or found.bound <= best.cost * (1 + 1e-6) + 1e-9


@few
@given(seed=seeds, share=st.floats(0.3, 1.5))
def test_a_budget_is_kept_and_the_best_within_it_is_found(seed: int, share: float) -> None:
    streams, tasks = small(seed)
    free = exhaustive(streams, tasks, Limits())
    limits = Limits(budget_usd_h=1e-9 + share * (streams.usd_h(free.deployed) if free else 1.0))
    best, found = exhaustive(streams, tasks, limits), place_all(streams, tasks, limits)
    assert (best is None) == (found is None)
    if best is not None and found is not None:
        assert found.cost == pytest.approx(best.cost, rel=1e-6, abs=1e-9)
        assert streams.usd_h(found.deployed) <= limits.budget_usd_h + 1e-5


@few
@given(seed=seeds)
def test_the_bounds_of_the_search_are_bounds_and_what_it_finds_fits(seed: int) -> None:
    streams, tasks = small(seed)
    limits = Limits()
    best = exhaustive(streams, tasks, limits)
    costs = pattern_costs(streams, tasks, limits)
    found = cheapest(costs)
    if best is None or found is None or not np.isfinite(found[0]):
        assert best is None or found is None or found[0] <= best.cost
        return
    raised = priced(streams, costs, limits, best.cost)
    assert max(found[0], raised.bound) <= best.cost * (1 + 1e-6) + 1e-6
    searched = whole_program._searched(streams, costs, tasks, limits, found[0])
    assert searched is None or (streams.fits(searched.deployed, 0.8 + 1e-9) and searched.cost >= best.cost - 1e-6)


@few
@given(seed=seeds, tasks=st.integers(1, 4))
def test_a_stage_goes_where_no_other_row_is_better(seed: int, tasks: int) -> None:
    streams, wanted = small(seed)
    found = place_all(streams, dict.fromkeys(wanted, 1), Limits())
    place = next(iter(wanted))
    table = StageTable.of(streams, (found.deployed if found else running_anywhere(streams)).table)
    program = stage_program(table, place, tasks, Limits())
    row = program.solve()
    rows = [r for r in product_rows(len(streams.area), tasks) if (r <= program.most).all()]
    rows = [r for r in rows if not len(program.rows) or (program.rows @ r <= program.limits + 1e-9).all()]
    assert (row is None) == (not rows)
    if row is not None:
        assert float(program.cost @ row) == pytest.approx(min(float(program.cost @ r) for r in rows))


def running_anywhere(streams: Streams) -> Deployment:
    names = streams.area.names
    at = [names.index(s.site) if s.site else 0 for s in streams.plan.stages]
    return Deployment.of([[int(site == k) for k in range(len(names))] for site in at])


def product_rows(sites: int, tasks: int) -> list[Counts]:
    return [np.bincount(c, minlength=sites) for c in combinations_with_replacement(range(sites), tasks)]


def streams_of_chain(bandwidth: float = MB, sent: float = 5_000.0, slots: tuple[int, ...] = (2, 2, 2)) -> Streams:
    plan = chain()
    return Streams(plan, area(slots, bandwidth), planned_rates(plan, {"a": sent, "b": sent}))


def test_both_ends_of_a_link_count_where_a_stage_is_at_both() -> None:
    """The task at s0 reads half of what b at s1 sends, and the one at s1 sends to the sink at s0: one link carries both."""
    streams = streams_of_chain(bandwidth=0.5 * MB, sent=5_000)
    deployed = running(streams.plan, 3, mid={0: 1, 1: 1})
    use = streams.use(deployed)
    assert use[1, 0] == pytest.approx(0.5 * 5_000 * 100 + 0.5 * 10_000 * 100)
    assert not streams.fits(deployed, 1.0) and streams.fits(running(streams.plan, 3, mid={0: 1}), 1.0 + 1e-9)


def test_where_nothing_is_short_a_proof_comes_with_the_placement() -> None:
    found = place_all(streams_of_chain(), {2: 1}, Limits())
    assert found is not None and found.gap == 0.0 and found.deployed.tasks[2] == (1, 0, 0)


def test_only_what_a_fallen_link_disturbs_is_placed_anew() -> None:
    streams = streams_of_chain()
    first = place_all(streams, {2: 1}, Limits())
    assert first is not None
    fallen = replace(streams, area=with_link(streams.area, "s1", "s0", 0.1 * MB))
    assert strained_stages(streams, first.deployed, Limits()) == ()
    assert strained_stages(fallen, first.deployed, Limits()) == (2,)
    again = place_some(fallen, first.deployed, (2,), Limits())
    assert again is None  # whatever the place, the sink at s0 or b at s1 needs that link or a wider detour
    wider = replace(streams, area=with_link(area((2, 2, 2), 4 * MB), "s1", "s0", 0.1 * MB))
    moved = place_some(wider, first.deployed, (2,), Limits())
    assert moved is not None and moved.deployed.tasks[2] == (0, 0, 1)
    bound = lower_bound(wider, {2: 1}, Limits())
    assert bound is not None and bound <= moved.cost


@pytest.mark.parametrize(
    ("slots", "bandwidth", "says"),
    [((0, 0, 0), MB, "needs 1 slots"), ((2, 2, 2), 1000.0, "a sends 0.50 MB/s, and the best link from s0")],
)
def test_what_fits_nowhere_is_told_in_one_line(slots: tuple[int, ...], bandwidth: float, says: str) -> None:
    with pytest.raises(HeadwayError, match="plan 'chain' fits nowhere") as told:
        first_placement(area(slots, bandwidth), (chain(),), {"a": 5_000.0, "b": 5_000.0}, Limits())
    assert "\n" not in str(told.value) and (says in str(told.value) or "slots" in str(told.value))


def test_large_areas_are_placed_within_a_known_gap() -> None:
    rng = np.random.default_rng(5)
    streams = random_streams(40, 12, rng)
    tasks = {p: 1 for p, s in enumerate(streams.plan.stages) if s.free}
    found = place_all(streams, tasks, Limits())
    assert found is not None and found.gap is not None and streams.fits(found.deployed, 0.8)
    assert found.gap < 1.0 and found.bound is not None and found.bound <= found.cost
