"""Bytes and dollars over the wide area: with partial aggregation against without, and two queries apart against together."""

from dataclasses import replace
from typing import Any

from headway.estimate.stream_rates import planned_rates
from headway.model.area import Area
from headway.model.geo import GeoPlan
from headway.policy.adaptation.first import first_placement
from headway.policy.adaptation.stage_program import Limits
from headway.policy.adaptation.streams import Streams
from headway.wan.plan import logical_plans, merged
from headway_lab.experiments.wan import queries
from headway_lab.workloads import wide_area

EXPERIMENT = "wan-sharing"
LOOSE = Limits(alpha=1e6)  # whatever the links carry: bytes are compared, not whether they fit


def compared(query: str, seed: int) -> dict[str, dict[str, Any]]:
    """By arm: plain, partial, two queries apart and together, and the cheapest placement beside the fastest."""
    area = wide_area.area_of(seed)
    raw = queries.raw_rates(query)
    plain = logical_plans(queries.query(query, partial=False))[0]
    found: dict[str, tuple[GeoPlan, ...]] = {"plain": (plain,)}
    if query != queries.EVENTS:
        partial = next(p for p in logical_plans(queries.query(query, partial=True)) if "-partial-" in p.name)
        found["partial"] = (partial,)
    else:
        partial = plain
    second = _second(partial)
    found["apart"] = (partial, second)
    found["shared"] = (merged("both", (partial, second)),)
    sent = {name: rate * plain.stage(name).selectivity for name, rate in raw.items()}
    out = {arm: _taken(area, plans, sent, LOOSE) for arm, plans in found.items()}
    out["plain-dollars"] = _taken(area, found["plain"], sent, replace(LOOSE, goal="dollars"))
    return out


def _second(plan: GeoPlan) -> GeoPlan:
    """Another query over the same windows: its last stage reads the same and keeps less."""
    last = plan.stages[-2]
    own = replace(last, most_per_s=None if last.most_per_s is None else last.most_per_s / 10)
    return GeoPlan(f"{plan.name}-second", (*plan.stages[:-2], own, plan.stages[-1]))


def _taken(area: Area, plans: tuple[GeoPlan, ...], sent: dict[str, float], limits: Limits) -> dict[str, Any]:
    total = {"wan_gb": 0.0, "usd_h": 0.0, "tasks": 0.0}
    slowest = 0.0
    for plan in plans:
        _, made = first_placement(area, (plan,), sent, limits)
        streams = Streams(plan, area, planned_rates(plan, sent))
        total["wan_gb"] += float(streams.use(made.deployed).sum()) * 3600 / 1e9
        total["usd_h"] += streams.usd_h(made.deployed)
        total["tasks"] += float(streams.taken(made.deployed.table).sum())
        slowest = max(slowest, streams.network_ms(made.deployed) / len(plan.edges()))
    return {name: round(value, 4) for name, value in total.items()} | {"edge_ms": round(slowest, 2)}
