"""The report: one HTML page out of measured runs, with everything it needs inside.

A run is a ledger record; where it also has `latencies_ms` and `due_ms`, single windows are drawn too.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from headway_lab.harness.suite import LATENCIES, QUANTILES, Spread, by_setting, ratio_to_best, summary
from headway_lab.harness.verdicts import Finding, tally

Run = dict[str, Any]
ByPolicy = Mapping[str, Sequence[Run]]

# Okabe and Ito's colours, which colour-blind readers tell apart. No other policy has Klink's orange-red.
COLOURS = {
    "klink": "#D55E00",
    "stock": "#0072B2",
    "stock-tuned": "#56B4E9",
    "fair": "#009E73",
    "fixed-trigger": "#CC79A7",
    "first-come": "#E69F00",
    "round-robin": "#666666",
    "highest-rate": "#000000",
    "streambox": "#A39A00",
    # in virtual time: the paper's default, and Klink without its memory policy
    "default": "#0072B2",
    "klink-no-memory": "#F0A070",
    "response-ratio": "#7B3294",
}
MARKS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "triangle-down", "star", "pentagon")

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem } h2 { font-size: 1.2rem; margin-top: 2.5rem } .lead { font-size: 1.15rem }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums }
th, td { padding: .3rem .7rem; border-bottom: 1px solid #ddd; text-align: right; vertical-align: top }
th:first-child, td:first-child, .text td, .text th { text-align: left }
tr.klink td { font-weight: 600; background: #fdf0e8 }
.how, footer { color: #555 } .wide { overflow-x: auto }
"""


Figure = tuple[str, str, Any]  # heading, how to read it, what is drawn


def page(title: str, runs: Sequence[Run], findings: Sequence[Finding] = (), simulated: Sequence[Figure] = ()) -> str:
    """The whole page. Figures appear as far as the runs have the data for them."""
    loads = by_setting(runs)
    figures = _Figures()
    body = [f"<h1>{escape(title)}</h1>"]
    body += [_lead(load, by_policy) for load, by_policy in loads.items()]
    body.append(
        "<p class=how>Output latency is how long after its due time a window's result came out; a window is due when it has"
        " ended and the patience for stragglers, the same for all policies, has passed. Lower is better.</p>"
    )
    if len(loads) > 1:
        body.append(figures.add(*_by_load(loads)))
    for load, by_policy in loads.items():
        body.append(f"<h2>{escape(load)}</h2>{_table(by_policy)}")
        if any("due_ms" in run for runs_ in by_policy.values() for run in runs_):
            body.append(figures.add(*_over_time(by_policy)))
        body += [figures.add(*_distribution(by_policy)), figures.add(*_batches(by_policy))]
    if simulated:
        body.append("<h1>In virtual time</h1>")
        body += [figures.add(*figure) for figure in simulated]
    if findings:
        body.append(f"<h2>Claims</h2>{_claims(findings)}")
    body.append(_origin(runs))
    return _html(title, body)


def figures_page(title: str, figures: Sequence[Figure]) -> str:
    """A page of nothing but figures, each with a heading and how to read it."""
    drawer = _Figures()
    return _html(title, [f"<h1>{escape(title)}</h1>", *(drawer.add(*figure) for figure in figures)])


def _html(title: str, body: Sequence[str]) -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{STYLE}</style></head><body>{''.join(body)}</body></html>"
    )


# ---- words and tables


def _lead(load: str, by_policy: ByPolicy) -> str:
    ratios = {field: ratio_to_best({p: list(r) for p, r in by_policy.items()}, field) for field in ("mean_ms", "p99_ms")}
    mean, tail = ratios["mean_ms"], ratios["p99_ms"]
    if mean is None or tail is None:
        return ""
    return (
        f"<p class=lead>{escape(load)}: under Klink a window's result came out after <b>{mean.middle:.0%}</b> of the time"
        f" that the best of Spark's own ways took on average, and <b>{tail.middle:.0%}</b> of it at the 99th percentile.</p>"
    )


