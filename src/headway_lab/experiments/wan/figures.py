"""Figures of the wide area, as the paper draws them (Figs. 8 to 14)."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from headway_lab.experiments.simulator.figures import half_width
from headway_lab.experiments.wan.cases import DOWN_S, FAILS_S, LINKS, RATES
from headway_lab.experiments.wan.run import ARMS
from headway_lab.harness.ledger import Record, newest_of_each
from headway_lab.harness.report import Figure

# Okabe and Ito's colours, as in the report.
COLOURS = {
    "no-adapt": "#999999",
    "degrade": "#E69F00",
    "re-assign": "#56B4E9",
    "re-plan": "#009E73",
    "scale": "#0072B2",
    "wasp": "#D55E00",
    "aware": "#D55E00",
    "random": "#56B4E9",
    "distant": "#009E73",
    "no-migrate": "#999999",
    "default": "#999999",
    "partitioned": "#D55E00",
}
DASHES = {
    "no-adapt": "dot",
    "degrade": "dash",
    "re-assign": "dashdot",
    "re-plan": "longdash",
    "no-migrate": "dot",
    "default": "dot",
}
PAPERS = {"bottlenecks": "Figs. 8 and 9", "techniques": "Fig. 10", "live": "Figs. 11 and 12", "state": "Fig. 13"}
STEP_S = 10
HOW = {
    "bottlenecks": "One seed. Rates are doubled from 5 to 10 minutes, links halved from 15 to 20.",
    "techniques": "One seed. Rates x {1, 2, 2, 1, 1}, links x {1, 1, 0.5, 0.5, 1}, five minutes each.",
    "live": "One seed. Rates and links follow real series; no site computes in the tenth minute.",
    "state": "One seed. Links into the site that holds 60 MB of state become thin at 140 s.",
}


def wan(records: Sequence[Record]) -> list[Figure]:
    """All figures for which there are records."""
    out: list[Figure] = []
    for scenario, paper in PAPERS.items():
        of = [r for r in records if r["setting"]["scenario"] == scenario]
        for query in dict.fromkeys(r["setting"]["query"] for r in of):
            lines = [r for r in of if r["setting"]["query"] == query and "delay_series" in r]
            if not lines:
                continue
            name, how = f"{query} ({paper})", HOW[scenario]
            out.append((f"Delay, {name}", how, over_time(lines, "delay", "seconds, of complete results", 1e-3, log=True)))
            out.append(
                (
                    f"Processing ratio, {name}",
                    how + " Of the stage that is furthest behind.",
                    over_time(lines, "ratio", "processed / wanted", 1.0),
                )
            )
            if scenario in ("techniques", "live"):
                out.append((f"Slots in use, {name}", how, over_time(lines, "slots", "slots", 1.0)))
                out.append((f"Distribution of delay, {name}", how, distribution(lines)))
    return out + bars(records) + by_state(records)


def over_time(records: Sequence[Record], field: str, unit: str, factor: float, log: bool = False) -> Any:
    import plotly.graph_objects as go

    drawn = go.Figure()
    for record in newest_of_each(records, ARMS):
        series = [value * factor for value in record[f"{field}_series"]]
        drawn.add_scatter(
            x=[(n + 0.5) * STEP_S / 60 for n in range(len(series))], y=series, name=record["policy"], mode="lines",
            line=line(record["policy"]),
        )  # fmt: skip
    scenario = records[0]["setting"]["scenario"]
    marks = [5.0 * n for n in range(1, 5)] if scenario in RATES or scenario in LINKS else []
    marks += [FAILS_S / 60, (FAILS_S + DOWN_S) / 60] if scenario == "live" else []
    for minute in marks:
        drawn.add_vline(x=minute, line={"color": "#BBB", "width": 1})
    drawn.update_xaxes(title="minutes")
    drawn.update_yaxes(title=unit, **({"type": "log"} if log else {"rangemode": "tozero"}))
    return drawn


def distribution(records: Sequence[Record]) -> Any:
    import plotly.graph_objects as go

    drawn = go.Figure()
    for record in newest_of_each(records, ARMS):
        series = record["cdf_series"]
        drawn.add_scatter(
            x=[ms / 1000 for ms in series], y=[(n + 0.5) / len(series) for n in range(len(series))],
            name=record["policy"], mode="lines", line=line(record["policy"]),
        )  # fmt: skip
    drawn.update_xaxes(title="delay, seconds", type="log")
    drawn.update_yaxes(title="share of the results", range=[0, 1.02])
    return drawn


def bars(records: Sequence[Record]) -> list[Figure]:
    """What moving state costs, by where it goes: Fig. 13b."""
    import plotly.graph_objects as go

    of = [r for r in records if r["setting"]["scenario"] == "state" and "overhead_s" in r]
    if not of:
        return []
    drawn = go.Figure()
    arms = [arm for arm in ARMS if any(r["policy"] == arm for r in of)]
    for field, name, colour in (
        ("transition_s", "standing still", "#0072B2"),
        ("stabilising_s", "catching up", "#E69F00"),
    ):
        values = [[r[field] for r in of if r["policy"] == arm] for arm in arms]
        drawn.add_bar(
            x=arms, y=[fmean(v) for v in values], name=name, marker={"color": colour},
            error_y={"type": "data", "array": [half_width(v) for v in values], "thickness": 1},
        )  # fmt: skip
    drawn.update_layout(barmode="stack")
    drawn.update_yaxes(title="seconds")
    return [("What it costs to move 60 MB of state (Fig. 13b)", "Means over seeds with 95 % intervals.", drawn)]


def by_state(records: Sequence[Record]) -> list[Figure]:
    """Whole and in parts, by how much state there is: Fig. 14."""
    import plotly.graph_objects as go

    of = [r for r in records if r["setting"]["scenario"] == "partition" and "overhead_s" in r]
    out: list[Figure] = []
    for field, unit, factor in (
        ("p95_ms", "95th percentile of delay, seconds", 1e-3),
        ("overhead_s", "seconds of overhead", 1.0),
    ):
        drawn = go.Figure()
        for arm in ("default", "partitioned"):
            sizes = sorted({r["setting"]["state_mb"] for r in of})
            values = [
                [r[field] * factor for r in of if (r["policy"], r["setting"]["state_mb"]) == (arm, mb)] for mb in sizes
            ]
            kept = [(mb, v) for mb, v in zip(sizes, values, strict=True) if v]
            drawn.add_scatter(
                x=[mb for mb, _ in kept], y=[fmean(v) for _, v in kept], name=arm, mode="lines+markers", line=line(arm),
                error_y={"type": "data", "array": [half_width(v) for _, v in kept], "thickness": 1},
            )  # fmt: skip
        drawn.update_xaxes(title="MB of state")
        drawn.update_yaxes(title=unit, rangemode="tozero")
        if of:
            out.append((f"State in parts: {unit} (Fig. 14)", "Means over seeds with 95 % intervals.", drawn))
    return out


def line(arm: str) -> dict[str, Any]:
    wide = COLOURS[arm] == "#D55E00"
    return {"color": COLOURS[arm], "width": 3 if wide else 2, "dash": DASHES.get(arm, "solid")}
