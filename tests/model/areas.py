"""Areas, plans and views, small ones and generated ones."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from headway.model.adaptation import AreaView, StageRates
from headway.model.area import LOCAL, Area, Links, Site
from headway.model.arrays import Floats
from headway.model.geo import Deployment, GeoPlan, Stage
from headway.model.time import WallMs
from headway.wan.plan import plan_of

NOW = WallMs(1_000_000)
MB = 1e6


def links(bandwidth: Floats | float, sites: int, latency_ms: float = 50.0, usd: float = 0.05) -> Links:
    """The same everywhere, unless bandwidth is a table."""
    table = np.full((sites, sites), bandwidth, dtype=float)
    latency = np.full((sites, sites), latency_ms)
    np.fill_diagonal(table, LOCAL)
    np.fill_diagonal(latency, 0.0)
    return Links(latency, table, np.full((sites, sites), usd), np.zeros((sites, sites)))


def area(slots: Sequence[int] = (2, 2, 2), bandwidth: Floats | float = MB) -> Area:
    names = [f"s{n}" for n in range(len(slots))]
    return Area(tuple(Site(n, k) for n, k in zip(names, slots, strict=True)), links(bandwidth, len(slots)))


def with_link(seen: Area, source: str, target: str, bandwidth: float) -> Area:
    table = seen.links.bandwidth.copy()
    table[seen.names.index(source), seen.names.index(target)] = bandwidth
    return replace(seen, links=replace(seen.links, bandwidth=table))


def chain(
    kind: str = "combine",
    state_mb: float = 10.0,
    splittable: bool = True,
    task_per_s: float = 50_000.0,
    window_ms: int = 1000,
) -> GeoPlan:
    """Two sources, a stage that brings them together, a sink at the first site."""
    middle = Stage(
        "mid", kind, ("a", "b"), state_mb=state_mb, splittable=splittable, task_per_s=task_per_s,  # type: ignore[arg-type]
        window_ms=window_ms if kind == "combine" else 0,
    )  # fmt: skip
    last = Stage("sink", "sink", ("mid",), site="s0", splittable=False)
    sources = (Stage("a", "source", site="s0"), Stage("b", "source", site="s1"))
    return plan_of("chain", (*sources, middle, last))


def running(plan: GeoPlan, sites: int, **where: Mapping[int, int]) -> Deployment:
    """Stages at the sites that are given, with so many tasks; those whose place is fixed are there."""
    rows = []
    for stage in plan.stages:
        at = {int(stage.site[1:]): 1} if stage.site is not None else where[stage.name]
        rows.append([at.get(site, 0) for site in range(sites)])
    return Deployment.of(rows)


def rate(
    stage: str, arrived: float, processed: float | None = None, emitted: float | None = None, **more: float
) -> StageRates:
    done = arrived if processed is None else processed
    other = {name: int(value) if name.endswith("_ms") else value for name, value in more.items()}
    return StageRates(stage, arrived, done, done if emitted is None else emitted, **other)  # type: ignore[arg-type]


def healthy(plan: GeoPlan, sent: Mapping[str, float], **more: float) -> tuple[StageRates, ...]:
    """Every stage processes what is sent to it."""
    out: dict[str, StageRates] = {}
    for stage in plan.stages:
        rows = sent.get(stage.name) or sum(out[name].emitted for name in stage.inputs)
        out[stage.name] = rate(stage.name, rows, emitted=rows * (1 if stage.kind == "source" else stage.selectivity), **more)
    return tuple(out.values())


def view(seen: Area, plan: GeoPlan, deployed: Deployment, rates: Sequence[StageRates], **more: object) -> AreaView:
    return AreaView(NOW, "p", seen, plan, deployed, tuple(rates), **more)  # type: ignore[arg-type]


@st.composite
def trees(draw: st.DrawFn, most_sources: int = 4, windowed: bool = True) -> GeoPlan:
    """Sources at sites, brought together in any order."""
    n = draw(st.integers(1, most_sources))
    stages = [Stage(f"in{k}", "source", site=f"s{draw(st.integers(0, 2))}") for k in range(n)]
    tips = []
    for source in list(stages):
        if windowed and draw(st.booleans()):
            part = Stage(f"part-{source.name}", "partial", (source.name,), site=source.site, window_ms=100, state_mb=1.0)
            stages.append(replace(part, splittable=False, most_per_s=draw(st.sampled_from([None, 40.0]))))
            tips.append(part.name)
        else:
            tips.append(source.name)
    number = 0
    while len(tips) > 1 or number == 0:
        size = draw(st.integers(min(2, len(tips)), len(tips)))
        inputs = tuple(tips[:size])
        kind = "combine" if windowed else "stateless"
        stages.append(
            Stage(f"mid{number}", kind, inputs, window_ms=100 if windowed else 0, state_mb=5.0 if windowed else 0.0)  # type: ignore[arg-type]
        )  # fmt: skip
        tips = [*tips[size:], f"mid{number}"]
        number += 1
    stages.append(Stage("sink", "sink", tuple(tips), splittable=False))
    return plan_of("tree", stages)


@st.composite
def deployments(draw: st.DrawFn, plan: GeoPlan, sites: int = 3, most: int = 3) -> Deployment:
    """Any sites, any number of tasks."""
    rows = []
    for stage in plan.stages:
        row = [0] * sites
        if stage.site is not None:
            row[int(stage.site[1:])] = 1
        else:
            for _ in range(draw(st.integers(1, most)) if stage.splittable else 1):
                row[draw(st.integers(0, sites - 1))] += 1
        rows.append(row)
    return Deployment.of(rows)
