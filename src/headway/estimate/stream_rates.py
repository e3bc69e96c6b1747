"""Rates that every stage of a plan should have, from what its sources really send, and what flows where because of them.

What is observed under a bottleneck says what gets through, not what is wanted (Jonathan et al., section 3.3). So rates are
worked out from the sources onwards, with each stage's own ratio of rows out to rows in.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headway.model.adaptation import StageRates
from headway.model.arrays import Floats
from headway.model.geo import Counts, Deployment, GeoPlan, Stage

LEAST_SEEN = 10.0  # rows a second: a ratio of fewer says nothing, and that of the plan is taken


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedRates:
    """Rows a second by stage, in the order of the plan."""

    into: Floats
    out: Floats


def expected_rates(plan: GeoPlan, rates: Sequence[StageRates]) -> ExpectedRates:
    """Of a plan that runs: sources by what they send, stages by the ratio that was seen."""
    seen = {one.stage: one for one in rates}
    sent = {s.name: seen[s.name].emitted for s in plan.stages if s.kind == "source"}
    return planned_rates(plan, sent, {name: _ratio(plan.stage(name), one) for name, one in seen.items()})


def planned_rates(plan: GeoPlan, sent: Mapping[str, float], ratios: Mapping[str, float] | None = None) -> ExpectedRates:
    """The recursion: into a stage goes what all its inputs send; out of it, that times its ratio, up to its cap."""
    at = {stage.name: place for place, stage in enumerate(plan.stages)}
    into, out = np.zeros(len(at)), np.zeros(len(at))
    for place, stage in enumerate(plan.stages):
        if stage.kind == "source":
            into[place] = out[place] = sent[stage.name]
            continue
        into[place] = sum(out[at[name]] for name in stage.inputs)
        ratio = stage.selectivity if ratios is None else ratios.get(stage.name, stage.selectivity)
        out[place] = into[place] * ratio
        if stage.most_per_s is not None:
            out[place] = min(out[place], stage.most_per_s)
    return ExpectedRates(into, out)


def _ratio(stage: Stage, seen: StageRates) -> float:
    """Rows out by rows in, as seen. What comes out of an aggregate at its cap says nothing of more rows than there were."""
    if seen.processed < LEAST_SEEN or stage.most_per_s is not None:
        return stage.selectivity
    return seen.emitted / seen.processed


def shares(row: Sequence[int] | Counts) -> Floats:
    """Of a stage's stream that each site has: tasks there by all its tasks."""
    counts = np.asarray(row, dtype=float)
    total = counts.sum()
    return counts / total if total else counts


def edge_bytes(plan: GeoPlan, out: Floats, edge: tuple[int, int]) -> float:
    """Bytes a second that go from one stage to another."""
    return float(out[edge[0]] * plan.stages[edge[0]].row_bytes)


def link_use(plan: GeoPlan, deployed: Deployment, out: Floats, without: frozenset[int] = frozenset()) -> Floats:
    """Bytes a second from site to site, the diagonal included; `without`: edges of these stages do not count."""
    table = deployed.table
    parts = [shares(row) for row in table]
    use = np.zeros((table.shape[1], table.shape[1]))
    for above, below in plan.edges():
        if not without & {above, below}:
            use += edge_bytes(plan, out, (above, below)) * np.outer(parts[above], parts[below])
    return use


def network_ms(plan: GeoPlan, deployed: Deployment, latency_ms: Floats) -> float:
    """Over all edges, the mean latency of each: what Eq. 1 makes small, for the whole plan."""
    parts = [shares(row) for row in deployed.table]
    return float(sum(parts[above] @ latency_ms @ parts[below] for above, below in plan.edges()))


def path_ms(plan: GeoPlan, deployed: Deployment, latency_ms: Floats) -> float:
    """The longest way from a source to a sink, by the mean latency of each edge: how late the network makes results."""
    parts = [shares(row) for row in deployed.table]
    so_far = np.zeros(len(plan.stages))
    for above, below in plan.edges():  # stages come after their inputs, and so do edges
        edge = float(parts[above] @ latency_ms @ parts[below])
        so_far[below] = max(so_far[below], so_far[above] + edge)
    return float(so_far.max(initial=0.0))


def usd_an_hour(use: Floats, usd_per_gb: Floats) -> float:
    """What the bytes between sites cost; within a site they cost nothing."""
    crossing = use * usd_per_gb
    np.fill_diagonal(crossing, 0.0)
    return float(crossing.sum() * 3600 / 1e9)
