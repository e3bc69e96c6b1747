"""Figures of thresholds over time, as the paper draws them (Figs. 12 and 13), and the models' errors (Table 1)."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from headway_lab.experiments.simulator.figures import half_width
from headway_lab.experiments.slack.paper import COMM_MS, SCENARIOS
from headway_lab.harness.ledger import Record
from headway_lab.harness.report import Figure

# Okabe and Ito's colours, as in the report.
COLOURS = {
    "static-low": "#0072B2",
    "static-high": "#56B4E9",
    "max-timestamp": "#E69F00",
    "tcp": "#999999",
    "static-deadline": "#000000",
    "static-split": "#CC79A7",
    "sltuner": "#009E73",
}
TITLES = {"periodic": "periodic delay (Fig. 12)", "growing": "growing delay (Fig. 13)", "chain": "two operators in a row"}


def slack(records: Sequence[Record]) -> list[Figure]:
    """All figures for which there are records."""
    out: list[Figure] = []
    for name in SCENARIOS:
        of = {r["policy"]: r for r in records if r["setting"]["scenario"] == name and "slt_series" in r}
        if of:
            out += _scenario(name, {p: of[p] for p in COLOURS if p in of})
    models = [r for r in records if r["setting"]["scenario"] == "models"]
    if models:
        out.append(_models(models))
    return out


def _scenario(name: str, of: Mapping[str, Record]) -> list[Figure]:
    title, deadline = TITLES[name], SCENARIOS[name].deadline_ms / 1000
    extra = COMM_MS if name == "chain" else 0.0
    latency = {p: (_sum(r["latency_series"]) + extra) / 1000 for p, r in of.items()}
    slts = {
        f"{p}, {o}" if len(r["slt_series"]) > 1 else p: np.array(series) / 1000
        for p, r in of.items()
        for o, series in r["slt_series"].items()
        if len(r["slt_series"]) == 1 or p == "sltuner"
    }
    most = max(float(values.max()) for p, values in latency.items())
    return [
        (
            f"Latency, {title}",
            "The longest of each second, of tuples read and of those that still wait. Dashed: the deadline. One seed.",
            _lines(latency, "latency, s", deadline=deadline),
        ),
        (
            f"Slack thresholds, {title}",
            "A tuple waits no longer than this for those before it.",
            _lines(slts, "threshold, s", deadline=deadline, top=max(1.3 * most, 1.5 * deadline)),
        ),
        (
            f"Slack-ready tuples, {title}",
            "Read before it was certain that nothing older would come; all since the beginning.",
            _lines({p: np.cumsum(_sum(r["slack_series"])) / 1000 for p, r in of.items()}, "thousands of tuples"),
        ),
        (
            f"Detected events, {title}",
            "Congestion found by the join, all since the beginning.",
            _lines({p: np.cumsum(r["event_series"]) / 1000 for p, r in of.items()}, "thousands of events"),
        ),
    ]


def _sum(series: Mapping[str, Sequence[float]]) -> Any:
    return np.sum([np.array(values, dtype=np.float64) for values in series.values()], axis=0)


def _lines(values: Mapping[str, Any], y: str, deadline: float | None = None, top: float | None = None) -> Any:
    import plotly.graph_objects as go

    drawn = go.Figure()
    for name, series in values.items():
        policy, _, operator = name.partition(", ")
        line = {"color": COLOURS[policy], "width": 3 if policy == "sltuner" else 1.5}
        if operator == "alarm" or policy in ("static-deadline", "static-split"):
            line["dash"] = "dot"
        drawn.add_scatter(x=np.arange(1, len(series) + 1), y=np.round(series, 3), name=name, mode="lines", line=line)
    if deadline is not None:
        drawn.add_hline(y=deadline, line={"color": "#D00", "dash": "dash", "width": 1})
    drawn.update_xaxes(title="seconds")
    drawn.update_yaxes(title=y, rangemode="tozero")
    if top is not None:
        drawn.update_yaxes(range=[0, min(top, 1.05 * max((float(np.max(s)) for s in values.values()), default=top))])
    return drawn


def _models(records: Sequence[Record]) -> Figure:
    import plotly.graph_objects as go

    drawn = go.Figure()
    kinds = list(dict.fromkeys(r["policy"] for r in records))
    for field, name, colour in (
        ("latency_nrmse", "latency", "#009E73"),
        ("slack_ready_nrmse", "slack-ready tuples", "#E69F00"),
    ):
        values = [[100 * r[field] for r in records if r["policy"] == kind] for kind in kinds]
        bars = {"type": "data", "array": [half_width(v) for v in values]}
        drawn.add_bar(x=kinds, y=[fmean(v) for v in values], name=name, error_y=bars, marker={"color": colour})
    drawn.update_yaxes(title="error, % of the range")
    how = "Root mean squared error on periods that the model has not seen, over the range. Whiskers: 95 % of the mean."
    return "What the models miss (Table 1)", how, drawn
