"""Figures of what was simulated, redrawn as the paper draws them."""

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, stdev
from typing import Any

import numpy as np
from scipy.stats import t as student

from headway_lab.experiments.simulator import paper as experiments
from headway_lab.experiments.simulator.calibrate import Point
from headway_lab.harness.ledger import Record
from headway_lab.harness.report import Figure, colour, look
from headway_lab.harness.suite import QUANTILES

# What the paper's figure 6a shows at 80 queries, in seconds; for the eye, not for any computation.
PAPER_AT_80 = {
    "default": 15.0,
    "first-come": 15.5,
    "round-robin": 13.5,
    "highest-rate": 12.8,
    "streambox": 13.5,
    "klink": 7.3,
}


def half_width(values: Sequence[float], confidence: float = 0.95) -> float:
    """Half of the interval that holds the mean with this confidence, by Student's t; 0 of a single value."""
    if len(values) < 2:
        return 0.0
    return float(student.ppf(0.5 + confidence / 2, len(values) - 1)) * stdev(values) / sqrt(len(values))


def interval_words(values: Sequence[float]) -> str:
    if not values:
        return ""
    half = half_width(values)
    return f"{fmean(values):.2f} ± {half:.2f}" if half >= 0.005 else f"{fmean(values):.2f}"


def point(record: Record) -> str:
    s = record["setting"]
    parts = [
        s["workload"] if s["workload"] != "ysb" else "",
        f"{s['queries']}",
        f"{s['nodes']} nodes" if s["nodes"] > 1 else "",
    ]
    return " ".join(filter(None, [*parts, "zipf" if s["delay"].startswith("zipf") else ""]))


def paper(records: Sequence[Record]) -> list[Figure]:
    """All figures for which there are records."""
    uniform = [r for r in records if r["setting"]["delay"].startswith("uniform")]
    by_workload = {w: [r for r in uniform if r["setting"]["workload"] == w] for w in ("ysb", "linear-road", "taxi")}
    single = [r for r in by_workload["ysb"] if r["setting"]["nodes"] == 1]
    out = _by_queries(single) if single else []
    for queries in (60, 80):
        if rows := [r for r in single if r["setting"]["queries"] == queries]:
            out += _of_one_load(rows, queries)
    for workload, number in (("linear-road", "7a"), ("taxi", "7b")):
        if of := by_workload[workload]:
            drawn = _lines(of, "queries", "mean_ms", "queries", "mean output latency, s", 1000)
            out.append((f"{workload}: mean output latency (Fig. {number})", "One node.", drawn))
    many = [r for r in by_workload["ysb"] if r["setting"]["queries"] == 80]
    if len({r["setting"]["nodes"] for r in many}) > 1:
        drawn = _lines(many, "nodes", "mean_ms", "nodes", "mean output latency, s", 1000)
        out.append(("80 queries on 1 to 8 nodes (Fig. 6e)", "Operators of a query lie on successive nodes.", drawn))
    return out


def _by_queries(single: Sequence[Record]) -> list[Figure]:
    """Figures over the number of queries, on one node."""
    return [
        (
            "Mean output latency against the number of queries (paper: Fig. 6a)",
            "Yahoo benchmark, one node of 24 cores, 10,000 events/s a query. Hollow marks: what the paper shows at 80.",
            _lines(single, "queries", "mean_ms", "queries", "mean output latency, s", 1000, PAPER_AT_80),
        ),
        (
            "Slowdown (Fig. 6c)",
            "Mean output latency over the time one event takes through an idle chain.",
            _lines(single, "queries", "slowdown", "queries", "slowdown"),
        ),
        (
            "Throughput (Fig. 6d)",
            "Events processed a second, counted at every operator.",
            _lines(single, "queries", "events_per_s", "queries", "million events/s", 1e6),
        ),
        (
            "Memory against the number of queries (Fig. 9a)",
            "Share of the bound that queued events take, mean over time.",
            _lines(single, "queries", "memory", "queries", "share of the bound"),
        ),
    ]


def _of_one_load(rows: Sequence[Record], queries: int) -> list[Figure]:
    """Distribution and course of runs with so many queries."""
    memory = _series(rows, "memory_series", "share of the bound")
    cores = _series(rows, "cpu_series", "share of the cores")
    return [
        (f"Distribution of output latency at {queries} queries (Fig. 6b)", "Three seeds.", _cdf(rows)),
        (f"Memory over time at {queries} queries (Fig. 8)", "One seed.", memory),
        (f"Cores over time at {queries} queries (Fig. 8)", "One seed.", cores),
    ]


def ladder(records: Sequence[Record]) -> list[Figure]:
    """Latency beside the least possible, one figure per load, and what a decision takes."""
    out: list[Figure] = []
    kinds = dict.fromkeys((r["setting"]["load"], r["setting"].get("unequal", 0.0)) for r in records)
    for load, unequal in kinds:
        of = [r for r in records if (r["setting"]["load"], r["setting"].get("unequal", 0.0)) == (load, unequal)]
        costs = f"costs differ by {unequal:.0%} from query to query" if unequal else "all queries cost the same"
        drawn = _rungs(of, "mean_ms", "mean output latency, ms")
        least = sorted({r["setting"]["queries"]: r["least_ms"] for r in of}.items())
        x, y = zip(*least, strict=True)
        drawn.add_scatter(x=x, y=y, name="least possible", mode="lines", line={"color": "#333", "dash": "dot", "width": 2})
        how = (
            f"As many cores as make them busy {load:.0%} of the time, {costs}. No schedule, clairvoyant or not, is below the"
        )
        out.append(("Ten to ten thousand queries", f"{how} dotted line.", drawn))
    if records:
        how = (
            "Wall time of one decision of the live controller, whatever the load; the promise is 5 ms at a thousand queries."
        )
        out.append(("What a decision takes", how, _rungs(records, "decide_us", "microseconds a decision")))
    return out