def _table(by_policy: ByPolicy) -> str:
    heads = ["policy", "mean ms", "p50", "p90", "p99", "windows", "batches", "late rows", "wrong counts", "rows/s", "cores"]
    rows = []
    for policy, runs in _ordered(by_policy):
        s = summary(policy, runs)
        cells = [policy, *(spread_words(s.latency[name]) for name in LATENCIES), f"{s.windows:,}", f"{s.batches:,}",
                 f"{s.late_rows:,}", f"{s.wrong:,}", f"{s.rows_per_s:,.0f}", f"{s.cores:.2f}"]  # fmt: skip
        rows.append((policy, cells))
    how = "Latencies are the median over seeds, with the least and the greatest in brackets; counts are added up."
    return f"<p class=how>{how}</p>{_html_table(heads, rows)}"


def spread_words(spread: Spread, digits: int = 0) -> str:
    middle, low, high = (f"{value:,.{digits}f}" for value in (spread.middle, spread.low, spread.high))
    return middle if spread.n == 1 else f"{middle} ({low}..{high})"


def _claims(findings: Sequence[Finding]) -> str:
    rows = []
    for f in findings:
        verdict = f.verdict + (", stale" if f.stale else "") + (f"\n{f.because}" if f.because else "")
        rows.append(("", [f.claim.id, f.claim.says, f.claim.paper, f.claim.setting, "\n".join(f.words()) or "-", verdict]))
    heads = ["claim", "says", "the paper", "setting", "ours", "verdict"]
    how = (
        "A claim was written down before it was measured. Values are medians over seeds unless told; 0.10 means a tenth of"
        " the rival's. Guarantees are judged by their worst seed or by all seeds together. Measured once: fewer than three"
        " seeds. Incomplete: a setting that the claim names was not measured. Stale: code that the figure depends on has"
        " changed since."
    )
    return f"<p class=how>{how}</p><p>{escape(tally(findings))}.</p>{_html_table(heads, rows, 'text')}"


def _html_table(heads: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]], kind: str = "") -> str:
    head = "".join(f"<th>{escape(h)}</th>" for h in heads)
    body = "".join(
        f"<tr class='{'klink' if mark == 'klink' else ''}'>{''.join(f'<td>{_lines(c)}</td>' for c in cells)}</tr>"
        for mark, cells in rows
    )
    return f"<div class=wide><table class='{kind}'><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def _lines(text: str) -> str:
    return escape(text).replace("\n", "<br>")


def _origin(runs: Sequence[Run]) -> str:
    made = sorted(
        {
            f"commit {r['commit']}; " + ", ".join(f"{k} {v}" for k, v in r["versions"].items())
            + f"; {r['host']['cpus']} cores, {r['host']['memory_gb']} GB"
            for r in runs
        }
    )  # fmt: skip
    return f"<footer><h2>Made with</h2>{''.join(f'<p>{escape(m)}</p>' for m in made)}</footer>"


# ---- figures: each returns a heading, how to read it, and a plotly figure


class _Figures:
    """Figures as HTML; the first one brings the drawing library with it, so the page needs no network."""

    def __init__(self) -> None:
        self._first = True

    def add(self, heading: str, how: str, figure: Any) -> str:
        figure.update_layout(
            template="plotly_white",
            height=420,
            margin={"t": 20, "b": 50, "l": 70, "r": 20},
            legend={"orientation": "h", "y": -0.2},
        )
        drawn = figure.to_html(full_html=False, include_plotlyjs=self._first, config={"displaylogo": False})
        self._first = False
        return f"<h3>{escape(heading)}</h3><p class=how>{escape(how)}</p>{drawn}"


