"""A journal costs a bounded part of the disk and of memory, whatever happens to the disk, and holds nobody up."""

import json
import os
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headway.errors import HeadwayError
from headway.loop import journal as writer
from headway.loop import journal_file
from headway.loop.backlog import Backlog
from headway.loop.journal import Journal, JournalReader
from headway.loop.kernel import Entry
from headway.model.decision import Grant, Hold
from headway.model.message import BatchSeen, InputSeen
from headway.model.time import EventMs, WallMs
from model.making import NOW, query, snapshot

PATIENCE_S = 60
FEW = {"KEEP_ENTRIES": 100, "KEEP_BATCHES": 80, "KEEP_NOTES": 60}
GAP = "journal: "


def wait_until(true: Callable[[], Any], what: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.005)


def entry(at: int, *queries: Any) -> Entry:
    return Entry(WallMs(at), snapshot(*queries), Hold(NOW, "no"), Grant("a", EventMs(5), "no"), "held")


def batch(at: int) -> BatchSeen:
    return BatchSeen("a", at, WallMs(at), WallMs(at), 5, 1, None, (InputSeen("i", 1),))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in FEW.items():
        monkeypatch.setattr(journal_file, name, value)
    monkeypatch.setattr(writer, "FORGET_EVERY", 50)
    monkeypatch.setattr(writer, "AT_ONCE", 50)
    monkeypatch.setattr(writer, "RETRY_S", 0.01)


def rows(path: Path) -> dict[str, int]:
    with sqlite3.connect(path) as db:
        tables = ("entries", "batches", "notes", "views")
        return {t: db.execute(f"select count(*) from {t}").fetchone()[0] for t in tables}


def fill(journal: Journal, first: int, steady: Any, items: int = 2_000) -> None:
    for at in range(first, first + items):
        journal.append(entry(at, steady, query("a", due_in=at)))
        journal.batch(batch(at), steady)
        journal.note(WallMs(at), "a", f"note {at}")
        if at % 100 == 0:  # as fast as it is written, so that nothing is lost
            wait_until(lambda: len(journal._backlog) < 1_000, "the writer")


def test_every_table_is_bounded_and_the_file_stops_growing(tmp_path: Path, few: None) -> None:
    path, steady, sizes = tmp_path / "j.db", query("steady"), []
    for turn in range(5):
        journal = Journal(path)
        journal._pause.set()
        fill(journal, turn * 2_000, steady)
        journal.close()
        sizes.append(path.stat().st_size)
        kept = rows(path)
        assert kept["entries"] <= 100 + 150 and kept["batches"] <= 80 + 150 and kept["notes"] <= 60 + 150
        assert kept["views"] <= 2 * 300  # though one of them, a view that never changes, was first seen long ago
    assert max(sizes) <= 1.1 * sizes[1], sizes
    told = list(JournalReader(path).entries())
    assert told[-1].at == 9_999 and len(told) == kept["entries"]
    assert {e.seen.queries[0] for e in told} == {steady}


