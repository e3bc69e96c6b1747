"""What `headway demo traffic` shows: a table while it runs, and a page of four figures over time."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table

from headway_lab.experiments.traffic.run import TrafficOutcome, TrafficPlan, TrafficResult, WatchedQuery, per_window
from headway_lab.harness.batches import latencies_ms
from headway_lab.harness.report import Figure, figures_page
from headway_lab.workloads.traffic.truth import Event, Seen

# Okabe and Ito's colours, as in the report; each has its own dash too, not colour alone.
LOOKS = {
    "fixed": ("#666666", "dash"),
    "quantile": ("#009E73", "dot"),
    "slack_gate": ("#0072B2", "solid"),
    "deadline": ("#CC79A7", "dashdot"),
}
BARS = "▁▂▃▄▅▆▇█"
SHOWN = 16  # windows whose latency is drawn in the table


def table(plan: TrafficPlan, watched: Mapping[str, WatchedQuery], truth: Mapping[Event, Seen], now_ms: int) -> Table:
    """How each query stands now. `truth` is of all windows, and compared with what came of those that are closed."""
    left = max(0, plan.until_ms - now_ms) // 1_000
    ends = plan.ends_ms
    table = Table(box=box.SIMPLE_HEAD, title=f"{left} s left", title_justify="left")
    table.add_column("patience", no_wrap=True)
    for head in ("waits s", "latency s", "late rows", "events", "of true"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("last windows", no_wrap=True)
    for name, seen in watched.items():
        out = [end for end in ends if end <= seen.watermark]
        behind = latencies_ms(seen.batches, out, now_ms)
        true = sum(event[0] <= seen.watermark for event in truth)
        events = sum(rows for _, _, rows in seen.batches)
        wait, late = seen.states[-1][1:] if seen.states else (0, 0)
        table.add_row(
            name, f"{wait / 1_000:.1f}", f"{behind[-1] / 1_000:.1f}" if behind else "-", f"{late:,}", f"{events:,}",
            f"{events / true:.0%}" if true else "-", sparks(behind[-SHOWN:]),
        )  # fmt: skip
    return table


def sparks(values_ms: Sequence[float], most_ms: float = 10_000) -> str:
    """A bar for each value, full at ten seconds."""
    return "".join(BARS[min(len(BARS) - 1, max(0, int(ms * len(BARS) / most_ms)))] for ms in values_ms)


def summary(played: TrafficResult, deadline_ms: float | None) -> Table:
    """What came of it all: latency, events found, those of them with too few reports, and windows beyond the deadline."""
    table = Table(box=box.SIMPLE_HEAD, title=f"{played.plan.seconds} windows, {len(played.truth):,} true events")
    table.title_justify = "left"
    table.add_column("patience", no_wrap=True)
    heads = ["mean s", "longest", "late rows", "found", "of true", "too few", "untrue"]
    for head in [*heads, *([] if deadline_ms is None else ["beyond"])]:
        table.add_column(head, justify="right")
    for outcome in played.outcomes:
        hit, low, wrong = judged(outcome, played.truth)
        cells = [
            f"{_mean_s(outcome):.1f}", f"{max(outcome.latencies_ms) / 1_000:.1f}", f"{outcome.late:,}", f"{hit:,}",
            f"{hit / max(1, len(played.truth)):.1%}", f"{low:,}", f"{wrong:,}",
        ]  # fmt: skip
        if deadline_ms is not None:
            cells.append(f"{sum(ms > deadline_ms for ms in outcome.latencies_ms):,}")
        table.add_row(outcome.name, *cells)
    return table


def judged(outcome: TrafficOutcome, truth: Mapping[Event, Seen]) -> tuple[int, int, int]:
    """True events found, how many of these with too few reports, and events that were none."""
    hit = outcome.events.keys() & truth.keys()
    return len(hit), sum(outcome.events[event] != truth[event] for event in hit), len(outcome.events) - len(hit)


def page(played: TrafficResult, deadline_ms: float | None) -> str:
    """Latency, patience, late rows and events over time."""
    streams = "Austin's buses and Aarhus' roads" if played.plan.city else f"{played.plan.rate:,} reports/s of each stream"
    return figures_page(f"Congestion under different patience: {streams}", list(_figures(played, deadline_ms)))


def _figures(played: TrafficResult, deadline_ms: float | None) -> list[Figure]:
    plan, found = played.plan, []
    ends_s = [(end - plan.base_ms) / 1_000 for end in plan.ends_ms]
    drawn = _over_time("latency, s")
    for outcome in played.outcomes:
        _line(drawn, outcome.name, ends_s, [ms / 1_000 for ms in outcome.latencies_ms])
    if deadline_ms is not None:
        drawn.add_hline(y=deadline_ms / 1_000, line={"color": "#D55E00", "dash": "dash", "width": 1.5})
    found.append(("Latency", f"From a window's end until its events are out. {_words(played, _latency_words)}", drawn))

    drawn = _over_time("patience or slack threshold, s")
    drawn.add_scatter(
        x=list(range(plan.seconds)), y=played.behind_s, name="the buses are behind by", mode="lines", line={"width": 0},
        fill="tozeroy", fillcolor="rgba(0,0,0,.12)",
    )  # fmt: skip
    for outcome in played.outcomes:
        at, waits, _ = zip(*_counted(plan, outcome), strict=True)
        _line(drawn, outcome.name, at, [wait / 1_000 for wait in waits])
    how = "How long a window waits for stragglers; grey, how far the newest bus report that is in lies behind."
    found.append(("Patience", how, drawn))

    drawn = _over_time("late rows so far")
    for outcome in played.outcomes:
        at, _, late = zip(*_counted(plan, outcome), strict=True)
        _line(drawn, outcome.name, at, late)
    how = f"Reports that came after a window of theirs was closed. {_words(played, lambda o: f'{o.late:,}')}"
    found.append(("Late rows", how, drawn))

    drawn = _over_time("events in a window")
    drawn.add_scatter(
        x=ends_s, y=per_window(plan, played.truth), name="true", mode="lines", line={"width": 0}, fill="tozeroy",
        fillcolor="rgba(0,0,0,.12)",
    )  # fmt: skip
    for outcome in played.outcomes:
        _line(drawn, outcome.name, ends_s, per_window(plan, outcome.events))
    share = _words(played, lambda o: f"{judged(o, played.truth)[0] / max(1, len(played.truth)):.0%}")
    found.append(
        ("Detected events", f"Congested areas, window by window; grey, the true ones. Found in all: {share}", drawn)
    )
    return found


def _words(played: TrafficResult, say: Any) -> str:
    return ", ".join(f"{outcome.name} {say(outcome)}" for outcome in played.outcomes) + "."


def _latency_words(outcome: TrafficOutcome) -> str:
    return f"{_mean_s(outcome):.1f} s (at most {max(outcome.latencies_ms) / 1_000:.1f})"


def _mean_s(outcome: TrafficOutcome) -> float:
    return sum(outcome.latencies_ms) / max(1, len(outcome.latencies_ms)) / 1_000


def _counted(plan: TrafficPlan, outcome: TrafficOutcome) -> list[tuple[float, int, int]]:
    """What was seen while windows counted, by the second; the first look if there was none."""
    states = [((at - plan.base_ms) / 1_000, wait, late) for at, wait, late in outcome.watched.states]
    return [state for state in states if 0 <= state[0] <= plan.seconds] or [(0.0, 0, 0)]


def _over_time(what: str) -> Any:
    import plotly.graph_objects as go

    drawn = go.Figure()
    drawn.update_xaxes(title="seconds")
    drawn.update_yaxes(title=what, rangemode="tozero")
    return drawn


def _line(drawn: Any, name: str, x: Sequence[float], y: Sequence[float]) -> None:
    colour, dash = LOOKS.get(name, ("#000000", "solid"))
    drawn.add_scatter(x=list(x), y=list(y), name=name, mode="lines", line={"color": colour, "dash": dash, "width": 2})
