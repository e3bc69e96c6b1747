"""What `headway demo fleet` shows: a screen while it runs, and a page of figures."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from headway_lab.experiments.fleet_live.story import FleetStory
from headway_lab.experiments.fleet_live.watch import FleetSample, rows_per_s, within
from headway_lab.harness.report import Figure, figures_page

# Okabe and Ito's colours, as in the report; each node has its own dash too.
LOOKS = (("#D55E00", "solid"), ("#0072B2", "dash"), ("#009E73", "dot"), ("#CC79A7", "dashdot"))
BARS = "▁▂▃▄▅▆▇█"
SHOWN, SMOOTH_S, LAST_MOVES = 48, 5, 4
FULL = 24  # letters of a bar


def live(story: FleetStory) -> RenderableType:
    """The fleet as it is now."""
    now = story.samples[-1]
    title = Text(f"{story.scenes[-1][1]}; {story.left_s:.0f} s left", style="bold")
    return Group(title, _nodes(story, now), _throughput(story.samples), *_last_moves(story.samples))


def _nodes(story: FleetStory, now: FleetSample) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("node", no_wrap=True)
    table.add_column("load per core", no_wrap=True)
    table.add_column("queries; those that are awake are bold")
    for node, load in sorted(now.loads.items()):
        bar = "█" * min(FULL, round(load * FULL / 3))
        style = "red" if load > 1.5 else "yellow" if load > 1 else "green"
        cells = Text.assemble((f"{load:4.2f} ", ""), (bar, style))
        queries = Text(" ").join(
            Text(query, style="bold" if query in story.heavy else "dim")
            for query, home in sorted(now.homes.items())
            if home == node
        )
        table.add_row(node + (" + program" if node == story.disturbed else ""), cells, queries)
    return table


def _throughput(samples: Sequence[FleetSample]) -> Text:
    rates = _rates(samples)[-SHOWN:]
    sent = _sent(samples)[-1:] or [0.0]
    most = max([*rates, sent[-1], 1.0])
    bars = "".join(BARS[min(len(BARS) - 1, int(rate * (len(BARS) - 1) / most))] for rate in rates)
    behind = samples[-1].sent - samples[-1].read
    last = rates[-1] if rates else 0.0
    return Text(f"read {last:,.0f} of {sent[-1]:,.0f} rows/s  {bars}  {max(0, behind):,} wait")


def _last_moves(samples: Sequence[FleetSample]) -> list[Text]:
    """By where queries are: why they went is in the journal, and on the page."""
    found = []
    for before, after in pairwise(samples):
        for query, node in after.homes.items():
            if before.homes.get(query, node) != node:
                seconds = (after.at_ms - samples[0].at_ms) / 1000
                found.append(Text(f"{seconds:5.0f} s  {query} has moved from {before.homes[query]} to {node}"))
    return found[-LAST_MOVES:]


def summary(story: FleetStory) -> Table:
    """One row for each part of the story."""
    table = Table(box=box.SIMPLE_HEAD, title="The last ten seconds of each", title_justify="left")
    table.add_column("", no_wrap=True)
    for head in ("rows/s read", "sent", "load s.d.", "moves", "p50 ms", "p99 ms"):
        table.add_column(head, justify="right", no_wrap=True)
    for what, since, until in story.parts:
        judged = within(story.samples, until - 10_000, until)
        latencies = sorted(out.latency_ms for sample in judged for out in sample.out)
        sent = 1000 * (judged[-1].sent - judged[0].sent) / max(1, judged[-1].at_ms - judged[0].at_ms) if judged else 0.0
        spread = f"{judged[-1].spread:.2f}" if judged else "-"
        moves = sum(since <= move.at_ms < until for move in story.moves)
        shown = [
            f"{latencies[min(len(latencies) - 1, len(latencies) * q // 100)]:,}" if latencies else "-" for q in (50, 99)
        ]
        table.add_row(what, f"{rows_per_s(judged):,.0f}", f"{sent:,.0f}", spread, str(moves), *shown)
    return table


def page(story: FleetStory, policy: str) -> str:
    return figures_page(f"A fleet of {story.plan.nodes} nodes under {policy}", [
        _rows_figure(story), _load_figure(story), _latency_figure(story), _homes_figure(story), _moves_figure(story),
    ])  # fmt: skip


# ---- figures


def _rows_figure(story: FleetStory) -> Figure:
    figure, at = _over_time(story, "rows per second"), _seconds(story)
    figure.add_scatter(
        x=at,
        y=_sent(story.samples),
        name="sent",
        mode="lines",
        line={"width": 0},
        fill="tozeroy",
        fillcolor="rgba(0,0,0,.12)",
    )
    figure.add_scatter(x=at, y=_rates(story.samples), name="read", mode="lines", line={"color": LOOKS[0][0], "width": 3})
    how = (
        f"Grey is what is sent, and what an ideal placement would read; means over {SMOOTH_S} s. Above it, what has waited"
        " is caught up with. Dotted lines are moves."
    )
    return "Throughput", how, figure


def _load_figure(story: FleetStory) -> Figure:
    figure, at = _over_time(story, "load per core"), _seconds(story)
    for (colour, dash), node in zip(LOOKS, sorted(story.samples[-1].loads), strict=False):
        loads = [sample.loads.get(node) for sample in story.samples]
        figure.add_scatter(x=at, y=loads, name=node, mode="lines", line={"color": colour, "dash": dash, "width": 2.5})
    figure.add_scatter(
        x=at,
        y=[s.spread for s in story.samples],
        name="standard deviation",
        mode="lines",
        line={"color": "#999999", "width": 1.5},
    )
    how = (
        "Cores that a node uses, and that have work for it and are held back, over those that it has; an average that"
        " forgets with a minute, as the system's own does. What is beside a node in its group counts."
    )
    return "Spread of the load", how, figure


def _latency_figure(story: FleetStory) -> Figure:
    figure = _over_time(story, "latency of a window, s")
    for (colour, _), node in zip(LOOKS, sorted(story.samples[-1].loads), strict=False):
        points = [
            (story.second(sample.at_ms), out.latency_ms / 1000, out.query)
            for sample in story.samples for out in sample.out if out.node == node
        ]  # fmt: skip
        x, y, names = zip(*points, strict=True) if points else ((), (), ())
        figure.add_scatter(
            x=x, y=y, text=names, name=node, mode="markers", marker={"color": colour, "size": 7, "opacity": 0.8}
        )
    how = (
        "From the end of a window until the batch that emitted it was done; 1.5 s of patience are in it. A dot is a window."
    )
    return "Latency", how, figure


def _homes_figure(story: FleetStory) -> Figure:
    import plotly.graph_objects as go

    nodes, queries = sorted(story.samples[-1].loads), sorted(story.samples[-1].homes)
    rows = [
        [nodes.index(home) if (home := s.homes.get(query)) in nodes else None for s in story.samples] for query in queries
    ]
    steps = max(1, len(nodes) - 1)
    scale = (
        [[n / steps, LOOKS[n % len(LOOKS)][0]] for n in range(len(nodes))]
        if len(nodes) > 1
        else [[0, LOOKS[0][0]], [1, "#FFF"]]
    )
    names = [f"{query}{' (wakes up)' if query in story.heavy else ''}" for query in queries]
    bar = {"tickvals": list(range(len(nodes))), "ticktext": nodes, "title": "node"}
    figure = go.Figure(
        go.Heatmap(z=rows, x=_seconds(story), y=names, colorscale=scale, zmin=0, zmax=steps, colorbar=bar, ygap=2)
    )
    figure.update_xaxes(title="seconds")
    return (
        "Where each query was",
        "A row is a query, a colour a node: a row changes its colour where the query has moved.",
        figure,
    )


def _moves_figure(story: FleetStory) -> Figure:
    import plotly.graph_objects as go

    columns = zip(*(
        (f"{story.second(move.at_ms):.0f} s", move.query, f"{move.source} to {move.target}", move.because)
        for move in story.moves
    ), strict=True)  # fmt: skip
    cells: Mapping[str, Any] = {"values": list(map(list, columns)), "align": "left", "height": 26}
    heads = {"values": ["when", "query", "from and to", "why"], "align": "left"}
    figure = go.Figure(go.Table(header=heads, cells=cells, columnwidth=[1, 1, 2, 9]))
    return "Moves and why", "The policy's own words, out of the journal.", figure


def _over_time(story: FleetStory, what: str) -> Any:
    import plotly.graph_objects as go

    figure = go.Figure()
    for number, (said, since, until) in enumerate(story.parts):
        shade = {"fillcolor": "rgba(86,180,233,.10)" if number % 2 else "rgba(0,0,0,0)", "line_width": 0}
        figure.add_vrect(
            x0=story.second(since),
            x1=story.second(until),
            annotation_text=said,
            annotation_position="top left",
            **shade,
        )
    for move in story.moves:
        figure.add_vline(x=story.second(move.at_ms), line={"color": "#888888", "dash": "dot", "width": 1})
    figure.update_xaxes(title="seconds")
    figure.update_yaxes(title=what, rangemode="tozero")
    return figure


def _seconds(story: FleetStory) -> list[float]:
    return [story.second(sample.at_ms) for sample in story.samples]


def _rates(samples: Sequence[FleetSample]) -> list[float]:
    """Rows read per second, as means over some seconds."""
    return [rows_per_s(samples[max(0, n - SMOOTH_S) : n + 1]) for n in range(len(samples))]


def _sent(samples: Sequence[FleetSample]) -> list[float]:
    pairs = [(samples[max(0, n - SMOOTH_S)], after) for n, after in enumerate(samples)]
    return [1000 * (b.sent - a.sent) / (b.at_ms - a.at_ms) if b.at_ms > a.at_ms else 0.0 for a, b in pairs]