@pytest.mark.slow
def test_the_file_is_bounded_by_its_size_too(tmp_path: Path, few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Snapshots of queries that all change all the time are much larger than is usual."""
    monkeypatch.setattr(journal_file, "KEEP_ENTRIES", 10**9)
    monkeypatch.setattr(journal_file, "MOST_BYTES", 1_000_000)
    path = tmp_path / "j.db"
    journal = Journal(path)
    journal._pause.set()
    for at in range(3_000):
        journal.append(entry(at, *(query(f"q{n}", due_in=at) for n in range(5))))
        wait_until(lambda: len(journal._backlog) < 1_000, "the writer")
    journal.close()
    assert path.stat().st_size < 1_500_000  # a little more than that may come in before it is looked at again
    told = [e.at for e in JournalReader(path).entries()]
    assert told == list(range(told[0], 3_000)) and len(told) >= 50


def test_a_file_that_is_shared_forgets_no_view_that_is_still_used(tmp_path: Path, few: None) -> None:
    busy, calm, still = Journal(tmp_path / "j.db"), Journal(tmp_path / "j.db"), query("still")
    calm.append(entry(1, still))
    wait_until(lambda: rows(tmp_path / "j.db")["entries"] == 1, "the calm one")
    fill(busy, 10, query("steady"), 500)
    busy.close()
    calm.append(entry(10_000, still))
    calm.close()
    last = list(JournalReader(tmp_path / "j.db").entries())[-1]
    assert (last.at, last.seen.queries) == (10_000, (still,))


def test_a_note_is_cut_at_a_length(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    journal.note(NOW, "a", "x" * 1_000_000)
    journal.close()
    ((_, text),) = JournalReader(tmp_path / "j.db").notes("a")
    assert text == "x" * journal_file.NOTE_LETTERS


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o377])
def test_nobody_else_may_read_it_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "j.db"
    before = os.umask(umask)
    try:
        journal = Journal(path)
        journal.note(NOW, "a", "mine")
        wait_until(lambda: JournalReader(path).notes("a"), "the note")
        modes = {f.name: stat.S_IMODE(f.stat().st_mode) for f in tmp_path.iterdir()}
        journal.close()
    finally:
        os.umask(before)
    assert modes == {"j.db": 0o600, "j.db-wal": 0o600, "j.db-shm": 0o600}


def test_a_journal_that_others_could_read_is_theirs_no_more(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    Journal(path).close()
    path.chmod(0o644)
    Journal(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_disk_that_is_too_slow_loses_the_oldest_and_the_journal_says_how_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(writer, "MOST_WAITING", 100)
    path = tmp_path / "j.db"
    journal = Journal(path)
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute("begin immediate")  # the writer waits for this, as for a slow disk
        for at in range(1_000):
            journal.note(WallMs(at), "a", f"note {at}")
            assert len(journal._backlog) <= 100
        other.execute("rollback")
    wait_until(lambda: len(journal._backlog) == 0, "the writer")
    journal.note(WallMs(2_000), "a", "after")
    journal.close()
    notes = [text for _, text in JournalReader(path).notes("a")]
    gaps = [text for text in notes if text.startswith(GAP)]
    kept = [text for text in notes if text not in gaps]
    assert kept[-101:-1] == [f"note {at}" for at in range(900, 1_000)] and kept[-1] == "after"
    missing = f"{1_001 - len(kept)} decisions, batches and notes before this are missing"
    assert gaps == [f"{GAP}the disk was slower than the decisions; {missing}"]
    assert capfd.readouterr().err.count("lacks decisions") == 1


FULL = """
import resource, signal, sys
from headway.loop import journal as writer
from headway.loop.journal import Journal, JournalReader
from pathlib import Path
writer.RETRY_S, writer.MOST_WAITING = 0.01, 300
path = Path(sys.argv[1])
journal = Journal(path)
journal._pause.set()
journal.note(0, "a", "before")
while not JournalReader(path).notes("a"): pass
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, most))  # no file grows any more, as on a full disk
for at in range(1, 1001):
    journal.note(at, "a", f"note {at} " + "x" * 500)
