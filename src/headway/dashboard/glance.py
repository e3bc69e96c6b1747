"""All queries as they stand, kept up to date: by what is new in the journal, and by the status that a runtime publishes."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headway.dashboard.book import Book
from headway.dashboard.metrics_text import EDGES_MS
from headway.dashboard.reading import Follower, JournalFile
from headway.dashboard.rows import plain, row_of
from headway.loop import published
from headway.model.status import QueryStatus

FRESH_MS = 10_000  # a status or a journal that is older is of a runtime that has ended, or that hangs


def wall_ms() -> int:
    return time.time_ns() // 1_000_000


class Glance:
    """What is known, kept up to date by `look`. A reader holds its lock."""

    def __init__(self, journal: Path, target_ms: int = 1_000, now: Callable[[], int] = wall_ms) -> None:
        self.journal, self._now = journal, now
        self.book = Book(target_ms, EDGES_MS)
        self.lock = threading.RLock()
        self.version = 0
        self.told: published.PublishedStatus | None = None
        self.statuses: dict[str, QueryStatus] = {}  # by query, while the runtime lives
        self._follower = Follower(JournalFile(journal), self.book)
        self._rows: dict[str, tuple[int, dict[str, Any]]] = {}  # by query: since which version, and as JSON has it
        self._stamp, self._ran = 0, False  # of the status file; whether its runtime was there at the last look
        self._made: dict[str, int] = {}  # by query: of which version of the book its row is

    def look(self) -> bool:
        """Read what is new; False if nothing is."""
        with self.lock:
            news = self._follower.look()
            news |= self._read_status()
            news |= self.running != self._ran  # a runtime that was killed tells nothing any more
            if news:
                self._ran = self.running
                self._make_rows()
            return news

    def _read_status(self) -> bool:
        """What the runtime has told since; False if that is the same."""
        place = published.place_of(self.journal)
        try:
            stamp = place.stat().st_mtime_ns
        except OSError:
            stamp = 0
        if stamp == self._stamp:
            return False
        self._stamp, before, self.told = stamp, self.told, published.read(place)
        return self.told != before

    def _make_rows(self) -> None:
        """Those of queries that have changed."""
        now, self.version = self.now, self.version + 1
        statuses = {q.name: q for q in self.told.status.queries} if self.told is not None and self.running else {}
        for name in statuses.keys() - self.book.queries.keys():
            self.book.of(name)
        for name, book in self.book.queries.items():
            status = statuses.get(name)
            if book.version <= self._made.get(name, -1) and status == self.statuses.get(name):
                continue
            made = plain(row_of(book, status, now, self.ui))
            self._made[name] = self.book.version
            if name not in self._rows or made != self._rows[name][1]:
                self._rows[name] = (self.version, made)
        self.statuses = statuses
        for gone in self._rows.keys() - self.book.queries.keys():
            del self._rows[gone]

    @property
    def wall(self) -> int:
        return self._now()

    @property
    def now(self) -> int:
        """The moment that is shown: now, while the journal is written; else that of the newest line."""
        return self._now() if self.live else self.newest

    @property
    def live(self) -> bool:
        return abs(self._now() - self.newest) < FRESH_MS

    @property
    def running(self) -> bool:
        """The runtime tells how it stands."""
        return self.told is not None and abs(self._now() - self.told.status.at) < FRESH_MS

    @property
    def newest(self) -> int:
        return max(self.book.at, 0 if self.told is None else self.told.status.at)

    @property
    def ui(self) -> str:
        return "" if self.told is None else self.told.ui

    def rows(self, since: int = -1) -> list[dict[str, Any]]:
        """All queries, or those that have changed after version `since`."""
        return [row for version, row in self._rows.values() if version > since]

    def names(self) -> list[str]:
        return list(self._rows)

    def head(self) -> dict[str, Any]:
        """What stands above every page."""
        book, status = self.book, None if self.told is None else self.told.status
        told = {} if status is None else {
            "cores": status.cores, "controller_restarts": status.controller_restarts,
            "controller_error": status.controller_error, "decisions": status.decisions, "decided_ms": status.decided_ms,
        }  # fmt: skip
        return {
            "version": self.version, "now": self.now, "live": self.live, "at": self.newest, "journal": self.journal.name,
            "target_ms": book.target_ms, "slots": book.slots or None, "policy": book.policy, "memory": book.memory,
            "fleet": book.fleet, "area": book.area, "oldest": book.oldest,
            "cores": None, "controller_restarts": 0, "controller_error": None,
            "decisions": sum(book.decisions.values()), "decided_ms": None, "queries": len(self._rows),
            "approximate": any(q.sampled for q in book.queries.values()),
        } | told  # fmt: skip
