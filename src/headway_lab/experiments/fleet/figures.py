"""Figures of the fleet, as the paper draws them (Figs. 7 to 13)."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from headway_lab.experiments.fleet.cases import BEGINS_MIN
from headway_lab.experiments.fleet.run import ABLATIONS, AMPLIFIERS, ARMS, BASELINES
from headway_lab.experiments.simulator.figures import half_width
from headway_lab.harness.ledger import Record, newest_of_each
from headway_lab.harness.report import Figure

# Okabe and Ito's colours, as in the report.
COLOURS = {
    "never-move": "#999999",
    "near-ideal": "#333333",
    "best-beside": "#A39A00",
    "random": "#CC79A7",
    "round-robin": "#E69F00",
    "least-loaded": "#56B4E9",
    "prediction-rings": "#D55E00",
    "rings-published": "#0072B2",
    "published-steep": "#56B4E9",
    "multiplied-all-rings": "#CC79A7",
    "added-innermost": "#E69F00",
    "added-steep": "#009E73",
    "rings-n2": "#999999",
    "rings-n4": "#E69F00",
    "rings-n5": "#56B4E9",
    "rings-n6": "#009E73",
}
DASHES = {"never-move": "dot", "near-ideal": "dash", "best-beside": "dashdot"}
MAIN = (*BASELINES, "prediction-rings", "rings-published")
TOLD_APART = ("never-move", "near-ideal", "rings-published", *ABLATIONS, "prediction-rings")
WHERE = {
    ("internal", "variable"): "internal interference, variable rates",
    ("internal", "fixed"): "internal interference, fixed rates",
    ("external", "fixed"): "external interference",
}
PAPERS = {("internal", "variable"): "Fig. 7", ("internal", "fixed"): "Fig. 9", ("external", "fixed"): "Fig. 11"}
OVER_TIME = {
    "throughput": ("throughput", "million messages a second", 1e-6),
    "p99_ms": ("99th percentile of latency", "ms", 1.0),
    "sd_ms": ("standard deviation of latency", "ms", 1.0),
}


def fleet(records: Sequence[Record]) -> list[Figure]:
    """All figures for which there are records."""
    out: list[Figure] = []
    for where, words in WHERE.items():
        of = [r for r in records if (r["setting"]["scenario"], r["setting"]["rates"]) == where]
        drawn = [r for r in of if "throughput_series" in r]
        for field, (what, unit, factor) in OVER_TIME.items():
            lines = [r for r in drawn if r["policy"] in MAIN]
            if lines:
                heading = f"{what.capitalize()}, {words} ({PAPERS[where]})"
                how = f"One seed; the disturbance begins {BEGINS_MIN} minutes into the run, at 0 here."
                out.append((heading, how, over_time(lines, field, unit, factor, log=field != "throughput")))
        if of:
            out.append(relative(of, words))
    return out + amplifiers(records) + told_apart(records) + balance(records)


def over_time(records: Sequence[Record], field: str, unit: str, factor: float, log: bool = False) -> Any:
    import plotly.graph_objects as go

    drawn = go.Figure()
    for record in newest_of_each(records, ARMS):
        series = [value * factor for value in record[f"{field}_series"]]
        drawn.add_scatter(
            x=[minute + 1 - BEGINS_MIN for minute in range(len(series))], y=series, name=record["policy"], mode="lines",
            line=line(record["policy"]),
        )  # fmt: skip
    drawn.add_vline(x=0, line={"color": "#BBB", "width": 1})
    drawn.update_xaxes(title="minutes since the disturbance")
    drawn.update_yaxes(title=unit, **({"type": "log"} if log else {"rangemode": "tozero"}))
    return drawn


def relative(records: Sequence[Record], words: str) -> Figure:
    """Throughput and latency in the end, over those of never moving: Tables 2 and 4."""
    import plotly.graph_objects as go

    drawn = go.Figure()
    never = {(str(r["setting"]), r["seed"]): r for r in records if r["policy"] == "never-move"}
    fields = {"throughput": "throughput", "p99_ms": "99th percentile", "sd_ms": "standard deviation"}
    for arm in [a for a in MAIN if a != "never-move"]:
        of = [r for r in records if r["policy"] == arm and (str(r["setting"]), r["seed"]) in never]
        if not of:
            continue
        ratios = {
            name: [100 * (r[field] / never[str(r["setting"]), r["seed"]][field] - 1) for r in of]
            for field, name in fields.items()
        }
        drawn.add_bar(
            x=list(ratios), y=[fmean(v) for v in ratios.values()], name=arm, marker={"color": COLOURS[arm]},
            error_y={"type": "data", "array": [half_width(v) for v in ratios.values()], "thickness": 1},
        )  # fmt: skip
    drawn.update_layout(barmode="group")
    drawn.update_yaxes(title="% against never moving")
    how = "Last ten minutes, means over seeds with 95 % intervals. Throughput: more is better. Latency: less is better."
    return f"Against never moving, {words} (Tables 2 and 4)", how, drawn


def amplifiers(records: Sequence[Record]) -> list[Figure]:
    arms = ("prediction-rings", *AMPLIFIERS)
    of = [r for r in records if r["policy"] in arms and (r["setting"]["rates"], r["setting"]["nodes"]) == ("fixed", 15)]
    of = [r for r in of if "throughput_series" in r and r["setting"]["scenario"] == "internal"]
    if not of:
        return []
    how = "One seed, fixed rates; n = 3 is how prediction rings come."
    return [
        (
            "Throughput by the score amplifier n (Fig. 8)",
            how,
            over_time(of, "throughput", "million messages a second", 1e-6),
        ),
        ("Moves a minute by the score amplifier n (Fig. 8)", how, over_time(of, "moves", "moves a minute", 1.0)),
    ]


def told_apart(records: Sequence[Record]) -> list[Figure]:
    """What causes the gain beside programs of others: one thing changed at a time."""
    of = [r for r in records if r["setting"]["scenario"] == "external" and r["policy"] in TOLD_APART]
    if not {r["policy"] for r in of} & set(ABLATIONS):
        return []
    drawn = [r for r in of if "throughput_series" in r]
    how = "One seed. Others multiplied into the innermost ring or all, or added to it or to all; steep or gentle thresholds."
    chart = over_time(drawn, "throughput", "million messages a second", 1e-6)
    return [("Throughput, external interference, one thing changed at a time", how, chart)]


def balance(records: Sequence[Record]) -> list[Figure]:
    """How evenly nodes are loaded, how many moves that takes, and what they had to pass."""
    of = [
        r for r in records
        if r["policy"] in MAIN and "load_sd_series" in r
        and (r["setting"]["scenario"], r["setting"]["rates"]) == ("internal", "variable")
    ]  # fmt: skip
    if not of:
        return []
    how = "One seed, variable rates."
    out = [
        (
            "Spread of the CPU load average over nodes (Fig. 10, Table 3)",
            how,
            over_time(of, "load_sd", "standard deviation", 1.0),
        ),
        ("Moves a minute (Fig. 13)", how, over_time([r for r in of if r["moves"]], "moves", "moves a minute", 1.0)),
    ]
    if told := [r for r in of if r.get("threshold_series")]:
        out.append(("Threshold that each move had to pass (Fig. 12)", how, passed(told)))
    return out


def passed(records: Sequence[Record]) -> Any:
    import plotly.graph_objects as go

    drawn = go.Figure()
    for record in newest_of_each(records, ARMS):
        points = record["threshold_series"]
        drawn.add_scatter(
            x=[at - BEGINS_MIN for at, _ in points], y=[100 * threshold for _, threshold in points], mode="markers",
            name=record["policy"], marker={"color": COLOURS[record["policy"]], "size": 5},
        )  # fmt: skip
    drawn.update_xaxes(title="minutes since the disturbance")
    drawn.update_yaxes(title="least reduction of interference, %", rangemode="tozero")
    return drawn


def line(arm: str) -> dict[str, Any]:
    wide = arm == "prediction-rings"
    return {"color": COLOURS[arm], "width": 3 if wide else 2, "dash": DASHES.get(arm, "solid")}
