"""The page of one query: where it stands, how its windows came out, what its batches cost, how late its rows are."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from headway.dashboard.book import QueryBook, told_of
from headway.dashboard.lines import BatchLine, WindowOut
from headway.dashboard.reading import JournalFile
from headway.dashboard.windows import cumulated
from headway.estimate.tail import EDGES, Tail
from headway.model.patience import PatienceView
from headway.model.sampling import StreamView
from headway.model.view import QueryView

AROUND = 6  # windows whose progress is shown
BUCKETS = 40  # of the histogram of delays


@dataclass(frozen=True, slots=True)
class QueryStretch:
    """What a query did in some stretch of time."""

    batches: list[BatchLine]
    windows: list[WindowOut]


def query_page(
    book: QueryBook, delays: Mapping[str, Mapping[str, Any]], stretch: QueryStretch | None = None
) -> dict[str, Any]:
    """Series of one query, the newest unless a `stretch` is given; `delays` by input, see `delays_of`."""
    shown = QueryStretch(list(book.batches), list(book.windows)) if stretch is None else stretch
    windows, batches = shown.windows, shown.batches
    view = book.view
    return {
        "windows": [
            {"end": w.end, "due": w.due, "out": w.out, "latency_ms": w.latency_ms, "batch": w.batch} for w in windows
        ],
        "cdf": cumulated([w.latency_ms for w in windows]),
        "batches": [
            {
                "batch": b.batch,
                "began": b.began,
                "at": b.at,
                "took_ms": b.took_ms,
                "rows": b.rows,
                "watermark": b.watermark,
                "late": b.late_rows,
                "state_rows": b.state_rows,
            }
            for b in batches
        ],
        "cost": None if view is None else {"fixed_ms": view.fixed_ms, "per_row_ms": view.per_row_ms},
        "inputs": [] if view is None else [_input(book, i.name, i, delays.get(i.name)) for i in view.inputs],
        "grids": []
        if view is None
        else [{"period_ms": g.period_ms, "offset_ms": g.offset_ms} for g in view.deadlines.grids],
        "announced": None if view is None else view.announced or None,
        "swept": None if view is None else view.swept or None,
        "progress": [] if view is None or not view.swept else list(_progress(view, book.patience_ms(batch_at(book)))),
    }


def batch_at(book: QueryBook) -> int:
    """When its newest batch was done."""
    return book.batches[-1].at if book.batches else 0


def _progress(view: QueryView, patience_ms: int) -> Iterator[dict[str, Any]]:
    """The windows around the watermark: what came out last, what is announced, and how far those are that are open."""
    known = [i.frontier for i in view.inputs if i.frontier is not None and not i.idle]
    frontier = min(known, default=None)
    end = view.deadlines.upto(view.swept)
    for _ in range(AROUND):
        following = view.deadlines.after(end)
        state = "out" if end <= view.swept else "announced" if end <= view.announced else "open"
        begins = end - view.deadlines.period_ms
        read = None if frontier is None else min(1.0, max(0.0, (frontier - begins) / max(1, end - begins)))
        yield {"end": end, "due": end + patience_ms, "state": state, "read": 1.0 if state == "out" else read}
        end = following


def _input(book: QueryBook, name: str, view: Any, delays: Mapping[str, Any] | None) -> dict[str, Any]:
    scope = f"{book.name}/{name}"
    known = None if view.delay is None else {
        "mean_ms": view.delay.mean_ms, "low_ms": view.delay.low_ms, "high_ms": view.delay.high_ms,
        "epochs": view.delay.epochs,
    }  # fmt: skip
    waits = [(at, ms) for at, ms in book.waits.get(scope, ())][-200:]
    return {
        "name": name, "live": view.live, "idle": view.idle, "frontier": view.frontier, "rows_per_s": view.rows_per_s,
        "patience_ms": view.patience_ms, "late": view.late_rows, "timeless": view.timeless, "future": view.future,
        "held_until": view.held_until, "backlog": view.backlog, "delay": known, "waits": waits,
        "histogram": None if delays is None else delays,
    }  # fmt: skip


def delays_of(file: JournalFile, query: str, inputs: list[str]) -> dict[str, dict[str, Any]]:
    """By input, the histogram of delays that the newest decision about it was made by, where one was."""
    found: dict[str, dict[str, Any]] = {}
    for name in inputs[:20]:
        row = file.one(
            "select at, seen from entries where query = ? and scope = ? and question in ('patience', 'sampling')"
            " order by at desc, id desc limit 1",
            (query, f"{query}/{name}"),
        )
        if row is None or row[1] is None:
            continue
        made = histogram_of(told_of(row[1]))
        if made:
            found[name] = {"at": row[0], "bins": made}
    return found


def histogram_of(seen: Any) -> list[tuple[float, float, float]]:
    """(from ms, to ms, share of the rows), of what a decision saw of delays; empty where it saw none."""
    match seen:
        case PatienceView(parts=parts):
            tails = [part.weights for part in parts if isinstance(part, Tail) and part.rows > 0]
            return _binned(EDGES, np.sum(tails, axis=0)) if tails else []
        case StreamView(delays=delays) if len(delays) > 1:
            ms, share = np.array(delays).T
            weights = np.diff(share, prepend=0.0)
            return _own_bins(ms, weights) or _binned(ms, weights)
    return []


def _own_bins(edges: Any, weights: Any) -> list[tuple[float, float, float]] | None:
    """The bins themselves, where they are few enough to be seen."""
    held = np.flatnonzero(weights)
    if not len(held) or held[-1] >= BUCKETS:
        return None
    low = np.concatenate([[0.0], edges])
    shares = weights / weights.sum()
    return [
        (float(low[n]), float(edges[n]), float(shares[n])) for n in range(held[-1] + 1) if edges[n] > low[n] or shares[n]
    ]


def _binned(edges: Any, weights: Any) -> list[tuple[float, float, float]]:
    """At most `BUCKETS` bins of the same width; each edge ends the stretch that its weight lies in."""
    total = float(weights.sum())
    held = np.flatnonzero(weights)
    if total <= 0 or not len(held):
        return []
    most = float(edges[held[-1]]) or 1.0
    reached = np.concatenate([[0.0], np.cumsum(weights) / total])
    at = np.concatenate([[0.0], edges]) if edges[0] > 0 else np.concatenate([[-1e-9], edges])
    places = np.linspace(0.0, most, BUCKETS + 1)
    shares = np.interp(places, at, reached)
    shares[0] = 0.0  # rows without any delay are in the first bin
    return [
        (float(low), float(high), float(share))
        for low, high, share in zip(places, places[1:], np.diff(shares), strict=False)
    ]
