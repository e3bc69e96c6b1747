"""The settings of the paper's experiments (sections 8.4 to 8.7): what changes when, on which query."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from headway.errors import SettingError
from headway.estimate.stream_rates import planned_rates
from headway.model.area import Area
from headway.model.arrays import Floats
from headway.model.geo import Deployment, GeoPlan
from headway.policy.adaptation.first import first_placement
from headway.policy.adaptation.stage_program import Limits
from headway.policy.adaptation.streams import Streams
from headway.sim.wan.truth import AreaTruth
from headway.wan.plan import logical_plans
from headway_lab.experiments.wan import queries
from headway_lab.workloads import wide_area

SCENARIOS = ("bottlenecks", "techniques", "live", "state", "partition")
MINUTES = {"bottlenecks": 25, "techniques": 25, "live": 30, "state": 15, "partition": 20}
INTERVAL_S = 300  # how long one setting of the paper lasts
RATES = {"bottlenecks": (1, 2, 1, 1, 1), "techniques": (1, 2, 2, 1, 1)}
LINKS = {"bottlenecks": (1, 1, 1, 0.5, 1), "techniques": (1, 1, 0.5, 0.5, 1)}
FAILS_S, DOWN_S = 540, 60
THIN_S, THIN = 140, 0.4  # when the links to where the state is become thin, and how thin
SMALL = 1e-3  # of a row's bytes: where only latency decides


@dataclass(frozen=True, slots=True)
class WanCase:
    """One experiment."""

    scenario: str = "bottlenecks"
    query: str = queries.TOPICS
    minutes: int = 25
    fill: float = 0.6  # of the busiest link, at first
    state_mb: float | None = None  # as the query has it unless told

    def __post_init__(self) -> None:
        if self.scenario not in SCENARIOS:
            raise SettingError("scenario", self.scenario, f"one of {', '.join(SCENARIOS)}")
        if self.minutes < 1 or not 0 < self.fill < 1:
            raise SettingError("minutes", self.minutes, "1 or more, and a fill between 0 and 1")

    @property
    def steps(self) -> int:
        return self.minutes * 60


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """What a run begins with."""

    truth: AreaTruth
    plans: tuple[GeoPlan, ...]  # the first runs at first
    deployed: Deployment


def scene(case: WanCase, seed: int) -> Scene:
    """The area and traces of a seed, the query's plans, and where the first is placed."""
    area = wide_area.area_of(seed)
    query = queries.query(case.query, case.state_mb)
    at = {name: place for place, name in enumerate(area.names)}

    def apart(one: str, other: str) -> float:
        return float(area.links.latency_ms[at[one], at[other]])

    plans = logical_plans(query, apart)
    raw = queries.raw_rates(case.query)
    sent = {name: rate * plans[0].stage(name).selectivity for name, rate in raw.items()}
    first, deployed, factor = _filled(area, plans, sent, case.fill)
    scaled = tuple(_sized(plan, factor) for plan in (first, *(p for p in plans if p.name != first.name)))
    return Scene(_truth(case, seed, area, scaled[0], deployed, sent), scaled, deployed)


def setting(case: WanCase) -> dict[str, Any]:
    return asdict(case)


def _filled(
    area: Area, plans: tuple[GeoPlan, ...], sent: dict[str, float], fill: float
) -> tuple[GeoPlan, Deployment, float]:
    """The placement with the least delay, and how large rows have to be so that its busiest link is as full as told."""
    plan, placed = first_placement(area, [_sized(p, SMALL) for p in plans], sent, Limits())
    small = Streams(plan, area, planned_rates(plan, sent))
    busiest = float(small.fill(placed.deployed).max())
    whole = next(p for p in plans if p.name == plan.name)
    return whole, placed.deployed, SMALL * fill / busiest


def _sized(plan: GeoPlan, factor: float) -> GeoPlan:
    return replace(plan, stages=tuple(replace(s, row_bytes=s.row_bytes * factor) for s in plan.stages))


def _truth(case: WanCase, seed: int, area: Area, plan: GeoPlan, deployed: Deployment, sent: dict[str, float]) -> AreaTruth:
    steps, m = case.steps, len(area)
    up = np.ones((steps, m), dtype=bool)
    rate: Floats = np.ones((steps, len(sent)))
    link: Floats = np.ones((steps, m, m))
    if case.scenario in RATES:
        rate *= _by_interval(RATES[case.scenario], steps)[:, None]
        link *= _by_interval(LINKS[case.scenario], steps)[:, None, None]
    elif case.scenario == "live":
        rate = wide_area.rate_factors(seed, len(sent), steps, 1_000)
        link = wide_area.link_factors(seed, m, steps, 1_000)
        up[FAILS_S : FAILS_S + DOWN_S] = False
    else:  # the links into the site with the state become thin, those that leave it do not
        for place, stage in enumerate(plan.stages):
            if stage.kind == "combine":
                for site in deployed.sites(place):
                    link[THIN_S:, :, site] = THIN
    return AreaTruth(area, tuple(sent), np.array(list(sent.values())), link, rate, up)


def _by_interval(factors: tuple[float, ...], steps: int) -> Floats:
    return np.array([factors[min(step // INTERVAL_S, len(factors) - 1)] for step in range(steps)], dtype=float)
