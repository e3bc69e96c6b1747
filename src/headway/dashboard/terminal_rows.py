"""The table of `headway top`: what stands in each cell. Which rows, in which order, is told by `chosen`."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf
from typing import Any

from rich.text import Text

from headway.dashboard.rows import WatchedRow, urgency
from headway.dashboard.words import clock, hour, lasting

BARS = "▁▂▃▄▅▆▇█"
SPARK = 16  # windows in a cell
TROUBLED = ("failed", "restarting", "put aside")


@dataclass(frozen=True, slots=True)
class TopColumn:
    """A column: its head, what is in it, and what it is sorted by."""

    key: str
    head: str
    cell: Callable[[WatchedRow, int, int], Text]  # of a row, now, and with this target
    order: Callable[[WatchedRow, int], Any]
    greatest_first: bool = False


def _plain(text: str, style: str = "", justify: Any = "right") -> Text:
    return Text(text, style=style, justify=justify, no_wrap=True, overflow="ellipsis")


def slack_ms(row: WatchedRow, now: int) -> float:
    return inf if row.begin_by is None else row.begin_by - now


def lag_ms(row: WatchedRow, now: int) -> int | None:
    return None if row.watermark is None else now - row.watermark


def _due(row: WatchedRow, now: int) -> float:
    return inf if row.due is None else row.due


def _least(value: float | None) -> float:
    """What is not known is less than anything that is known."""
    return -inf if value is None else value


def _why(row: WatchedRow, now: int, target: int) -> Text:
    return _plain(row.error or row.because or "-", "red" if row.error else "dim", "left")


def _slack(row: WatchedRow, now: int, target: int) -> Text:
    slack = slack_ms(row, now)
    style = "red" if slack < -target else "yellow" if slack < 0 else ""
    return _plain("-" if slack == inf else lasting(slack), style)


def _latency(row: WatchedRow, now: int, target: int) -> Text:
    values = row.latencies[-SPARK:]
    most = max([*values, target], default=target)
    made = _plain("", justify="left")
    for value in values:
        bar = BARS[min(len(BARS) - 1, max(0, value) * len(BARS) // (most + 1))]
        made.append(bar, style="red" if value > target else "cyan")
    return made


def _state(row: WatchedRow, now: int, target: int) -> Text:
    style = (
        "red bold"
        if row.state in TROUBLED
        else "cyan"
        if row.state == "in a batch"
        else "dim"
        if row.state == "ended"
        else ""
    )
    return _plain(row.state, style, "left")


def _time(ms: float | None, target: int = 1 << 60) -> Text:
    return _plain("-" if ms is None else lasting(ms), "red" if ms is not None and ms > target else "")


def _count(n: float | None, style: str = "") -> Text:
    return _plain("-" if n is None else f"{n:,.0f}", style if n else "dim")


COLUMNS = (
    TopColumn("query", "query", lambda r, now, t: _plain(r.name, "bold", "left"), lambda r, now: r.name),
    TopColumn("state", "state", _state, lambda r, now: r.state),
    TopColumn("slack", "slack", _slack, slack_ms),
    TopColumn("next", "next window", lambda r, now, t: _plain("-" if r.deadline is None else hour(r.deadline)), _due),
    TopColumn("windows", "latencies", _latency, lambda r, now: max(r.latencies, default=-1), True),
    TopColumn("latency", "latency", lambda r, now, t: _time(r.last_ms, t), lambda r, now: _least(r.last_ms), True),
    TopColumn("p99", "p99", lambda r, now, t: _time(r.p99_ms, t), lambda r, now: _least(r.p99_ms), True),
    TopColumn("overdue", "overdue", lambda r, now, t: _count(r.overdue, "yellow"), lambda r, now: r.overdue, True),
    TopColumn("lag", "watermark", lambda r, now, t: _time(lag_ms(r, now)), lambda r, now: _least(lag_ms(r, now)), True),
    TopColumn("rows", "waiting", lambda r, now, t: _count(r.backlog), lambda r, now: _least(r.backlog), True),
    TopColumn("late", "late rows", lambda r, now, t: _count(r.late, "yellow"), lambda r, now: r.late, True),
    TopColumn("batch", "batch", lambda r, now, t: _time(r.took_ms), lambda r, now: _least(r.took_ms), True),
    TopColumn("why", "last decision", _why, lambda r, now: r.decided_at or 0, True),
)
KEYS = tuple(column.key for column in COLUMNS)


def cells(row: WatchedRow, now: int, target_ms: int) -> tuple[Text, ...]:
    return tuple(column.cell(row, now, target_ms) for column in COLUMNS)


def chosen(rows: Iterable[WatchedRow], words: str, by: str | None, down: bool, now: int) -> list[WatchedRow]:
    """Those whose name, state or reason has these words, in the order of a column; by urgency where none is named."""
    found = [row for row in rows if words.lower() in f"{row.name} {row.state} {row.because}".lower()]
    found.sort(key=lambda row: row.name)
    if by is None:
        return sorted(found, key=lambda row: urgency(row, now), reverse=down)
    column = COLUMNS[KEYS.index(by)]
    return sorted(found, key=lambda row: column.order(row, now), reverse=down != column.greatest_first)


def headline(head: dict[str, Any], rows: list[WatchedRow]) -> str:
    """One line about all of them."""
    busy = sum(row.state == "in a batch" for row in rows)
    windows, overdue = sum(row.windows for row in rows), sum(row.overdue for row in rows)
    slots = f"{busy} of {head['slots']} slots busy" if head["slots"] else f"{busy} in a batch"
    live = "" if head["live"] else ", ended"
    when = clock(head["now"], date=True)[:19]
    on_time = "no window yet"
    if windows:
        on_time = f"{1 - overdue / windows:.1%} of {windows:,} windows within {lasting(head['target_ms'])}"
    return f"{head['journal']}{live}   {when}   {len(rows)} queries, {slots}   {on_time}   {head['policy']}"