def _by_load(loads: Mapping[str, ByPolicy]) -> tuple[str, str, Any]:
    import plotly.graph_objects as go

    figure = go.Figure()
    for n, policy in enumerate(dict.fromkeys(p for by_policy in loads.values() for p in by_policy)):
        spreads = {load: summary(policy, by[policy]).latency["mean_ms"] for load, by in loads.items() if policy in by}
        figure.add_scatter(
            x=list(spreads), y=[s.middle for s in spreads.values()], name=policy, mode="lines+markers",
            error_y={"type": "data", "array": [s.high - s.middle for s in spreads.values()],
                     "arrayminus": [s.middle - s.low for s in spreads.values()]},
            **look(policy, n),
        )  # fmt: skip
    figure.update_yaxes(type="log", title="mean output latency, ms (log scale)")
    return "Latency as the load grows", "One line per policy; whiskers reach from the best seed to the worst.", figure


def _over_time(by_policy: ByPolicy) -> tuple[str, str, Any]:
    import plotly.graph_objects as go

    figure = go.Figure()
    for n, (policy, runs) in enumerate(_ordered(by_policy)):
        points = sorted(p for run in runs for p in zip(run.get("due_ms", ()), run["latencies_ms"], strict=False))
        figure.add_scatter(
            x=[due / 1000 for due, _ in points], y=[ms for _, ms in points], name=policy, mode="markers", **look(policy, n)
        )
    figure.update_xaxes(title="seconds into the measured stretch at which a window fell due")
    figure.update_yaxes(title="output latency, ms", rangemode="tozero")
    how = "Each dot is one window of one query; a cloud near the bottom is good, one that climbs means that work piles up."
    return "Latency over time", how, figure


def _distribution(by_policy: ByPolicy) -> tuple[str, str, Any]:
    import plotly.graph_objects as go

    figure = go.Figure()
    for n, (policy, runs) in enumerate(_ordered(by_policy)):
        if all("latencies_ms" in run for run in runs):
            x = np.sort(np.concatenate([np.asarray(run["latencies_ms"], dtype=float) for run in runs]))
            y = np.arange(1, len(x) + 1) / max(1, len(x))
        else:
            x = np.median([run["quantiles_ms"] for run in runs], axis=0)
            y = np.array(QUANTILES) / 100
        figure.add_scatter(x=x.tolist(), y=y.tolist(), name=policy, mode="lines", **look(policy, n))
    figure.update_xaxes(title="output latency, ms")
    figure.update_yaxes(title="share of windows that were out by then", tickformat=".0%", range=[0, 1.02])
    return (
        "How many windows were out after how long",
        "The further left and the steeper a line, the sooner results came.",
        figure,
    )


def _batches(by_policy: ByPolicy) -> tuple[str, str, Any]:
    import plotly.graph_objects as go

    figure = go.Figure()
    for policy, runs in _ordered(by_policy):
        figure.add_bar(
            x=[policy],
            y=[summary(policy, runs).batches_per_window],
            name=policy,
            marker_color=colour(policy),
            showlegend=False,
        )
    figure.update_yaxes(title="batches per emitted window", rangemode="tozero")
    how = "Every batch has a price, whatever it reads. One batch per window is the least; the rest is spent on looking."
    return "Batches per window", how, figure


def _ordered(by_policy: ByPolicy) -> list[tuple[str, Sequence[Run]]]:
    """Klink last, so that its line lies on top of the others."""
    return sorted(by_policy.items(), key=lambda item: item[0].startswith("klink"))


def colour(policy: str) -> str:
    return COLOURS.get(policy.partition(":")[0], "#666666")


def look(policy: str, n: int) -> dict[str, Any]:
    """Klink stands out by width; the others differ in mark and dash too, not by colour alone."""
    star = policy.startswith("klink")
    dashes = ("dash", "dot", "dashdot", "longdash")
    return {
        "line": {"color": colour(policy), "width": 4 if star else 2, "dash": "solid" if star else dashes[n % len(dashes)]},
        "marker": {"color": colour(policy), "size": 9 if star else 7, "symbol": MARKS[n % len(MARKS)], "opacity": 0.8},
    }
