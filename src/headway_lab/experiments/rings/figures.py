"""Forecasts drawn beside what came, and errors by how far they look ahead."""

from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np

from headway.model.arrays import Floats
from headway_lab.experiments.rings.run import HORIZONS, RINGS, Trial, rings_forecast
from headway_lab.harness.ledger import Record
from headway_lab.harness.report import Figure

# Okabe and Ito's colours, as in the report.
COLOURS = {RINGS: "#009E73", "auto-ets": "#0072B2", "naive-seasonal": "#E69F00", "moving-average": "#999999"}


def rings(records: Sequence[Record], drawn: Mapping[str, tuple[Trial, int]]) -> list[Figure]:
    """Errors of each kind of series, and some forecasts: of a series, made at a step."""
    kinds = list(dict.fromkeys(r["setting"]["data"] for r in records))
    return [
        *(_forecast(title, one, origin) for title, (one, origin) in drawn.items()),
        *(_errors(kind, [r for r in records if r["setting"]["data"] == kind]) for kind in kinds),
    ]


def _forecast(title: str, one: Trial, origin: int) -> Figure:
    import plotly.graph_objects as go

    at, said = forecast_lines(one, origin)
    before = max(0, origin - one.ahead)
    chart = go.Figure()
    seen = one.values[before : origin + one.ahead]
    steps = np.arange(before, before + len(seen)) - origin
    chart.add_scatter(x=steps, y=seen, name="actual", mode="lines", line={"color": "#BBB"})
    chart.add_scatter(x=at, y=said, name="ring", mode="lines", line={"color": COLOURS[RINGS], "width": 3, "shape": "hv"})
    chart.update_xaxes(title=f"steps of {one.series.step_ms / 1000:g} s")
    chart.update_yaxes(title="rate", rangemode="tozero")
    return f"Forecast, {title}", "The windows of a ring, forecast at step 0, and what came. One series, one moment.", chart


def forecast_lines(one: Trial, origin: int) -> tuple[Floats, Floats]:
    """Where each window begins, in steps after the forecast, and what was forecast for it."""
    starts = one.shape.starts_ms / one.series.step_ms
    return np.append(starts, one.ahead), np.append(said := rings_forecast(one, origin), said[-1])


def _errors(kind: str, records: Sequence[Record]) -> Figure:
    import plotly.graph_objects as go

    chart = go.Figure()
    for method, colour in COLOURS.items():
        of = [r for r in records if r["policy"] == method]
        values = [[100 * r["error"] for r in of if r["setting"]["horizon"] == horizon] for horizon in HORIZONS]
        if all(values):
            chart.add_bar(x=list(HORIZONS), y=[fmean(v) for v in values], name=method, marker={"color": colour})
    chart.update_yaxes(title="error, % of the mean rate")
    how = "Mean absolute miss of the windows of each of the three rings; mean over series and seeds."
    return f"Errors, {kind}", how, chart


def averages(records: Sequence[Record], field: str) -> dict[tuple[str, str, str], float]:
    """By kind of series, horizon and method: the mean over seeds."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for r in records:
        found.setdefault((r["setting"]["data"], r["setting"]["horizon"], r["policy"]), []).append(r[field])
    return {key: fmean(values) for key, values in found.items()}
