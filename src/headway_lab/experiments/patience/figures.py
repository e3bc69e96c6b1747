"""Figures of patience: what windows of the same stream waited under each policy, and what each of them lost."""

from collections.abc import Mapping
from typing import Any

from headway_lab.experiments.patience.run import Waited
from headway_lab.harness.report import Figure

# Okabe and Ito's colours, as in the report.
COLOURS = {"fixed": "#999999", "max-delay": "#D55E00", "quantile": "#009E73", "slack-gate": "#0072B2"}


def patience(found: Mapping[tuple[str, int, str], Waited]) -> list[Figure]:
    """One figure over time for each stream, at its shortest window, and one of what it cost."""
    shortest = min(length for _, length, _ in found)
    streams = dict.fromkeys(stream for stream, _, _ in found)
    out: list[Figure] = []
    for stream in streams:
        of = {name: waited for (s, length, name), waited in found.items() if s == stream and length == shortest}
        out.append(
            (
                f"Wait of every window, {stream}",
                f"Windows of {shortest} ms: how long after its end each was closed. Crosses: rows came later still.",
                _over_time(of),
            )
        )
    out.append(
        (
            "Wait and loss",
            "Each point is a stream and a length of window: further left waits less, further down loses less.",
            _trade(found),
        )
    )
    return out


def _over_time(of: Mapping[str, Waited]) -> Any:
    import plotly.graph_objects as go

    drawn = go.Figure()
    for name, waited in of.items():
        at = (waited.ends - waited.ends[0]) / 1000
        colour = COLOURS[name]
        drawn.add_scatter(x=at, y=waited.waits_ms / 1000, mode="lines", name=name, line={"color": colour, "width": 1.5})
        lost = waited.late_by_window > 0
        drawn.add_scatter(
            x=at[lost], y=waited.waits_ms[lost] / 1000, mode="markers", showlegend=False, hoverinfo="skip",
            marker={"color": colour, "symbol": "x-thin", "size": 8, "line": {"width": 2, "color": colour}},
        )  # fmt: skip
    return _labelled(drawn, "since the first window, s", "wait, s")


def _trade(found: Mapping[tuple[str, int, str], Waited]) -> Any:
    import plotly.graph_objects as go

    drawn = go.Figure()
    for name, colour in COLOURS.items():
        mine = [(key, waited) for key, waited in found.items() if key[2] == name]
        drawn.add_scatter(
            x=[w.median_ms / 1000 for _, w in mine],
            y=[100 * w.late_share for _, w in mine],
            text=[f"{stream}, {length} ms" for (stream, length, _), _ in mine],
            mode="markers", name=name, marker={"color": colour, "size": 10},
        )  # fmt: skip
    return _labelled(drawn, "median wait, s", "late rows, %")


def _labelled(drawn: Any, x: str, y: str) -> Any:
    drawn.update_layout(template="plotly_white", height=420, margin={"t": 20, "r": 20}, xaxis_title=x, yaxis_title=y)
    drawn.update_yaxes(rangemode="tozero")
    return drawn