def _rungs(records: Sequence[Record], field: str, y: str) -> Any:
    import plotly.graph_objects as go

    drawn = go.Figure()
    for n, policy in enumerate(dict.fromkeys(r["policy"] for r in records)):
        of = [r for r in records if r["policy"] == policy]
        sizes = sorted({r["setting"]["queries"] for r in of})
        middle = [float(np.median([r[field] for r in of if r["setting"]["queries"] == size])) for size in sizes]
        drawn.add_scatter(x=sizes, y=middle, name=policy, mode="lines+markers", **look(policy, n))
    drawn.update_xaxes(title="queries", type="log")
    drawn.update_yaxes(title=y, type="log")
    return drawn


def _lines(
    records: Sequence[Record], by: str, field: str, x: str, y: str, scale: float = 1.0, marks: dict[str, float] | None = None
) -> Any:
    """One line per policy with the interval of its mean."""
    import plotly.graph_objects as go

    drawn = go.Figure()
    for n, order in enumerate(experiments.ORDERS):
        of = [r for r in records if r["policy"] == order]
        places = sorted({r["setting"][by] for r in of})
        values = [[r[field] / scale for r in of if r["setting"][by] == p] for p in places]
        if places:
            bars = {"type": "data", "array": [half_width(v) for v in values], "thickness": 1}
            drawn.add_scatter(
                x=places, y=[fmean(v) for v in values], error_y=bars, name=order, mode="lines+markers", **look(order, n),
            )  # fmt: skip
            if marks and order in marks:
                symbol = {"symbol": "circle-open", "color": colour(order), "size": 11}
                drawn.add_scatter(
                    x=[80], y=[marks[order]], mode="markers", marker=symbol, showlegend=False, name=f"{order}, paper"
                )
    drawn.update_xaxes(title=x)
    drawn.update_yaxes(title=y, rangemode="tozero")
    return drawn


def _cdf(records: Sequence[Record]) -> Any:
    import plotly.graph_objects as go

    drawn = go.Figure()
    for n, order in enumerate(experiments.ORDERS):
        of = [r["quantiles_ms"] for r in records if r["policy"] == order and "quantiles_ms" in r]
        if of:
            seconds = np.median(np.array(of), axis=0) / 1000
            drawn.add_scatter(
                x=seconds,
                y=QUANTILES,
                name=order,
                mode="lines",
                line=look(order, n)["line"],
            )
    drawn.update_xaxes(title="output latency, s", rangemode="tozero")
    drawn.update_yaxes(title="% of windows")
    return drawn


def _series(records: Sequence[Record], field: str, y: str) -> Any:
    import plotly.graph_objects as go

    drawn = go.Figure()
    for order in ("default", "klink-no-memory", "klink"):
        of = next((r for r in records if r["policy"] == order and field in r), None)
        if of is not None:
            minutes = np.linspace(1, of["setting"]["minutes"], len(of[field]))
            drawn.add_scatter(x=minutes, y=of[field], name=order, mode="lines", line={"color": colour(order)})
    drawn.update_xaxes(title="minutes")
    drawn.update_yaxes(title=y, range=[0, 1.05])
    return drawn


def calibration(points: Sequence[Point]) -> Figure:
    """Predicted against live; on the diagonal they agree, between the dotted lines they differ by at most 15 %."""
    import plotly.graph_objects as go

    drawn = go.Figure()
    for policy in dict.fromkeys(p.policy for p in points):
        for fitted in (True, False):
            of = [p for p in points if p.policy == policy and p.fitted == fitted]
            if of:
                words = [f"{p.queries} x {p.rate}/s" for p in of]
                symbol = {
                    "symbol": "circle-open" if fitted else "circle",
                    "size": 11,
                    "color": colour(policy),
                }
                drawn.add_scatter(
                    x=[p.live["mean_ms"] for p in of], y=[p.predicted["mean_ms"] for p in of], text=words, mode="markers",
                    marker=symbol, name=f"{policy}, {'fitted' if fitted else 'held back'}",
                )  # fmt: skip
    ends = [min(p.live["mean_ms"] for p in points) * 0.7, max(p.live["mean_ms"] for p in points) * 1.4]
    for factor, dash in ((1.0, "solid"), (1.15, "dot"), (0.85, "dot")):
        drawn.add_scatter(
            x=ends,
            y=[e * factor for e in ends],
            mode="lines",
            line={"color": "#999", "dash": dash, "width": 1},
            showlegend=False,
        )
    drawn.update_xaxes(title="mean output latency, live, ms", type="log")
    drawn.update_yaxes(title="predicted, ms", type="log")
    return "Predicted against live", "Each point is a setting; hollow ones were fitted, full ones held back.", drawn
