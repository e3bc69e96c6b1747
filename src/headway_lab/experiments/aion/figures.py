"""Figures of approximate answers, as the thesis draws them (Figs. 1.5 and 4.2 to 4.9)."""

from collections.abc import Sequence
from statistics import fmean

import numpy as np

from headway_lab.experiments.aion.paper import DRAWN, ERROR, POLICIES, WAITED_FOR
from headway_lab.experiments.aion.streams import SETTINGS, WORKLOADS
from headway_lab.experiments.simulator.figures import half_width
from headway_lab.harness.ledger import Record
from headway_lab.harness.report import Figure

# Okabe and Ito's colours, as in the report.
COLOURS = {"everything": "#999999", "aq-k-slack": "#E69F00", "aion-minus": "#56B4E9", "aion": "#D55E00"}
LINES = {"ysb": "#0072B2", "taxi": "#E69F00", "kmeans": "#009E73"}
NAMES = {"everything": "everything + K-slack", "aq-k-slack": "AQ-K-slack", "aion-minus": "Aion minus", "aion": "Aion"}
TITLES = {"ysb": "views counted (YSB)", "taxi": "mean distance of trips", "kmeans": "k-means"}
BARS = {"ysb": "4.2", "taxi": "4.5", "kmeans": "4.8a"}
CURVES = {"ysb": "4.3", "taxi": "4.6", "kmeans": "4.9"}
SHOWN_S = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)
PERCENTILES = np.arange(40, 100)  # as in the thesis


def aion(records: Sequence[Record]) -> list[Figure]:
    """All figures for which there are records; where there are several windows, of the shortest."""
    if not records:
        return []
    window_s = min(r["setting"]["window_s"] for r in records)
    records = [r for r in records if r["setting"]["window_s"] == window_s]
    runs = [r for r in records if r["policy"] in POLICIES]
    drawn = [r for r in runs if r["setting"]["setting"] == DRAWN and "latencies_ms" in r]
    out: list[Figure] = []
    for workload in WORKLOADS:
        of = [r for r in runs if r["setting"]["workload"] == workload]
        out += [_means(workload, of, window_s)] if of else []
    for workload in WORKLOADS:
        of = [r for r in drawn if r["setting"]["workload"] == workload]
        out += [_curves(workload, of)] if of else []
    stragglers = [r for r in records if r["policy"] == "stragglers"]
    return out + ([_errors(drawn)] if drawn else []) + ([_stragglers(stragglers)] if stragglers else [])


def _means(workload: str, records: Sequence[Record], window_s: int) -> Figure:
    import plotly.graph_objects as go

    rate = min(r["setting"]["rate"] for r in records)
    records = [r for r in records if r["setting"]["rate"] == rate]
    there = [s for s in SETTINGS if any(r["setting"]["setting"] == s for r in records)]
    drawn = go.Figure()
    for policy, of in _by_policy(records):
        values = [[r["mean_ms"] / 1000 for r in of if r["setting"]["setting"] == s] for s in there]
        bars = {"type": "data", "array": [half_width(v) for v in values], "thickness": 1}
        middle = [fmean(v) if v else None for v in values]
        words = ["" if m is None else f"{m:.2f}" for m in middle]
        drawn.add_bar(
            x=there, y=middle, error_y=bars, name=NAMES[policy], text=words, textposition="outside",
            marker={"color": COLOURS[policy]},
        )  # fmt: skip
    drawn.update_layout(barmode="group")
    drawn.update_yaxes(title="mean output latency, s", rangemode="tozero")
    how = f"{rate:,} events/s, windows of {window_s} s: how long after its end a window's answer came out."
    return f"Mean output latency, {TITLES[workload]} (Fig. {BARS[workload]})", how, drawn


def _curves(workload: str, records: Sequence[Record]) -> Figure:
    import plotly.graph_objects as go

    drawn = go.Figure()
    rates = sorted({r["setting"]["rate"] for r in records})
    for rate, dash in zip((rates[0], rates[-1]) if len(rates) > 1 else rates, ("solid", "dot"), strict=False):
        for policy, of in _by_policy([r for r in records if r["setting"]["rate"] == rate]):
            seconds = np.percentile([ms for r in of for ms in r["latencies_ms"]], PERCENTILES) / 1000
            line = {"color": COLOURS[policy], "dash": dash, "width": 3 if policy == "aion" else 2}
            drawn.add_scatter(x=seconds, y=PERCENTILES, name=f"{NAMES[policy]}, {rate:,}/s", mode="lines", line=line)
    # A policy that falls behind is a hundred times as late as one that does not.
    drawn.update_xaxes(
        title="output latency, s (log scale)", type="log", tickvals=SHOWN_S, ticktext=[f"{s:g}" for s in SHOWN_S]
    )
    drawn.update_yaxes(title="% of windows")
    how = (
        "Exponential delays, uneven gaps (EG), the windows of all seeds; dotted at the highest rate. Further left is better."
    )
    return f"Distribution of output latency, {TITLES[workload]} (Fig. {CURVES[workload]})", how, drawn


def _errors(records: Sequence[Record]) -> Figure:
    import plotly.graph_objects as go

    drawn = go.Figure()
    rate = max(r["setting"]["rate"] for r in records)
    for policy, of in _by_policy([r for r in records if r["setting"]["rate"] == rate]):
        pairs = [(TITLES[r["setting"]["workload"]], 100 * e) for r in of for e in r["errors"]]
        drawn.add_box(
            x=[title for title, _ in pairs], y=[error for _, error in pairs], name=NAMES[policy], boxpoints="outliers",
            boxmean=True, marker={"color": COLOURS[policy], "size": 4},
        )  # fmt: skip
    drawn.add_hline(y=100 * ERROR, line={"color": "#D00", "dash": "dash", "width": 1})
    drawn.update_layout(boxmode="group")
    drawn.update_yaxes(title="relative error, %", rangemode="tozero")
    how = (
        f"{rate:,} events/s, EG, each window of all seeds. Red: what was asked of 95 % of them. Dashes in the boxes: means."
    )
    return "Error of answers (Figs. 4.4, 4.7, 4.8b)", how, drawn


def _stragglers(records: Sequence[Record]) -> Figure:
    import plotly.graph_objects as go

    drawn = go.Figure()
    rate = min(r["setting"]["rate"] for r in records)
    records = [r for r in records if r["setting"]["rate"] == rate]
    for workload in WORKLOADS:
        of = [r["errors"] for r in records if r["setting"]["workload"] == workload]
        if of:
            each = [[100 * e[n] for e in of] for n in range(len(WAITED_FOR))]
            bars = {"type": "data", "array": [half_width(v) for v in each], "thickness": 1}
            line = {"color": LINES[workload]}
            drawn.add_scatter(
                x=[100 * share for share in WAITED_FOR], y=[fmean(v) for v in each], error_y=bars, name=TITLES[workload],
                mode="lines+markers", line=line,
            )  # fmt: skip
    drawn.update_xaxes(title="stragglers waited for, %")
    drawn.update_yaxes(title="mean relative error, %", range=[0, 100 * ERROR])
    how = "Aion's sample, taken when so many have come of the rows that are missing at the window's end. Flat: not worth it."
    return "What stragglers are worth (Fig. 1.5)", how, drawn


def _by_policy(records: Sequence[Record]) -> list[tuple[str, list[Record]]]:
    found = [(policy, [r for r in records if r["policy"] == policy]) for policy in POLICIES]
    return [(policy, of) for policy, of in found if of]
