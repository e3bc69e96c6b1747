"""Reads a journal that others write: what is new since the last look, and single pages of what is old.

Every call does a bounded piece of work: so many rows, and so many milliseconds of sqlite's. The file is opened for reading
alone, so nothing that happens here can hold up the writer.
"""

import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import Any

from headway.dashboard.book import Book
from headway.dashboard.lines import BatchLine, DecisionLine, NoteLine
from headway.errors import HeadwayError
from headway.loop import codec
from headway.loop.journal import JournalReader
from headway.loop.questions.order import NAME as ORDER
from headway.model.time import EventMs, WallMs
from headway.model.view import QueryView

FIRST_LINES = 20_000  # of each kind that are read of an old journal; the rest is a matter of its pages
MORE_LINES = 5_000  # of each kind at one look
LONGEST_S = 2.0  # that sqlite may take for one question
_STEPS = 10_000  # of sqlite's machine between two looks at the time
_BATCH = "id, at, query, batch, began, took_ms, rows, watermark, late_rows, dropped, state_rows, state_bytes"
_DECISION = "id, at, query, kind, because, receipt, question, scope, policy"
_NOTE = "id, at, query, text"


class TooMuch(HeadwayError):
    """A question that would take too long."""


class JournalFile(JournalReader):
    """One connection to a journal, for one thread at a time. Whatever is asked in SQL here has so many seconds."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path = path
        self._until = inf
        self._db.set_progress_handler(lambda: int(time.monotonic() > self._until), _STEPS)

    def close(self) -> None:
        self._db.close()

    def all(self, sql: str, arguments: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._in_time():
            return self._db.execute(sql, arguments).fetchall()

    def one(self, sql: str, arguments: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        found = self.all(sql, arguments)
        return found[0] if found else None

    def batch_lines(self, where: str, arguments: Sequence[Any], most: int) -> list[BatchLine]:
        rows = self.all(f"select {_BATCH} from batches where {where} limit {int(most)}", arguments)
        return [batch_line(row) for row in rows]

    def decision_lines(self, where: str, arguments: Sequence[Any], most: int, told: bool = False) -> list[DecisionLine]:
        """With `told`, the decisions themselves where their kind does not say all."""
        more = ", case when question not in ('order', 'request', 'adaptation') then decided end" if told else ""
        rows = self.all(f"select {_DECISION}{more} from entries where {where} limit {int(most)}", arguments)
        return [DecisionLine(*row) for row in rows]

    def note_lines(self, where: str, arguments: Sequence[Any], most: int) -> list[NoteLine]:
        return [NoteLine(*row) for row in self.all(f"select {_NOTE} from notes where {where} limit {int(most)}", arguments)]

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        self._until = time.monotonic() + LONGEST_S
        try:
            yield
        except sqlite3.OperationalError as error:
            if "interrupted" not in str(error):
                raise HeadwayError(f"journal = {str(self.path)!r}: it cannot be read now: {error}") from None
            raise TooMuch(f"the journal took longer than {LONGEST_S:g} s to answer: ask for one query, or less") from None
        finally:
            self._until = inf


class Follower:
    """Fills a book with what is new in a journal."""

    def __init__(self, file: JournalFile, book: Book) -> None:
        self._file, self.book = file, book
        self._seen: int | None = None  # the file's own count of changes
        self._last: dict[str, int] = {}  # the newest line of each kind that was read
        self._views: dict[int, QueryView] = {}
        self._snapshot = 0

    def look(self) -> bool:
        """Read what is new; False if nothing is. There may be more than is read at once: look again."""
        (seen,) = self._file.all("pragma data_version")[0]
        if seen == self._seen:
            return False
        first = not self._last
        self.book.version += 1
        self._read_views()
        more = [self._read_decisions(first), self._read_batches(first), self._read_notes(first)]
        self._seen = None if any(more) else seen
        return True

    def _read_decisions(self, first: bool) -> bool:
        after = self._after("entries", first)
        lines = self._file.decision_lines("id > ? order by id", (after,), FIRST_LINES if first else MORE_LINES, told=True)
        for line in lines:
            self.book.take_decision(line)
        return self._upto("entries", lines)

    def _read_batches(self, first: bool) -> bool:
        after = self._after("batches", first)
        lines = self._file.batch_lines("id > ? order by id", (after,), FIRST_LINES if first else MORE_LINES)
        for line in lines:
            self.book.take_batch(line)
        return self._upto("batches", lines)

    def _read_notes(self, first: bool) -> bool:
        after = self._after("notes", first)
        lines = self._file.note_lines("id > ? order by id", (after,), FIRST_LINES if first else MORE_LINES)
        for line in lines:
            self.book.take_note(line)
        return self._upto("notes", lines)

    def _after(self, table: str, first: bool) -> int:
        if not first:
            return self._last[table]
        (newest,) = self._file.all(f"select coalesce(max(id), 0) from {table}")[0]
        self._last[table] = max(0, newest - FIRST_LINES)
        return self._last[table]

    def _upto(self, table: str, lines: Sequence[BatchLine | DecisionLine | NoteLine]) -> bool:
        if lines:
            self._last[table] = lines[-1].id
        return len(lines) >= MORE_LINES

    def _read_views(self) -> None:
        """The newest snapshot has a view of every query; most of them are those of the one before."""
        row = self._file.one(
            "select id, slots, memory, views from entries where question = ? order by id desc limit 1", (ORDER,)
        )
        if row is None or row[0] == self._snapshot:
            return
        self._snapshot, slots, memory = row[0], row[1], json.loads(row[2])
        wanted = json.loads(row[3])
        shown = set(wanted)
        self._views = {number: view for number, view in self._views.items() if number in shown}
        lacking = [number for number in wanted if number not in self._views]
        for at in range(0, len(lacking), 500):
            part = lacking[at : at + 500]
            holes = ",".join("?" * len(part))
            for number, text in self._file.all(f"select id, view from views where id in ({holes})", part):
                self._views[number] = codec.query_view(text)
        found = [self._views[number] for number in wanted if number in self._views]
        self.book.take_views(found, slots, float(memory.get("used", 0.0)))


def batch_line(row: Sequence[Any]) -> BatchLine:
    number, at, query, batch, began, took_ms, rows, watermark, late, dropped, state_rows, state_bytes = row
    mark = None if watermark is None or watermark <= 0 else EventMs(watermark)
    counts = (int(count or 0) for count in (late, dropped, state_rows, state_bytes))
    return BatchLine(number, WallMs(at), query, batch, WallMs(began), took_ms, rows, mark, *counts)


def id_at(file: JournalFile, table: str, at: int) -> int:
    """The first line of a table that is not older than this moment: lines are in the order of their time, nearly."""
    low, high = file.all(f"select coalesce(min(id), 0), coalesce(max(id), 0) + 1 from {table}")[0]
    while low < high:
        middle = (low + high) // 2
        row = file.one(f"select id, at from {table} where id >= ? order by id limit 1", (middle,))
        if row is not None and row[1] < at:
            low = row[0] + 1
        else:
            high = middle
    return int(low)
