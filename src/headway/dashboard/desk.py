"""Answers what pages ask: overview, timeline, one query, decisions, approximate answers, fleet, wide area, stories.

It reads the journal, and the status that the runtime has published beside it, and nothing else. Any thread may ask.
"""

import json
from dataclasses import asdict
from typing import Any

from headway.dashboard import approximate_page, area_page, decisions, fleet_page, late_window, query_page, timeline
from headway.dashboard.book import QueryBook
from headway.dashboard.glance import Glance
from headway.dashboard.lines import BatchLine, WindowOut
from headway.dashboard.reading import JournalFile, id_at
from headway.dashboard.rows import plain, row_of
from headway.dashboard.spark_link import batch_page
from headway.dashboard.story import story
from headway.dashboard.windows import windows_in
from headway.dashboard.words import hour
from headway.errors import HeadwayError, SettingError
from headway.model.time import EventMs

SPAN_MS, MOST_SPAN_MS, MOST_BARS = 20_000, 3_600_000, 4_000
QUERY_SPAN_MS, MOST_QUERY_SPAN_MS = 120_000, 86_400_000
LONGEST_BATCH_MS = 60_000  # a batch that ended so long after a stretch is not looked for in it
WORST = 8


class NoSuchQuery(HeadwayError):
    """A page of a query that the journal does not know."""


class PageDesk:
    """One answer for each page."""

    def __init__(self, glance: Glance) -> None:
        self.glance, self._lock, self._book = glance, glance.lock, glance.book
        self._file = JournalFile(glance.journal)

    def overview(self, since: int = -1) -> dict[str, Any]:
        """All queries, or those that have changed after version `since`."""
        with self._lock:
            return self.glance.head() | {"rows": self.glance.rows(since)}

    def timeline(self, since: int | None, upto: int | None) -> dict[str, Any]:
        """Batches that ran in a stretch of time, at most an hour of it."""
        with self._lock:
            upto = self.glance.now if upto is None else upto
            since = upto - SPAN_MS if since is None else since
            if not 0 < upto - since <= MOST_SPAN_MS:
                raise SettingError("from", since, f"a moment before `to`, by {MOST_SPAN_MS // 60_000} minutes at most")
            file = self._file
            first, last = id_at(file, "batches", since), id_at(file, "batches", upto + LONGEST_BATCH_MS)
            batches = file.batch_lines("id between ? and ? and began < ? order by id", (first, last, upto), MOST_BARS)
            made = timeline.bars(batches, timeline.by_batch(self._windows(batches)))
            oldest = file.one("select at from batches order by id limit 1")
            return self.glance.head() | {
                "from": since, "to": upto, "bars": [asdict(bar) for bar in made], "cut": len(batches) == MOST_BARS,
                "lanes": 1 + max((bar.lane for bar in made), default=-1), "first": None if oldest is None else oldest[0],
            }  # fmt: skip

    def in_spark(self, name: str, batch: int) -> str:
        """Where Spark's own pages show this batch. Spark is asked without the lock: it may take its time."""
        with self._lock:
            self._known(name)
            ui, status = self.glance.ui, self.glance.statuses.get(name)
        return batch_page(ui, status, batch)

    def query(self, name: str, since: int | None = None, upto: int | None = None) -> dict[str, Any]:
        """One query: its newest batches, or those of a stretch."""
        with self._lock:
            book = self._known(name)
            inputs = [] if book.view is None else [i.name for i in book.view.inputs]
            delays = query_page.delays_of(self._file, name, inputs)
            row = plain(row_of(book, self.glance.statuses.get(name), self.glance.now, self.glance.ui))
            notes = self._file.note_lines("query = ? order by id desc", (name,), 50)
            told = [{"at": note.at, "text": note.text} for note in notes]
            stretch = None if upto is None else self._stretch(book, since, upto)
            oldest = self._file.one("select at from batches where query = ? order by at limit 1", (name,))
            more = {"row": row, "notes": told, "first": None if oldest is None else oldest[0]}
            return self.glance.head() | more | query_page.query_page(book, delays, stretch)

    def decisions(self, wanted: dict[str, str]) -> dict[str, Any]:
        with self._lock:
            return self.glance.head() | decisions.page(self._file, self._book, wanted)

    def approximate(self) -> dict[str, Any]:
        with self._lock:
            books = [book for _, book in sorted(self._book.queries.items()) if book.sampled]
            return self.glance.head() | {"inputs": approximate_page.approximate_page(self._file, books)}

    def fleet(self, before: int | None) -> dict[str, Any]:
        with self._lock:
            return self.glance.head() | fleet_page.fleet_page(self._file, before)

    def area(self, pipeline: str | None, before: int | None) -> dict[str, Any]:
        with self._lock:
            return self.glance.head() | area_page.area_page(self._file, pipeline, before)

    def story(self, name: str, end: int | None) -> dict[str, Any]:
        """Of the window that ends there, or of the worst of the newest."""
        with self._lock:
            self._known(name)
            worst = late_window.worst_windows(self._file, name, WORST)
            told = [{"end": w.end, "window": hour(w.end), "latency_ms": w.latency_ms} for w in worst]
            if end is None and not worst:
                return {"lines": [], "worst": []}
            case = late_window.case_of(self._file, name, worst[0].end if end is None else end)
            return {"end": case.window.end, "lines": list(story(self._file, case)), "worst": told}

    def _stretch(self, book: QueryBook, since: int | None, upto: int) -> query_page.QueryStretch:
        since = upto - QUERY_SPAN_MS if since is None else since
        if not 0 < upto - since <= MOST_QUERY_SPAN_MS:
            raise SettingError("since", since, f"a moment before `upto`, by {MOST_QUERY_SPAN_MS // 3_600_000} hours at most")
        file, name = self._file, book.name
        found = file.batch_lines("query = ? and at between ? and ? order by at, id", (name, since, upto), MOST_BARS)
        if not found or book.view is None:
            return query_page.QueryStretch(found, [])
        earlier = file.batch_lines("query = ? and at < ? order by at desc, id desc", (name, found[0].at), 1)
        before = earlier[0].watermark or EventMs(0) if earlier else None
        patience_ms = late_window.patience_of(file, name, book.view)
        return query_page.QueryStretch(found, windows_in(found, book.view.deadlines, patience_ms, before))

    def _windows(self, batches: list[BatchLine]) -> list[tuple[str, WindowOut]]:
        found = list[tuple[str, WindowOut]]()
        for name, own in timeline.by_query(batches).items():
            book = self._book.of_known(name)
            if book.view is not None:
                earlier = self._file.batch_lines("query = ? and at < ? order by at desc, id desc", (name, own[0].at), 1)
                before = earlier[0].watermark or EventMs(0) if earlier else None
                found += [(name, w) for w in windows_in(own, book.view.deadlines, book.patience_ms, before)]
        return found

    def _known(self, name: str) -> QueryBook:
        book = self._book.queries.get(name)
        if book is None:
            raise NoSuchQuery(f"query = {json.dumps(name[:80])}: the journal knows none of this name")
        return book
