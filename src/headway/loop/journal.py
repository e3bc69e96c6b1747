"""The journal: every snapshot, wish, decision, reason and receipt, in one sqlite file.

A snapshot holds a view of every query, yet between two decisions only one or two of them change. So each view is written
once, and a snapshot is a list of their numbers. A thread of its own writes; the controller never waits for the disk.
"""

import json
import queue
import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError
from headway.loop import codec
from headway.loop.controller import Entry
from headway.model.message import BatchSeen
from headway.model.time import WallMs
from headway.model.view import QueryView

_SCHEMA = """
create table if not exists views (id integer primary key, query text, view text);
create table if not exists entries (
  id integer primary key, at integer, query text, kind text, because text, decided text, proposed text,
  receipt text, slots integer, memory text, views text);
create table if not exists batches (
  id integer primary key, at integer, query text, batch integer, began integer, took_ms integer, rows integer,
  watermark integer, late_rows integer, dropped integer, state_rows integer, state_bytes integer);
create table if not exists notes (id integer primary key, at integer, query text, text text);
create index if not exists entries_query on entries (query, at);
create index if not exists batches_query on batches (query, at);
"""
KEEP_ENTRIES = 500_000  # about 200 MB; older decisions are forgotten


class Journal:
    """Appends to a journal file. Survives a crash up to the last half second."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._queue: queue.SimpleQueue[tuple[str, Any] | None] = queue.SimpleQueue()
        self._known: dict[str, tuple[QueryView, int]] = {}
        self._db = sqlite3.connect(self.path, check_same_thread=False, isolation_level=None)
        self._db.executescript("pragma journal_mode=wal; pragma synchronous=normal;" + _SCHEMA)
        self._pause = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headway-journal", daemon=True)
        self._thread.start()

    def append(self, entry: Entry) -> None:
        self._put("entry", entry)

    def batch(self, seen: BatchSeen, view: QueryView) -> None:
        self._put("batch", (seen, sum(i.late_rows for i in view.inputs)))

    def note(self, at: WallMs, query: str, text: str) -> None:
        self._put("note", (at, query, text))

    def close(self) -> None:
        self._queue.put(None)
        self._pause.set()
        self._thread.join(timeout=10)
        self._db.close()

    def _put(self, kind: str, item: Any) -> None:
        if self._thread.is_alive():  # nobody would take it out again
            self._queue.put((kind, item))

    def _run(self) -> None:
        try:
            self._write()
        except sqlite3.Error as error:  # a full disk, say: queries must go on all the same
            sys.stderr.write(f"headway: the journal {self.path} cannot be written ({error}): decisions go on unrecorded\n")

    def _write(self) -> None:
        written = 0
        while True:
            items = [self._queue.get()]
            while items[-1] is not None and not self._queue.empty() and len(items) < 1000:
                items.append(self._queue.get())
            self._db.execute("begin immediate")  # another runtime may write to the same file
            for item in items:
                if item is not None:
                    getattr(self, f"_write_{item[0]}")(item[1])
            written += len(items)
            if written >= 10_000:
                written = 0
                self._forget()
            self._db.execute("commit")
            if items[-1] is None:
                return
            # One commit for whatever came in half a second: a commit costs more than the rows in it.
            if self._queue.empty():
                self._pause.wait(0.5)

    def _write_entry(self, entry: Entry) -> None:
        views = [self._view_id(view) for view in entry.seen.queries]
        query = getattr(entry.decided, "query", "") or getattr(entry.proposed, "query", "")
        kind = type(entry.decided).__name__.lower()
        row = (
            entry.at, query, kind, entry.decided.because, codec.dumps(entry.decided), codec.dumps(entry.proposed),
            entry.receipt, entry.seen.slots, codec.dumps(entry.seen.memory), json.dumps(views),
        )  # fmt: skip
        self._db.execute("insert into entries values (null,?,?,?,?,?,?,?,?,?,?)", row)

    def _write_batch(self, item: tuple[BatchSeen, int]) -> None:
        b, late = item
        row = (b.ended, b.query, b.batch, b.began, b.took_ms, sum(i.rows for i in b.inputs), b.watermark, late, b.dropped,
               b.state_rows, b.state_bytes)  # fmt: skip
        self._db.execute("insert into batches values (null,?,?,?,?,?,?,?,?,?,?,?)", row)

    def _write_note(self, item: tuple[WallMs, str, str]) -> None:
        self._db.execute("insert into notes values (null,?,?,?)", item)

    def _view_id(self, view: QueryView) -> int:
        known = self._known.get(view.name)
        if known is not None and known[0] is view:
            return known[1]
        number = self._db.execute("insert into views values (null,?,?)", (view.name, codec.dumps(view))).lastrowid or 0
        self._known[view.name] = (view, number)
        return number

    def _forget(self) -> None:
        (last,) = self._db.execute("select coalesce(max(id), 0) from entries").fetchone()
        if last <= KEEP_ENTRIES:
            return
        self._db.execute("delete from entries where id <= ?", (last - KEEP_ENTRIES,))
        (first,) = self._db.execute("select views from entries order by id limit 1").fetchone()
        # Numbers only grow: a view older than the oldest of the first snapshot kept is in no snapshot.
        self._db.execute("delete from views where id < ?", (min(json.loads(first), default=0),))


@dataclass(frozen=True, slots=True)
class Line:
    """One decision as it stands in the journal."""

    id: int
    at: WallMs
    query: str
    kind: str
    because: str
    receipt: str


class JournalReader:
    """Reads a journal, also while it is being written."""

    def __init__(self, path: Path | str) -> None:
        if not Path(path).is_file():
            raise HeadwayError(
                f"journal = {str(path)!r}: expected a journal file, as named by Runtime(journal=...) or headway run"
            )
        try:
            self._db = sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)
            self._db.execute("select count(*) from entries")
        except sqlite3.DatabaseError:
            raise HeadwayError(f"journal = {str(path)!r}: expected a headway journal, but it is some other file") from None

    def queries(self) -> list[str]:
        return [name for (name,) in self._db.execute("select distinct query from batches order by query")]

    def last_grant(self, query: str, at: WallMs | None = None) -> Line | None:
        """The newest grant of `query`, or the newest not later than `at`."""
        with closing(
            self._db.execute(
                "select id, at, query, kind, because, receipt from entries where query = ? and kind = 'grant'"
                " and at <= ? order by id desc limit 1",
                (query, at if at is not None else 1 << 62),
            )
        ) as rows:
            row = rows.fetchone()
        return Line(*row) if row else None

    def entry(self, line: int) -> Entry:
        row = self._db.execute(
            "select at, decided, proposed, receipt, slots, memory, views from entries where id = ?", (line,)
        ).fetchone()
        return self._entry(row)

    def entries(self) -> Iterator[Entry]:
        for row in self._db.execute("select at, decided, proposed, receipt, slots, memory, views from entries order by id"):
            yield self._entry(row)

    def batch_after(self, query: str, at: WallMs) -> dict[str, Any] | None:
        """The batch that a grant of that moment led to."""
        cursor = self._db.execute("select * from batches where query = ? and at >= ? order by id limit 1", (query, at))
        names = [column[0] for column in cursor.description]
        row = cursor.fetchone()
        return dict(zip(names, row, strict=True)) if row else None

    def notes(self, query: str, since: int = 0) -> list[tuple[int, str]]:
        return list(self._db.execute("select at, text from notes where query = ? and at >= ? order by id", (query, since)))

    def _entry(self, row: tuple[Any, ...]) -> Entry:
        at, decided, proposed, receipt, slots, memory, views = row
        ids = json.loads(views)
        found = dict(self._db.execute(f"select id, view from views where id in ({','.join('?' * len(ids))})", ids))
        return codec.entry(at, decided, proposed, receipt, slots, memory, [found[i] for i in ids])
