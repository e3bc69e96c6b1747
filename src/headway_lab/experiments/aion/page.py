"""What `headway demo approximate` shows: a table while it runs, a page of three figures, and a line in words."""

from collections.abc import Sequence
from datetime import UTC, datetime
from statistics import fmean
from typing import Any

from rich import box
from rich.table import Table

from headway_lab.experiments.aion.demo_run import APPROXIMATE, EXACT, Played
from headway_lab.harness.report import Figure, figures_page

# Okabe and Ito's colours, as in the report; the sides differ in mark and dash too.
LOOKS = {EXACT: ("#0072B2", "dash", "circle-open"), APPROXIMATE: ("#D55E00", "solid", "diamond")}
BAND = "rgba(213,94,0,.15)"
SHOWN = 10  # windows


def table(played: Played, now_ms: int) -> Table:
    """The last windows, as far as they are out."""
    left = max(0, played.plan.until_ms - now_ms) // 1_000
    settling = max(0, played.plan.base_ms - now_ms) // 1_000
    title = f"settling, {settling} s" if settling else f"{played.words}: {left} s left"
    made = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left")
    for head in ("window", "exact", "after s", "rows", "approximate", "bound", "after s", "rows", "off"):
        made.add_column(head, justify="right", no_wrap=True)
    out = [end for end in played.ends_ms if any(end in side.answers for side in played.sides.values())]
    for end in out[-SHOWN:]:
        exact, approximate = played.sides[EXACT].answers.get(end), played.sides[APPROXIMATE].answers.get(end)
        cells = [datetime.fromtimestamp(end / 1_000, UTC).strftime("%H:%M:%S")]
        cells += [f"{exact.estimate:,.4g}", *_pace(played, EXACT, end)] if exact else ["", "", ""]
        if approximate:
            half = (approximate.upper - approximate.lower) / 2
            cells += [f"{approximate.estimate:,.4g}", f"± {half:,.2g}", *_pace(played, APPROXIMATE, end)]
            cells.append(f"{played.off(APPROXIMATE, end):.1%}")
        made.add_row(*cells)
    return made


def _pace(played: Played, name: str, end: int) -> tuple[str, str]:
    return f"{played.sides[name].latency_ms(end) / 1_000:.2f}", f"{played.share(name, end):.0%}"


def summary(played: Played) -> Table:
    made = Table(box=box.SIMPLE_HEAD, title=f"{len(played.ends_ms)} windows: {played.case_words}", title_justify="left")
    made.add_column("answers", no_wrap=True)
    heads = ("windows", "latency s", "longest", "rows", "error", "largest", f"within {played.plan.error:.0%}", "bound holds")
    for head in heads:
        made.add_column(head, justify="right", no_wrap=True)
    for name, side in played.sides.items():
        ends = [end for end in played.ends_ms if end in side.answers]
        if not ends:
            continue
        waits, off = [side.latency_ms(end) / 1_000 for end in ends], [played.off(name, end) for end in ends]
        held = sum(side.answers[end].holds(played.truth[end].answer) for end in ends)
        made.add_row(
            name, f"{len(ends)}", f"{fmean(waits):.2f}", f"{max(waits):.2f}", f"{rows_share(played, name, ends):.0%}",
            f"{fmean(off):.2%}", f"{max(off):.2%}", f"{sum(o <= played.plan.error for o in off)}", f"{held}",
        )  # fmt: skip
    return made


def rows_share(played: Played, name: str, ends: Sequence[int]) -> float:
    return sum(played.sides[name].answers[e].sample for e in ends) / max(1, sum(played.truth[e].rows for e in ends))


def words(played: Played) -> str:
    """The figures in a sentence; of windows that both have answered."""
    ends = played.both
    if not ends:
        return "No window was answered by both: give it more --seconds."
    exact, approximate = (fmean(played.sides[name].latency_ms(e) for e in ends) / 1_000 for name in (EXACT, APPROXIMATE))
    near = sum(played.off(APPROXIMATE, e) <= played.plan.error for e in ends)
    held = sum(played.sides[APPROXIMATE].answers[e].holds(played.truth[e].answer) for e in ends)
    worst = max(played.off(APPROXIMATE, e) for e in ends)
    return (
        f"Approximate answers came {approximate:.2f} s after their window's end, exact ones after {exact:.2f} s, from"
        f" {rows_share(played, APPROXIMATE, ends):.0%} of the rows; {near} of {len(ends)} were within"
        f" {played.plan.error:.0%} of the exact answer (at most {worst:.1%} off), and {held} of {len(ends)} bounds held it."
    )


def page(played: Played) -> str:
    """Answers, latency and rows over time."""
    return figures_page(f"Exact and approximate answers: {played.case_words}", [*_figures(played)])


def _figures(played: Played) -> list[Figure]:
    at = {end: (end - played.plan.base_ms) / 1_000 for end in played.ends_ms}
    drawn = _over_time(played.words)
    near = played.sides[APPROXIMATE].answers
    ends = [end for end in played.ends_ms if end in near]
    x = [at[end] for end in ends]
    # Two edges: the second is filled down to the first.
    edge: dict[str, Any] = {"x": x, "mode": "lines", "line": {"width": 0}}
    drawn.add_scatter(y=[near[e].lower for e in ends], showlegend=False, hoverinfo="skip", **edge)
    drawn.add_scatter(y=[near[e].upper for e in ends], name="bound, 95 %", fill="tonexty", fillcolor=BAND, **edge)
    known = sorted(played.truth)
    drawn.add_scatter(
        x=[at[e] for e in known], y=[played.truth[e].answer for e in known], name="true", mode="lines",
        line={"color": "#000000", "width": 1, "dash": "dot"},
    )  # fmt: skip
    for name, side in played.sides.items():
        of = [end for end in played.ends_ms if end in side.answers]
        mode = "markers" if name == EXACT else "lines+markers"
        _draw(drawn, name, [at[e] for e in of], [side.answers[e].estimate for e in of], mode)
    found: list[Figure] = [("Answers", f"{words(played)} Shaded: where the true answer is, 19 times in 20.", drawn)]

    drawn = _over_time("latency, s")
    for name, side in played.sides.items():
        of = [end for end in played.ends_ms if end in side.answers]
        _draw(drawn, name, [at[e] for e in of], [side.latency_ms(e) / 1_000 for e in of])
    drawn.update_yaxes(rangemode="tozero")
    how = "From a window's end to its answer. The exact one waits for the slowest row; the approximate one for none."
    found.append(("Latency", how, drawn))

    drawn = _over_time("share of the window's rows")
    for name, side in played.sides.items():
        of = [end for end in played.ends_ms if end in side.answers]
        _draw(drawn, name, [at[e] for e in of], [played.share(name, e) for e in of])
    drawn.update_yaxes(rangemode="tozero", tickformat=".0%")
    found.append(("Rows", "How many of a window's rows went into its answer. The others were counted, and left out.", drawn))
    return found


def _over_time(what: str) -> Any:
    import plotly.graph_objects as go

    drawn = go.Figure()
    drawn.update_xaxes(title="seconds")
    drawn.update_yaxes(title=what)
    return drawn


def _draw(drawn: Any, name: str, x: Sequence[float], y: Sequence[float], mode: str = "lines+markers") -> None:
    colour, dash, mark = LOOKS[name]
    drawn.add_scatter(
        x=list(x), y=list(y), name=name, mode=mode, line={"color": colour, "dash": dash, "width": 2},
        marker={"color": colour, "symbol": mark, "size": 9},
    )  # fmt: skip
