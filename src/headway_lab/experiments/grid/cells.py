"""The grid: a dozen loads from idle to saturated, each measured beside the best that Spark does by itself (claim X5)."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from headway_lab.harness.ledger import Record
from headway_lab.harness.setting import Setting
from headway_lab.harness.suite import GATELESS, Segment, Spread, ratio_to_best

EXPERIMENT = "grid"
POLICIES = ("klink", *GATELESS)
# Queries and events per second of each: one query or eighty, a trickle or all that two cores can take.
POINTS = (
    (1, 100), (1, 10_000), (1, 200_000), (2, 1_000), (2, 50_000), (2, 200_000),
    (8, 1_000), (8, 10_000), (8, 50_000), (20, 200), (40, 200), (80, 100),
)  # fmt: skip


def cases(base: Setting, points: Iterable[tuple[int, int]] = POINTS) -> list[Setting]:
    return [replace(base, queries=queries, rate=rate) for queries, rate in points]


def rehearsal(base: Setting) -> list[Segment]:
    """Large batches, once under each kind of policy: the warm-up has small ones, and their code is not the same."""
    heavy = replace(base, queries=2, rate=200_000, seconds=15, settle=0)
    return [Segment((policy,), heavy, seed=0) for policy in ("klink", "stock-tuned", "stock", "klink")]


@dataclass(frozen=True, slots=True)
class GridCell:
    """One load: Klink's mean latency over that of the best rival, and which that was."""

    queries: int
    rate: int
    ratio: Spread
    best: str
    klink_ms: float
    best_ms: float


def cells(records: Iterable[Record]) -> list[GridCell]:
    """Loads at which Klink and a rival were measured with the same seeds."""
    loads: dict[tuple[int, int], dict[str, list[Record]]] = {}
    for record in records:
        at = record["setting"]["queries"], record["setting"]["rate"]
        loads.setdefault(at, {}).setdefault(record["policy"], []).append(record)
    out = []
    for (queries, rate), by_policy in sorted(loads.items()):
        if (ratio := ratio_to_best(by_policy, "mean_ms")) is not None:
            means = {name: Spread.of([r["mean_ms"] for r in of]).middle for name, of in by_policy.items()}
            best = min((name for name in means if name in GATELESS), key=means.__getitem__)
            out.append(GridCell(queries, rate, ratio, best, means["klink"], means[best]))
    return out


def figure(found: list[GridCell]) -> Any:
    """A heat map: green where Klink is faster than the best rival, red where it is slower."""
    from plotly import graph_objects

    rates, queries = sorted({c.rate for c in found}), sorted({c.queries for c in found})
    at = {(c.queries, c.rate): c for c in found}
    rows = [[at.get((q, r)) for r in rates] for q in queries]
    made = graph_objects.Figure(
        graph_objects.Heatmap(
            x=[f"{r:,}/s" for r in rates],
            y=[f"{q}" for q in queries],
            z=[[None if c is None else c.ratio.middle for c in row] for row in rows],
            text=[["" if c is None else _words(c) for c in row] for row in rows],
            texttemplate="%{text}",
            colorscale=[[0, "#1a7f4b"], [0.5, "#f7f7f7"], [1, "#b2182b"]],
            zmin=0,
            zmax=2,
            xgap=3,
            ygap=3,
            colorbar={"title": "Klink / best rival"},
        )
    )
    made.update_layout(xaxis_title="events per second and query", yaxis_title="queries", height=120 + 80 * len(queries))
    return made


def _words(cell: GridCell) -> str:
    return f"{cell.ratio.middle:.2f}<br>{cell.klink_ms:,.0f} : {cell.best_ms:,.0f} ms<br>{cell.best}"