while journal._trouble is None: pass
assert len(journal._backlog) <= 300
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
journal.note(2000, "a", "after")
while "after" not in [text for _, text in JournalReader(path).notes("a")]: pass
assert journal._thread.is_alive()
journal.close()
"""


def test_a_full_disk_is_said_once_and_the_journal_goes_on_when_there_is_room_again(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    ran = subprocess.run([sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, timeout=PATIENCE_S)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.count("decisions go on unrecorded") == 1
    notes = [text for _, text in JournalReader(path).notes("a")]
    (gap,) = [text for text in notes if text.startswith(GAP + "it could not be written (")]
    kept = [text for text in notes if not text.startswith(GAP)]
    lost = int(gap.split("; ")[1].split()[0])
    assert kept[0] == "before" and kept[-1] == "after" and len(set(kept)) == len(kept)
    assert lost > 0 and len(kept) + sum(int(n.split("; ")[1].split()[0]) for n in notes if n.startswith(GAP)) == 1_002


def test_a_short_failure_loses_nothing(tmp_path: Path, few: None, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "j.db"
    journal = Journal(path)
    journal.append(entry(1, query("a")))
    wait_until(lambda: rows(path)["entries"] == 1, "the first entry")
    with sqlite3.connect(path) as other:
        other.execute("drop table notes")
    journal.append(entry(2, query("a")))
    journal.note(NOW, "a", "kept")
    journal.append(entry(3, query("a")))
    journal.close()
    assert [e.at for e in JournalReader(path).entries()] == [1, 2, 3]
    told = JournalReader(path).notes("a")
    assert (NOW, "kept") in told and [t for _, t in told if t.startswith(GAP) and t.endswith("nothing is missing")]
    assert capfd.readouterr().err.count("decisions go on unrecorded") == 1


def test_a_disk_that_stays_broken_holds_up_neither_the_controller_nor_the_end(
    tmp_path: Path, few: None, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    journal = Journal(folder / "j.db")
    journal.note(NOW, "a", "seen")
    wait_until(lambda: JournalReader(folder / "j.db").notes("a"), "the note")
    with sqlite3.connect(folder / "j.db") as other:
        other.execute("drop table notes")
    folder.rename(tmp_path / "elsewhere")
    for at in range(100):
        journal.note(WallMs(at), "a", "lost")
    wait_until(lambda: journal._trouble, "the failure")
    journal.close()
    assert not journal._thread.is_alive()
    said = capfd.readouterr().err
    assert said.count("decisions go on unrecorded") == 1
    assert "has been closed, and 100 decisions, batches and notes are not in it" in said


def test_an_item_that_cannot_be_written_does_not_keep_the_others_out(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    journal = Journal(tmp_path / "j.db")
    journal.note(NOW, "a", "before")
    journal.note(WallMs(1 << 70), "a", "sqlite has no such number")
    journal.note(NOW, "a", "after")
    wait_until(lambda: len(JournalReader(tmp_path / "j.db").notes("a")) >= 2, "the notes")
    journal.note(NOW, "a", "later")
    journal.close()
    notes = [text for _, text in JournalReader(tmp_path / "j.db").notes("a")]
    assert [n for n in notes if not n.startswith(GAP)] == ["before", "after", "later"]
    assert [n for n in notes if n.startswith(GAP) and " 1 decisions" in n]
    assert capfd.readouterr().err.count("cannot hold one note") == 1


def test_a_journal_that_cannot_be_opened_is_refused_in_one_line(tmp_path: Path) -> None:
    text, other, blocked = tmp_path / "diary.txt", tmp_path / "other.db", tmp_path / "file"
    text.write_text("Dear diary, " * 100)
    blocked.write_text("")
    with sqlite3.connect(other) as db:
        db.execute("create table cats (name text)")
    text.chmod(0o644)
    for path in (tmp_path, tmp_path / "no" / "folder.db", blocked / "below.db", text, other):
        with pytest.raises(HeadwayError) as error:
            Journal(path)
        assert str(error.value).startswith(f"journal = {str(path)!r}: expected") and "\n" not in str(error.value)
    assert text.read_text() == "Dear diary, " * 100 and stat.S_IMODE(text.stat().st_mode) == 0o644
    with sqlite3.connect(other) as db:
        assert db.execute("select name from sqlite_master").fetchall() == [("cats",)]


def test_a_backlog_gives_out_what_it_has_room_for_in_order() -> None:
    backlog: Backlog[int] = Backlog(3)
    for item in range(5):
        backlog.put(item)
    assert backlog.take(2) == [2, 3] and backlog.lost == 2
    backlog.put(5)
    backlog.give_back([2, 3])
    assert backlog.lost == 3  # 2 had no room
    backlog.close()
    backlog.put(6)
    assert backlog.take(9) == [3, 4, 5] and backlog.take(9) == [] and len(backlog) == 0


def test_views_are_json_lists_of_numbers(tmp_path: Path) -> None:
    """What forgetting goes by."""
    journal = Journal(tmp_path / "j.db")
    journal.append(entry(1, query("a"), query("b")))
    journal.close()
    with sqlite3.connect(tmp_path / "j.db") as db:
        assert json.loads(db.execute("select views from entries").fetchone()[0]) == [1, 2]
