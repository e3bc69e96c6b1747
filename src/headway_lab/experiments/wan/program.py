"""What the integer program costs, and how good its answers are: random areas and plans, large ones and small ones."""

from itertools import product
from time import process_time
from typing import Any

import numpy as np

from headway.estimate.stream_rates import planned_rates
from headway.model.area import LOCAL, Area, Links, Site
from headway.model.geo import Deployment, Stage
from headway.policy.adaptation.patterns import patterns_of
from headway.policy.adaptation.stage_program import Limits
from headway.policy.adaptation.streams import Streams, pinned
from headway.policy.adaptation.whole_program import (
    AreaPlacement,
    goal_of,
    lower_bound,
    place_all,
    place_some,
    strained_stages,
)
from headway.wan.plan import plan_of

EXPERIMENT = "wan-program"
SIZES = ((16, 20), (200, 20))  # sites, stages that may be placed
SOURCES = 8
CASES = 20  # areas of one seed
SMALL = 200
FILL = 0.5  # of a link of middling bandwidth that one source fills
DROP = 0.25  # to which a link falls, for a partial solution


def random_streams(sites: int, stages: int, rng: np.random.Generator, sources: int = SOURCES, fill: float = FILL) -> Streams:
    """An area with links that differ by a hundred times, and a tree of stages that brings the sources together."""
    bandwidth = 10 ** rng.uniform(5.5, 7.5, (sites, sites))
    np.fill_diagonal(bandwidth, LOCAL)
    latency = rng.uniform(5, 300, (sites, sites))
    np.fill_diagonal(latency, 0.0)
    usd = rng.choice([0.01, 0.02, 0.05, 0.09, 0.15], (sites, sites))
    names = [f"s{n:03}" for n in range(sites)]
    area = Area(
        tuple(Site(name, int(rng.integers(2, 9))) for name in names), Links(latency, bandwidth, usd, np.zeros_like(usd))
    )  # fmt: skip
    made = [Stage(f"in{n}", "source", site=names[int(rng.integers(sites))], row_bytes=100.0) for n in range(sources)]
    tips = [stage.name for stage in made]
    for n in range(stages - 1):
        some = min(len(tips), int(rng.integers(1, 4)))
        inputs = tuple(tips.pop(int(rng.integers(len(tips)))) for _ in range(some))
        made.append(Stage(f"op{n}", "stateless", inputs, selectivity=float(rng.uniform(0.3, 1.0)), state_mb=10.0))
        tips.append(f"op{n}")
    made.append(Stage("sink", "sink", tuple(tips)))
    plan = plan_of("random", made, names)
    rate = fill * 0.8 * float(np.median(bandwidth)) / 100.0
    sent = {stage.name: rate * float(rng.uniform(0.2, 1.0)) for stage in made[:sources]}
    return Streams(plan, area, planned_rates(plan, sent))


def timed(sites: int, stages: int, seed: int) -> dict[str, Any]:
    """The whole anew, and a part of it after the links in use have changed."""
    rng = np.random.default_rng([seed, sites])
    limits = Limits()
    whole: list[float] = []
    part: list[float] = []
    gaps: list[float] = []
    part_gaps: list[float] = []
    none = 0
    compared(seed, 12)  # what is loaded at first is no part of it
    for _ in range(CASES):
        streams = random_streams(sites, stages, rng)
        tasks = {p: 1 for p, stage in enumerate(streams.plan.stages) if stage.free}
        began = process_time()
        found = place_all(streams, tasks, limits)
        whole.append(process_time() - began)
        if found is None:
            none += 1
            continue
        gaps.append(found.gap if found.gap is not None else 1.0)
        changed = _fallen(streams, found, rng)
        began = process_time()
        stages_ = strained_stages(changed, found.deployed, limits) or (max(tasks),)
        again = place_some(changed, found.deployed, stages_, limits)
        part.append(process_time() - began)
        if again is not None:
            bound = lower_bound(changed, tasks, limits)
            part_gaps.append((again.cost - bound) / max(bound, 1e-9) if bound is not None else 1.0)
    return {
        "solve_ms": round(1000 * float(np.median(whole)), 2),
        "solve_max_ms": round(1000 * max(whole), 2),
        "part_ms": round(1000 * float(np.median(part)), 2) if part else 0.0,
        "part_max_ms": round(1000 * max(part), 2) if part else 0.0,
        "gap_mean": round(float(np.mean(gaps)), 5) if gaps else 1.0,
        "gap_max": round(max(gaps), 5) if gaps else 1.0,
        "part_gap_mean": round(float(np.mean(part_gaps)), 5) if part_gaps else 1.0,
        "proved": round(float(np.mean([gap < 1e-6 for gap in gaps])), 4) if gaps else 0.0,
        "unplaced": none,
        "cases": CASES,
    }


def _fallen(streams: Streams, found: AreaPlacement, rng: np.random.Generator) -> Streams:
    """One of the fullest links has a quarter of its bandwidth."""
    fill = streams.fill(found.deployed)
    order = np.argsort(fill, axis=None)[::-1]
    a, b = np.unravel_index(order[int(rng.integers(3))], fill.shape)
    links = streams.area.links
    bandwidth = links.bandwidth.copy()
    bandwidth[a, b] *= DROP
    area = Area(streams.area.sites, Links(links.latency_ms, bandwidth, links.usd_per_gb, links.age_ms))
    return Streams(streams.plan, area, streams.rates)


def compared(seed: int, cases: int = SMALL) -> dict[str, Any]:
    """Small cases against every placement there is, for both goals and with a budget."""
    rng = np.random.default_rng([seed, 3])
    wrong = fitted = missed = 0
    for n in range(cases):
        streams = random_streams(int(rng.integers(2, 4)), int(rng.integers(1, 4)), rng, 2, float(rng.uniform(0.2, 3)))
        tasks = {p: int(rng.integers(1, 3)) for p, s in enumerate(streams.plan.stages) if s.free}
        limits = Limits(goal="dollars" if n % 4 == 1 else "delay")
        if n % 4 == 2 and (free := exhaustive(streams, tasks, limits)) is not None:
            limits = Limits(budget_usd_h=streams.usd_h(free.deployed) * float(rng.uniform(0.5, 1.5)))
        best, found = exhaustive(streams, tasks, limits), place_all(streams, tasks, limits)
        if best is None:
            wrong += found is not None
            continue
        fitted += 1
        if found is None:
            missed += 1
        elif found.cost > best.cost * (1 + 1e-6) + 1e-9:
            wrong += 1
    return {"wrong": wrong + missed, "fitted": fitted, "cases": cases}


def exhaustive(streams: Streams, tasks: dict[int, int], limits: Limits) -> AreaPlacement | None:
    """The best of all placements, by trying each."""
    base = pinned(streams.plan, streams.area)
    slots = streams.area.slots.astype(np.int64)
    best: AreaPlacement | None = None
    for rows in product(*(patterns_of(n, slots).counts for n in tasks.values())):
        table = base.copy()
        for place, row in zip(tasks, rows, strict=True):
            table[place] = row
        made = Deployment.of(table)
        if streams.fits(made, limits.alpha, limits.budget_usd_h):
            cost = goal_of(streams, made, limits)
            if best is None or cost < best.cost:
                best = AreaPlacement(made, cost, cost)
    return best
