"""The journal's sqlite file: who may read it, and how much of it is kept."""

import contextlib
import json
import os
import sqlite3
import tempfile
from pathlib import Path

from headway.errors import HeadwayError

_SCHEMA = """
create table if not exists views (id integer primary key, query text, view text);
create table if not exists entries (
  id integer primary key, at integer, query text, kind text, because text, decided text, proposed text,
  receipt text, slots integer, memory text, views text,
  question text not null default 'order', scope text not null default '', policy text not null default '', seen text);
create table if not exists batches (
  id integer primary key, at integer, query text, batch integer, began integer, took_ms integer, rows integer,
  watermark integer, late_rows integer, dropped integer, state_rows integer, state_bytes integer);
create table if not exists notes (id integer primary key, at integer, query text, text text);
create index if not exists entries_query on entries (query, at);
create index if not exists batches_query on batches (query, at);
"""
_LATER = {
    "question": "text not null default 'order'", "scope": "text not null default ''",
    "policy": "text not null default ''", "seen": "text",
}  # fmt: skip
# What is older is forgotten, and its place in the file used again.
KEEP_ENTRIES = 500_000  # decisions, with the views that they saw: about 200 MB
KEEP_BATCHES = 500_000  # about 60 MB
KEEP_NOTES = 50_000  # about 10 MB, and 50 MB if all were as long as they may be
NOTE_LETTERS = 1_000
MOST_BYTES = 500_000_000  # whatever the rows: with hundreds of queries that change all the time views grow faster
_LOG_BYTES = 16_000_000  # that sqlite's log is cut down to, when it is written back
_PRIVATE = 0o600  # decisions name queries, topics and folders: no other user needs to read them


def state_folder() -> Path:
    """Where journals go unless told: the user's folder for such things, or a temporary one where that cannot be had."""
    try:
        folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "headway"
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK | os.X_OK):
            return folder
    except (OSError, RuntimeError):  # containers often have no home, or one that cannot be written to
        pass
    folder = Path(tempfile.gettempdir()) / f"headway-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def opened(path: Path) -> sqlite3.Connection:
    """A connection to the journal at `path`, made if it is not there; one line if that cannot be."""
    try:
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _PRIVATE))
        db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        try:
            _prepare(db, path)
        except BaseException:
            db.close()
            raise
        return db
    except (OSError, sqlite3.Error) as error:
        why = getattr(error, "strerror", None) or error
        raise HeadwayError(f"journal = {str(path)!r}: expected a file that can be written, but: {why}") from None


def to_read(path: Path | str) -> sqlite3.Connection:
    """A connection that reads a journal, also while it is being written, and changes nothing in it."""
    if not Path(path).is_file():
        raise HeadwayError(
            f"journal = {str(path)!r}: expected a journal file, as named by Runtime(journal=...) or headway run"
        )
    try:
        db = sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
        db.execute("select count(*) from entries")
        read_as_now(db)
    except sqlite3.DatabaseError:
        raise HeadwayError(f"journal = {str(path)!r}: expected a headway journal, but it is some other file") from None
    return db


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    tables = {name for (name,) in db.execute("select name from sqlite_master where type = 'table'")}
    if tables and "entries" not in tables:
        raise HeadwayError(f"journal = {str(path)!r}: expected a headway journal, but it is some other file")
    # Its log and its shared memory get the same mode from sqlite when it makes them; older ones may be there already.
    for file in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        with contextlib.suppress(FileNotFoundError, PermissionError):  # the file of another user, who lets us write
            file.chmod(_PRIVATE)
    db.execute("pragma journal_mode=wal").fetchall()
    db.execute(f"pragma journal_size_limit={_LOG_BYTES}").fetchall()
    db.executescript("pragma synchronous=normal;" + _SCHEMA)
    _complete(db)


def _lacks(db: sqlite3.Connection) -> list[str]:
    """Columns that a journal of an earlier version lacks: it knew of one question only."""
    has = {column[1] for column in db.execute("pragma table_info(entries)")}
    return [name for name in _LATER if name not in has]


def _complete(db: sqlite3.Connection) -> None:
    for name in _lacks(db):
        db.execute(f"alter table entries add column {name} {_LATER[name]}")


def read_as_now(db: sqlite3.Connection) -> None:
    """Let a reader, who may not change the file, find in it what today's journals have."""
    if _lacks(db):
        db.execute(
            "create temp view entries as select *, 'order' as question, '' as scope, '' as policy, null as seen"
            " from main.entries"
        )


def forget(db: sqlite3.Connection) -> None:
    """Remove what is older than is kept. The caller writes each view anew after this: one that stands still keeps none."""
    for table, kept in (("batches", KEEP_BATCHES), ("notes", KEEP_NOTES), ("entries", KEEP_ENTRIES)):
        db.execute(f"delete from {table} where id <= (select max(id) from {table}) - ?", (kept,))
    _forget_views(db)
    if (used := _bytes(db)) > MOST_BYTES:
        share = 1 - 0.9 * MOST_BYTES / used  # of the rows, from the oldest on: then there is room for a while
        for table in ("batches", "notes", "entries"):
            db.execute(f"delete from {table} where id < (select min(id) + (max(id) - min(id)) * ? from {table})", (share,))
        _forget_views(db)


def _forget_views(db: sqlite3.Connection) -> None:
    """Numbers only grow, so no snapshot that is kept has a view older than the oldest one of the first snapshots."""
    first = db.execute("select views from entries order by id limit 1000").fetchall()
    oldest = min((number for (views,) in first for number in json.loads(views)), default=None)
    if oldest is not None:
        db.execute("delete from views where id < ?", (oldest,))


def _bytes(db: sqlite3.Connection) -> int:
    """What is in use: pages that were freed are in the file still, and are used again."""
    pages, free, size = (
        db.execute(f"pragma {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)
