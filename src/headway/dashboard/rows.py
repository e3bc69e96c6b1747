"""All queries at a glance: one row for each, from its book and from what the runtime says of it.

A row has no number that changes by the mere passing of time: it says since when and until when, and the page that shows it
counts from there. So a row is sent again only when something has happened to its query.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from headway.dashboard.book import Book, QueryBook, ended_as
from headway.dashboard.spark_link import statistics
from headway.dashboard.windows import quantiles
from headway.dashboard.words import readable
from headway.model.columns import Columns
from headway.model.sampling import Sampling
from headway.model.status import QueryStatus
from headway.model.time import WallMs
from headway.policy.order import Klink

SPARKS = 32  # windows in a sparkline
RECENT = 200  # windows that the quantiles are of
RANKS = {"failed": 0, "restarting": 1, "put aside": 2, "in a batch": 3, "at the gate": 4, "between batches": 5,
         "starting": 6, "ended": 7}  # fmt: skip


@dataclass(frozen=True, slots=True)
class WatchedRow:
    """One query, for tables. Moments are in milliseconds; None is what is not known."""

    name: str
    state: str
    since: int | None  # in this state
    policy: str  # that decided last
    deadline: int | None  # the end of the window that comes next
    due: int | None  # when its batch is wanted
    begin_by: int | None  # the latest moment for that batch to begin: what is left until then is its slack
    latencies: tuple[int, ...]  # of the newest windows, oldest first
    last_ms: int | None  # latency of the newest window
    p50_ms: float | None
    period_ms: int | None  # between two ends of its windows
    p99_ms: float | None
    windows: int
    overdue: int  # windows that came out later than the target
    watermark: int | None
    frontier: int | None  # the newest event time that was read, of the slowest input
    backlog: int | None
    rows_per_s: float
    rows: int
    batches: int
    late: int  # rows that came after their window was closed
    state_rows: int
    state_bytes: int
    fixed_ms: float | None  # what a batch costs, whatever it reads
    per_row_ms: float | None
    took_ms: int | None  # the last batch
    ended: int | None  # when it was done
    busy_ms: int
    patience_ms: int | None
    live: bool  # its rows keep up with the clock
    share: float | None  # of its rows that are taken, where it is sampled
    decided_at: int | None
    because: str  # the reason of the last decision, for people
    receipt: str
    error: str
    link: str  # its page in Spark's own UI


def row_of(book: QueryBook, status: QueryStatus | None, now: int, ui: str = "") -> WatchedRow:
    """The row of one query; without a status, or where that is older than its death, by the journal alone."""
    status = None if _died_since(book, status) else status
    view, last, windows = book.view, book.batches[-1] if book.batches else None, list(book.windows)
    p50, p99 = quantiles([w.latency_ms for w in windows[-RECENT:]], (0.5, 0.99))
    state, since = _state(book, status)
    decided = book.decided
    return WatchedRow(
        name=book.name, state=state, since=since, policy="" if decided is None else decided.policy,
        deadline=None if view is None else view.deadline or None, due=None if view is None else view.due,
        begin_by=_begin_by(book, now) if state not in ("ended", "failed") else None,
        latencies=tuple(w.latency_ms for w in windows[-SPARKS:]), last_ms=windows[-1].latency_ms if windows else None,
        p50_ms=p50, p99_ms=p99, windows=book.totals.windows, overdue=book.totals.overdue,
        watermark=book.watermark or None, frontier=_frontier(book), backlog=_backlog(book, now),
        rows_per_s=0.0 if view is None else view.rows_per_s, rows=book.totals.rows, batches=book.totals.batches,
        late=_late(book, status), state_rows=0 if last is None else last.state_rows,
        state_bytes=0 if last is None else last.state_bytes,
        fixed_ms=None if view is None else view.fixed_ms, per_row_ms=None if view is None else view.per_row_ms,
        took_ms=None if last is None else last.took_ms, ended=None if last is None else last.at,
        busy_ms=book.totals.busy_ms, patience_ms=None if view is None else book.patience_ms(now),
        period_ms=None if view is None else view.deadlines.period_ms,
        live=view is not None and view.live, share=_share(book),
        decided_at=None if decided is None else decided.at, because="" if decided is None else readable(decided.because),
        receipt="" if decided is None else decided.receipt, error=_error(book, status), link=_link(status, ui),
    )  # fmt: skip


def rows_of(
    book: Book, statuses: Mapping[str, QueryStatus], now: int, names: Iterable[str], ui: str = ""
) -> list[WatchedRow]:
    """The rows of these queries."""
    return [row_of(book.of_known(name), statuses.get(name), now, ui) for name in names]


def plain(row: WatchedRow) -> dict[str, Any]:
    """As JSON has it."""
    return asdict(row)


def urgency(row: WatchedRow, now: int) -> tuple[float, ...]:
    """Queries that need a look come first: what has failed, then the least slack."""
    return RANKS.get(row.state, 4) if row.state in ("failed", "restarting", "put aside") else 3, _slack(row, now)


def _slack(row: WatchedRow, now: int) -> float:
    return float("inf") if row.begin_by is None else row.begin_by - now


def _died_since(book: QueryBook, status: QueryStatus | None) -> bool:
    """The journal tells of its death, the status only of what was before: that is published once a second."""
    if status is None or status.over or status.state == "restarting" or book.ended is None:
        return False
    return ended_as(book) == "failed" and book.ended.at > status.since


def _state(book: QueryBook, status: QueryStatus | None) -> tuple[str, int | None]:
    if status is not None:
        return status.state, status.since
    if (over := ended_as(book)) is not None and book.ended is not None:
        return over, book.ended.at
    granted, last = book.granted, book.batches[-1] if book.batches else None
    if granted is None:
        return "starting", None
    if last is None or last.at < granted.at:
        return "in a batch", granted.at
    return "at the gate", last.at


def _begin_by(book: QueryBook, now: int) -> int | None:
    if book.view is None or book.view.due is None:
        return None
    (slack,) = Klink().slack_ms(Columns.of([book.view]), WallMs(now)).tolist()
    return round(now + slack) if np.isfinite(slack) else None


def _frontier(book: QueryBook) -> int | None:
    known = [] if book.view is None else [i.frontier for i in book.view.inputs if i.frontier is not None]
    return min(known) if known else None


def _backlog(book: QueryBook, now: int) -> int | None:
    if book.view is None or (not book.view.rows_per_s and not book.view.backlog):
        return None
    # No estimate looks ahead further than a minute: a query that has ended has no rows that come in.
    last = max([b.at for b in list(book.batches)[-1:]] + [0])
    return round(book.view.queued(WallMs(min(now, last + 60_000) if last else now)))


def _late(book: QueryBook, status: QueryStatus | None) -> int:
    if status is not None and status.inputs:
        return sum(i.late for i in status.inputs)
    return max((b.late_rows for b in list(book.batches)[-1:]), default=0)


def _share(book: QueryBook) -> float | None:
    answers: list[Sampling] = [kept[-1][1] for kept in book.sampled.values() if kept]
    return min((answer.share for answer in answers), default=None)


def _error(book: QueryBook, status: QueryStatus | None) -> str:
    if status is not None:
        return status.error or status.hangs or ""
    return "" if ended_as(book) != "failed" or book.ended is None else book.ended.text.removeprefix("failed: ")


def _link(status: QueryStatus | None, ui: str) -> str:
    return "" if status is None else statistics(ui, status.run)
