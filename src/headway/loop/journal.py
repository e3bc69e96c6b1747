"""The journal: every snapshot, wish, decision, reason and receipt, in one sqlite file.

A snapshot holds a view of every query, yet between two decisions only one or two of them change. So each view is written
once, and a snapshot is a list of their numbers. A thread of its own writes; the controller never waits for the disk. Items
that the disk is too slow or too full for are counted, and the count is a note in the journal as soon as one can be written.
"""

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError, aloud
from headway.loop import codec, journal_file
from headway.loop.backlog import Backlog
from headway.loop.journal_rows import Item, JournalRows, moment, write_note
from headway.loop.kernel import Entry
from headway.loop.questions.order import NAME as ORDER
from headway.model.message import BatchSeen
from headway.model.secrets import without_secrets
from headway.model.time import WallMs
from headway.model.view import QueryView

MOST_WAITING = 10_000  # items, of a few kB: what a disk may be behind; older ones are lost
AT_ONCE = 1_000
FORGET_EVERY = 10_000
RETRY_S = 5.0  # after a write that failed
PAUSE_S = 0.5  # between two commits, when nothing presses
_COLUMNS = "at, decided, proposed, receipt, slots, memory, views, question, scope, policy, seen"


class Journal:
    """Appends to a journal file. Survives a crash up to the last half second, and a full disk until there is room."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._backlog: Backlog[Item] = Backlog(MOST_WAITING)
        self._rows = JournalRows()
        self._db: sqlite3.Connection | None = journal_file.opened(self.path)
        self._written = FORGET_EVERY  # since it was last tidied up: runs that are too short to do so may share a file
        self._trouble: str | None = None  # since the last commit
        self._said: set[str] = set()
        self._pause, self._closing = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="headway-journal", daemon=True)
        self._thread.start()

    def append(self, entry: Entry) -> None:
        self._backlog.put(("entry", entry))

    def batch(self, seen: BatchSeen, view: QueryView) -> None:
        self._backlog.put(("batch", (seen, sum(i.late_rows for i in view.inputs))))

    def note(self, at: WallMs, query: str, text: str) -> None:
        """Written at once: notes are rare, and somebody waits for them. That a query has died is one."""
        self._backlog.put(("note", (at, query, without_secrets(text))))
        self._pause.set()

    def close(self) -> None:
        self._backlog.close()
        self._closing.set()
        self._pause.set()
        self._thread.join(timeout=10)

    def _run(self) -> None:
        while items := self._backlog.take(AT_ONCE):
            try:
                self._commit(items)
            except Exception as error:  # a full disk, say: queries must go on all the same
                again = self._trouble is not None
                self._failed(items, error)
                if again and self._backlog.closed:
                    break
                self._closing.wait(RETRY_S)
                continue
            # One commit for whatever came in half a second: a commit costs more than the rows in it.
            if not len(self._backlog) and not self._backlog.closed:
                self._pause.wait(PAUSE_S)
                self._pause.clear()
        if missing := len(self._backlog) + self._backlog.lost:
            self._say("end", f"has been closed, and {missing} decisions, batches and notes are not in it: {self._why}")
        if self._db is not None:
            self._db.close()

    def _commit(self, items: list[Item]) -> None:
        if self._db is None:
            self._db = journal_file.opened(self.path)
        db = self._db
        db.execute("begin immediate")  # another runtime may write to the same file
        if tidy := self._written >= FORGET_EVERY:
            journal_file.forget(db)
            self._rows.forget()
        (oldest,) = db.execute("select coalesce(min(id), 0) from views").fetchone()
        # The other runtime may have forgotten views that we still refer to.
        self._rows.forget(oldest)
        lost = self._backlog.lost
        if lost or self._trouble:
            self._write_gap(db, moment(items[0]), lost)
        unfit = [error for item in items if (error := self._write(db, item)) is not None]
        db.execute("commit")
        self._written = len(items) + (0 if tidy else self._written)
        self._backlog.told(lost)
        self._backlog.drop(len(unfit))
        self._trouble = repr(unfit[0]) if unfit else None

    def _failed(self, items: list[Item], error: Exception) -> None:
        """None of these items is in the file. The connection is closed, and a new one is tried later."""
        self._trouble = " ".join(str(error).split())
        self._rows.forget()
        self._backlog.give_back(items)
        if self._db is not None:
            with suppress(sqlite3.Error):
                self._db.close()  # and so take back what was begun
        self._db = None
        self._say("failure", f"cannot be written ({self._trouble}): decisions go on unrecorded, and it is tried again")

    def _say(self, what: str, text: str) -> None:
        """Say it once. The journal itself has how often it happened."""
        if what not in self._said:
            self._said.add(what)
            aloud(f"the journal {self.path} {text}")

    def _write(self, db: sqlite3.Connection, item: Item) -> Exception | None:
        """What is wrong with an item that no journal could hold: it would not go in later, and keeps nothing else out."""
        try:
            self._rows.write(db, item)
        except Exception as error:
            if isinstance(error, sqlite3.OperationalError) or type(error) is sqlite3.DatabaseError:
                raise  # it is the disk, or the file is damaged
            self._say("item", f"cannot hold one {item[0]} ({error!r}), which is left out")
            return error
        return None

    def _write_gap(self, db: sqlite3.Connection, at: WallMs, lost: int) -> None:
        """A note of the journal's own, which concerns every query."""
        why = self._why
        missing = f"{lost} decisions, batches and notes before this are missing" if lost else "nothing is missing"
        if lost:
            self._say("loss", f"lacks decisions, batches or notes: {why}; how many is noted in it")
        write_note(db, at, "", f"journal: {why}; {missing}")

    @property
    def _why(self) -> str:
        return f"it could not be written ({self._trouble})" if self._trouble else "the disk was slower than the decisions"


