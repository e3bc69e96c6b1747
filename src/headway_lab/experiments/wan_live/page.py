"""What `headway demo wan` shows: a screen while it runs; a page with maps, links, decisions, delay, bytes and dollars."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from headway.dashboard.area_map import positions
from headway.wan.testbed import LinkStatus
from headway_lab.experiments.wan_live.watch import AreaMoment, AreaStory, Pair, by_link, delays, mbit_per_s, moved, rates
from headway_lab.harness.report import Figure, figures_page

# Okabe and Ito's colours, as in the report.
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
FULL = 0.85  # of a link's rate: from there on it is what limits
BAR, LAST_MS, NOW = 20, 20_000, 6
ASIDE = 0.035  # both directions of a link are drawn beside each other


def live(story: AreaStory) -> RenderableType:
    """The area as it is now."""
    now = story.moments[-1]
    table = Table(box=box.SIMPLE_HEAD)
    for head in ("link", "Mbit/s", "of", ""):
        table.add_column(head, no_wrap=True)
    used = mbit_per_s(story.moments[-NOW:])
    for link in now.links:
        share = _share(used, link.source, link.target, now)
        style = "red" if share > FULL else "yellow" if share > 0.6 else "green"
        bar = Text("█" * round(BAR * min(1.0, share)), style=style)
        speed = f"{link.bits_per_s / 1e6:.2f}" if link.up else "down"
        table.add_row(f"{link.source} -> {link.target}", f"{used.get((link.source, link.target), 0.0):.2f}", speed, bar)
    late = delays(story)[-1:]
    words = [
        Text(f"{story.scenes[-1][1]}; {story.second(now.at_ms):.0f} s", style="bold"),
        Text("; ".join(f"{stage}: {', '.join(sites)}" for stage, sites in now.homes.items())),
        Text(f"last window {late[0][1]:.1f} s after its end" if late else "no window yet"),
        Text(f"{story.sent_bytes / 1e6:.1f} MB over links, {story.dollars:.5f} dollars"),
    ]
    told = [Text(f"{one.words}: {one.because}", style="bold") for one in story.changes[-2:]]
    return Group(words[0], table, *words[1:], *told)


def summary(story: AreaStory) -> Table:
    """One row for each part of the story."""
    table = Table(box=box.SIMPLE_HEAD, title=f"The last {LAST_MS // 1000} seconds of each", title_justify="left")
    table.add_column("", no_wrap=True)
    for head in ("fullest link", "of it", "delay s", "MB over links", "dollars", "decisions"):
        table.add_column(head, justify="right")
    for what, since, until in story.parts:
        moments = story.within(max(since, until - LAST_MS), until)
        all_of_it, used = story.within(since, until), mbit_per_s(moments)
        shares = {pair: _share(used, *pair, moments[-1]) for pair in used}
        pair = max(shares, key=lambda one: (shares[one], one)) if shares else None
        ended = [late for at, late in delays(story) if story.second(until - LAST_MS) <= at <= story.second(until)]
        sent = sum(by_link(all_of_it[-1]).values()) - sum(by_link(all_of_it[0]).values()) if all_of_it else 0
        decided = sum(since <= one.at_ms < until for one in story.changes)
        table.add_row(
            what, "-" if pair is None else " -> ".join(pair), "-" if pair is None else f"{shares[pair]:.0%}",
            f"{sum(ended) / len(ended):.1f}" if ended else "no window out", f"{sent / 1e6:.1f}",
            f"{sent / 1e9 * story.usd_per_gb:.5f}", str(decided),
        )  # fmt: skip
    return table


def page(story: AreaStory) -> str:
    return figures_page(f"A wide area of {len(story.sites)} sites under {story.policy}", [
        *(_map_figure(story, *part) for part in story.parts), _full_figure(story), _links_figure(story),
        _delay_figure(story), _bytes_figure(story), _decisions_figure(story),
    ])  # fmt: skip


# ---- figures


def _map_figure(story: AreaStory, what: str, since: int, until: int) -> Figure:
    """Sites, their stages and their links, over the last seconds of a part."""
    import plotly.graph_objects as go

    moments = story.within(max(since, until - LAST_MS), until)
    figure, at, used = go.Figure(), _places(story), mbit_per_s(moments)
    last = moments[-1] if moments else story.moments[-1]
    for link in last.links:
        pair = link.source, link.target
        _draw_link(figure, at, pair, _share(used, *pair, last), _words(used, link))
    for site in story.sites:
        here = [stage for stage, sites in last.homes.items() if site in sites]
        figure.add_scatter(
            x=[at[site][0]], y=[at[site][1]], mode="markers+text", text=[f"<b>{site}</b><br>{', '.join(here)}"],
            textposition="bottom center" if at[site][1] < 0.5 else "top center", showlegend=False, hoverinfo="skip",
            marker={"size": 26, "color": "#333333"}, textfont={"size": 13},
        )  # fmt: skip
    figure.update_xaxes(visible=False, range=[-0.35, 1.35])
    figure.update_yaxes(visible=False, range=[-0.35, 1.35])
    how = (
        f"The last {LAST_MS // 1000} s of it. Each line is a direction of a link, as thick as it is full. Red is a"
        f" bottleneck: {FULL:.0%} of its rate or more. Beside a site are the stages that run there."
    )
    return f"Map: {what}", how, figure


def _draw_link(figure: Any, at: Mapping[str, tuple[float, float]], pair: Pair, share: float, words: str) -> None:
    one, other = np.array(at[pair[0]]), np.array(at[pair[1]])
    along = (other - one) / max(1e-9, float(np.linalg.norm(other - one)))
    aside = ASIDE * np.array([-along[1], along[0]])
    begin, end = one + 0.09 * along + aside, other - 0.09 * along + aside
    colour = "#D55E00" if share >= FULL else "#0072B2" if share > 0.02 else "#BBBBBB"
    figure.add_annotation(
        x=end[0], y=end[1], ax=begin[0], ay=begin[1], xref="x", yref="y", axref="x", ayref="y", text="", showarrow=True,
        arrowhead=2, arrowwidth=1.5 + 5 * min(1.0, share), arrowcolor=colour, opacity=0.85,
    )  # fmt: skip
    middle = begin + 0.35 * (end - begin) + 3.4 * aside
    figure.add_annotation(x=middle[0], y=middle[1], text=words, showarrow=False, font={"size": 12, "color": colour})


def _words(used: Mapping[Pair, float], link: LinkStatus) -> str:
    if not link.up:
        return "down"
    return f"{used.get((link.source, link.target), 0.0):.2f} of {link.bits_per_s / 1e6:.2f} Mbit/s"


def _full_figure(story: AreaStory) -> Figure:
    """Which links were bottlenecks, and when."""
    import plotly.graph_objects as go

    figure = _over_time(story, "")
    pairs = sorted(by_link(story.moments[0]), reverse=True)
    limits = {pair: {m.at_ms: _limit(m, pair) for m in story.moments} for pair in pairs}
    found = {pair: rates(story.moments, pair) for pair in pairs}
    rows = [[100 * rate / limits[pair][at] if limits[pair][at] else None for at, rate in found[pair]] for pair in pairs]
    scale = [[0, "#F4F4F4"], [FULL - 0.01, "#56B4E9"], [FULL, "#D55E00"], [1, "#D55E00"]]
    seconds = [story.second(at) for at, _ in found[pairs[0]]]
    names = [" -> ".join(pair) for pair in pairs]
    figure.add_trace(go.Heatmap(
        z=rows, x=seconds, y=names, colorscale=scale, zmin=0, zmax=100, ygap=3, colorbar={"title": "% full"}
    ))  # fmt: skip
    how = f"A row is a direction of a link, means over 5 s. Orange is a bottleneck: {FULL:.0%} of its rate or more."
    return "Bottlenecks", how, figure


def _links_figure(story: AreaStory) -> Figure:
    figure = _over_time(story, "Mbit/s")
    first, last = by_link(story.moments[0]), by_link(story.moments[-1])
    busiest = sorted(last, key=lambda pair: first[pair] - last[pair])[: len(COLOURS)]
    for colour, pair in zip(COLOURS, busiest, strict=False):
        found = rates(story.moments, pair)
        figure.add_scatter(
            x=[story.second(at) for at, _ in found], y=[rate for _, rate in found], name=" -> ".join(pair), mode="lines",
            line={"color": colour, "width": 2.5},
        )  # fmt: skip
        limit = [(story.second(m.at_ms), _limit(m, pair)) for m in story.moments]
        figure.add_scatter(
            x=[x for x, _ in limit], y=[y for _, y in limit], mode="lines", showlegend=False, hoverinfo="skip",
            line={"color": colour, "width": 1, "dash": "dot"},
        )  # fmt: skip
    how = "What links carry, means over 5 s; the busiest first. Dotted, in the same colour: what each can carry at all."
    return "Links", how, figure


def _delay_figure(story: AreaStory) -> Figure:
    figure, found = _over_time(story, "seconds"), delays(story)
    figure.add_scatter(
        x=[at for at, _ in found], y=[late for _, late in found], name="delay", mode="lines+markers",
        line={"color": COLOURS[1], "width": 2},
    )  # fmt: skip
    how = "Of each window: how long after its end its result was out. Windows that were not out at the end are missing."
    return "Delay", how, figure


def _bytes_figure(story: AreaStory) -> Figure:
    figure, begin = _over_time(story, "MB over links"), sum(by_link(story.moments[0]).values())
    sent = [(sum(by_link(m).values()) - begin) / 1e6 for m in story.moments]
    figure.add_scatter(
        x=[story.second(m.at_ms) for m in story.moments], y=sent, name="MB", mode="lines",
        line={"color": COLOURS[2], "width": 2.5}, text=[f"{mb / 1e3 * story.usd_per_gb:.5f} dollars" for mb in sent],
    )  # fmt: skip
    how = (
        f"All that has crossed links, whatever for: {sent[-1]:.1f} MB, which at {story.usd_per_gb:g} dollars a gigabyte cost"
        f" {story.dollars:.5f} dollars."
    )
    return "Bytes over the wide area, and dollars", how, figure


def _decisions_figure(story: AreaStory) -> Figure:
    import plotly.graph_objects as go

    rows = [(one.at_ms, one.words, f"{one.because}; {one.receipt}") for one in story.changes]
    rows += [(at, "moved", words) for at, words in moved(story.moments)]
    cells = [
        [f"{story.second(at):.0f} s" for at, _, _ in sorted(rows)], [what for _, what, _ in sorted(rows)],
        [why for _, _, why in sorted(rows)],
    ]  # fmt: skip
    heads = {"values": ["when", "what", "why"], "align": "left"}
    shown = {"values": cells, "align": "left", "height": 26}
    figure = go.Figure(go.Table(header=heads, cells=shown, columnwidth=[1, 3, 9]))
    return "Decisions", "The policy's own words, out of the journal; and when stages were elsewhere.", figure


def _over_time(story: AreaStory, what: str) -> Any:
    import plotly.graph_objects as go

    figure = go.Figure()
    for number, (said, since, until) in enumerate(story.parts):
        shade = {"fillcolor": "rgba(230,159,0,.10)" if number % 2 else "rgba(0,0,0,0)", "line_width": 0}
        figure.add_vrect(
            x0=story.second(since), x1=story.second(until), annotation_text=said, annotation_position="top left", **shade
        )
    for change in story.changes:
        line = {"color": "#888888", "dash": "dash", "width": 1}
        figure.add_vline(x=story.second(change.at_ms), line=line, annotation_text=change.words)
    figure.update_xaxes(title="seconds")
    figure.update_yaxes(title=what, rangemode="tozero")
    return figure


def _places(story: AreaStory) -> dict[str, tuple[float, float]]:
    """All links of a testbed are equally long."""
    found = positions(1.0 - np.eye(len(story.sites)))
    return {site: (x, 1 - y) for site, (x, y) in zip(story.sites, found, strict=True)}


def _limit(moment: AreaMoment, pair: Pair) -> float:
    link = next(one for one in moment.links if (one.source, one.target) == pair)
    return link.bits_per_s / 1e6 if link.up else 0.0


def _share(used: Mapping[Pair, float], source: str, target: str, now: AreaMoment) -> float:
    limit = _limit(now, (source, target))
    return used.get((source, target), 0.0) / limit if limit else 1.0
