"""Decisions, batches and notes as rows of a journal file. A view that was written before is not written again."""

import json
import sqlite3
from typing import Any

from headway.loop import codec, journal_file
from headway.loop.kernel import Entry
from headway.loop.questions.order import NAME as ORDER
from headway.model.decision import Grant
from headway.model.message import BatchSeen
from headway.model.time import WallMs
from headway.model.view import QueryView

Item = tuple[str, Any]  # "entry", "batch" or "note", and what is to be written of it


class JournalRows:
    """Writes items, between the begin and the end of a commit."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[QueryView, int]] = {}  # the last view of each query, and its number in the file

    def forget(self, before: int | None = None) -> None:
        """Views that are not in the file any more: all of them, or those with numbers before this."""
        self._known = {} if before is None else {n: known for n, known in self._known.items() if known[1] >= before}

    def write(self, db: sqlite3.Connection, item: Item) -> None:
        match item:
            case ("entry", entry):
                self._write_entry(db, entry)
            case ("batch", (seen, late)):
                _write_batch(db, seen, late)
            case ("note", (at, query, text)):
                write_note(db, at, query, text)

    def _write_entry(self, db: sqlite3.Connection, entry: Entry) -> None:
        kind, because = type(entry.decided).__name__.lower(), entry.decided.because
        about = (entry.question, entry.scope, entry.policy)
        if entry.question == ORDER:  # its view is of all queries, most of which have been written before
            views = [self._number(db, view) for view in entry.seen.queries]
            query = next((it.query for it in (entry.decided, entry.proposed) if isinstance(it, Grant)), "")
            texts = (codec.dumps(entry.decided), codec.dumps(entry.proposed), entry.receipt)
            slots, memory, seen = entry.seen.slots, codec.dumps(entry.seen.memory), None
        else:
            views, query = [], entry.scope.partition("/")[0]
            texts = (codec.tell(entry.decided), codec.tell(entry.proposed), entry.receipt)
            slots, memory, seen = 0, codec.tell(entry.memory), codec.tell(entry.seen)
        _insert(db, "entries", (entry.at, query, kind, because, *texts, slots, memory, json.dumps(views), *about, seen))

    def _number(self, db: sqlite3.Connection, view: QueryView) -> int:
        known = self._known.get(view.name)
        if known is not None and known[0] is view:
            return known[1]
        number = _insert(db, "views", (view.name, codec.dumps(view)))
        self._known[view.name] = (view, number)
        return number


def write_note(db: sqlite3.Connection, at: WallMs, query: str, text: str) -> None:
    _insert(db, "notes", (at, query, text[: journal_file.NOTE_LETTERS]))


def moment(item: Item) -> WallMs:
    """That an item is of."""
    match item:
        case ("entry", entry):
            at = entry.at
        case ("batch", (seen, _)):
            at = seen.ended
        case (_, told):
            at = told[0]
    return WallMs(at)


def _write_batch(db: sqlite3.Connection, b: BatchSeen, late: int) -> None:
    row = (b.ended, b.query, b.batch, b.began, b.took_ms, sum(i.rows for i in b.inputs), b.watermark, late, b.dropped,
           b.state_rows, b.state_bytes)  # fmt: skip
    _insert(db, "batches", row)


def _insert(db: sqlite3.Connection, table: str, row: tuple[Any, ...]) -> int:
    holes = ",".join("?" * len(row))
    return db.execute(f"insert into {table} values (null,{holes})", row).lastrowid or 0