@dataclass(frozen=True, slots=True)
class JournalLine:
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
        self._db = journal_file.to_read(path)

    def queries(self) -> list[str]:
        told = "select query from batches union select query from notes where query != '' order by query"
        return [name for (name,) in self._db.execute(told)]

    def last_grant(self, query: str, at: WallMs | None = None) -> JournalLine | None:
        """The newest grant of `query`, or the newest not later than `at`."""
        with closing(
            self._db.execute(
                "select id, at, query, kind, because, receipt from entries where query = ? and kind = 'grant'"
                " and at <= ? order by id desc limit 1",
                (query, at if at is not None else 1 << 62),
            )
        ) as rows:
            row = rows.fetchone()
        return JournalLine(*row) if row else None

    def entry(self, line: int) -> Entry:
        row = self._db.execute(f"select {_COLUMNS} from entries where id = ?", (line,)).fetchone()
        found = None if row is None else self._entry(row)
        if found is None:
            raise HeadwayError(f"decision {line}: the journal has forgotten it, or what it saw")
        return found

    def entries(self, question: str | None = None) -> Iterator[Entry]:
        """All of them, or those of one question."""
        which, arguments = ("", ()) if question is None else (" where question = ?", (question,))
        for row in self._db.execute(f"select {_COLUMNS} from entries{which} order by id", arguments):
            if (entry := self._entry(row)) is not None:
                yield entry

    def last_answers(self, query: str, at: WallMs) -> list[JournalLine]:
        """The newest answer of that moment to each question about a query's inputs."""
        rows = self._db.execute(
            "select id, at, question || ' of ' || scope, kind, because, receipt from entries where id in"
            " (select max(id) from entries where query = ? and question != 'order' and at <= ? group by question, scope)"
            " order by scope, question",
            (query, at),
        )
        return [JournalLine(*row) for row in rows]

    def batch_after(self, query: str, at: WallMs) -> dict[str, Any] | None:
        """The batch that a grant of that moment led to."""
        cursor = self._db.execute("select * from batches where query = ? and at >= ? order by id limit 1", (query, at))
        names = [column[0] for column in cursor.description]
        row = cursor.fetchone()
        return dict(zip(names, row, strict=True)) if row else None

    def notes(self, query: str, since: int = 0) -> list[tuple[int, str]]:
        """Those of a query, and those of the journal itself, which concern every query."""
        return list(
            self._db.execute("select at, text from notes where query in (?, '') and at >= ? order by id", (query, since))
        )

    def noted(self, query: str) -> bool:
        """Whether anything was written down about it in words."""
        return self._db.execute("select 1 from notes where query = ? limit 1", (query,)).fetchone() is not None

    def _entry(self, row: tuple[Any, ...]) -> Entry | None:
        """None where another runtime, which shares the file, has forgotten a view that this decision saw."""
        at, decided, proposed, receipt, slots, memory, views, question, scope, policy, seen = row
        about = (question, scope, policy)
        if question != ORDER:
            saw, wished, did, knew = map(codec.told, (seen, proposed, decided, memory))
            return Entry(WallMs(at), saw, wished, did, receipt, *about, knew)
        ids = json.loads(views)
        found = dict(self._db.execute(f"select id, view from views where id in ({','.join('?' * len(ids))})", ids))
        if len(found) < len(set(ids)):
            return None
        snapshot = codec.snapshot(at, slots, memory, [found[i] for i in ids])
        return Entry(WallMs(at), snapshot, codec.decision(proposed), codec.decision(decided), receipt, *about)
