"""What is written can be read: by others, while it is being written, and after a crash."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from headway.errors import HeadwayError
from headway.loop.journal import Journal, JournalReader
from headway.loop.kernel import Entry
from headway.loop.replay import replay
from headway.model.deadline import window
from headway.model.decision import Grant, Hold
from headway.model.message import BatchSeen, InputSeen
from headway.model.time import EventMs, WallMs
from headway.policy.order import Klink, RoundRobin
from headway.testing import VirtualQuery, VirtualWorld
from model.making import NOW, query, snapshot


class Both:
    """A file and a notebook side by side."""

    def __init__(self, world: VirtualWorld, journal: Journal) -> None:
        self._logs = (world.notebook, journal)

    def append(self, entry: Entry) -> None:
        for log in self._logs:
            log.append(entry)

    def batch(self, seen: BatchSeen, view: object) -> None:
        for log in self._logs:
            log.batch(seen, view)  # type: ignore[arg-type]

    def note(self, at: WallMs, query: str, text: str) -> None:
        for log in self._logs:
            log.note(at, query, text)


def played(path: Path) -> VirtualWorld:
    world, journal = VirtualWorld(Klink(), slots=2), Journal(path)
    world.controller.kernel.journal = Both(world, journal)
    for n in range(5):
        world.add(VirtualQuery(f"q{n}", window("3 s"), fixed_ms=200, starts_ms=100 * n))
    world.at(15_000, lambda: world.stop("q3"))
    world.run(until_ms=20_000)
    journal.close()
    return world


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[VirtualWorld, Path]:
    path = tmp_path_factory.mktemp("journal") / "told.db"
    return played(path), path


def waited_for(path: Path, entries: int) -> JournalReader:
    """The writer commits every half second at the latest: look again until it has."""
    reader = JournalReader(path)
    for _ in range(1_000_000):
        if sum(1 for _ in reader.entries()) >= entries:
            return reader
    raise AssertionError("nothing was written")


def test_every_entry_comes_back_as_it_was(told: tuple[VirtualWorld, Path]) -> None:
    world, path = told
    assert list(JournalReader(path).entries()) == world.notebook.entries


def test_a_replay_of_the_file_with_the_same_policy_yields_no_difference(told: tuple[VirtualWorld, Path]) -> None:
    _, path = told
    assert list(replay(JournalReader(path).entries(), Klink())) == []
    assert list(replay(JournalReader(path).entries(), RoundRobin()))


def test_a_view_is_written_once_however_often_it_is_seen(told: tuple[VirtualWorld, Path]) -> None:
    world, path = told
    different = {id(view) for entry in world.notebook.entries for view in entry.seen.queries}
    with sqlite3.connect(path) as db:
        (written,) = db.execute("select count(*) from views").fetchone()
    assert written == len(different) < sum(len(e.seen.queries) for e in world.notebook.entries) / 2


def test_a_grant_is_found_by_query_and_time_and_leads_to_its_batch(told: tuple[VirtualWorld, Path]) -> None:
    world, path = told
    reader = JournalReader(path)
    assert reader.queries() == [f"q{n}" for n in range(5)]
    line = reader.last_grant("q1", WallMs(10_000))
    assert line is not None and line.at <= 10_000 and line.kind == "grant" and line.receipt == "granted"
    entry = reader.entry(line.id)
    assert isinstance(entry.decided, Grant) and entry.decided.query == "q1" and entry.decided.because == line.because
    batch = reader.batch_after("q1", line.at)
    seen = next(b for b in world.batches if b.query == "q1" and b.ended >= line.at)
    assert batch is not None
    assert (batch["batch"], batch["began"], batch["took_ms"], batch["rows"]) == (
        seen.batch,
        seen.began,
        seen.took_ms,
        seen.rows,
    )
    assert (batch["watermark"], batch["late_rows"], batch["dropped"]) == (seen.watermark, 0, 0)
    assert reader.last_grant("nobody") is None and reader.last_grant("q1", WallMs(-1)) is None
    assert reader.batch_after("q1", WallMs(10**9)) is None


def test_notes_are_kept_with_their_time(told: tuple[VirtualWorld, Path]) -> None:
    _, path = told
    assert JournalReader(path).notes("q3") == [(15_000, "left: stopped or failed")]
    assert JournalReader(path).notes("q3", since=15_001) == []


def entry(at: int) -> Entry:
    seen = replace(snapshot(query("a", due_in=0)), now=WallMs(at))
    return Entry(WallMs(at), seen, Grant("a", EventMs(5), "wished"), Hold(NOW, "guarded"), "held")


def test_a_reader_works_while_the_writer_is_open(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    journal.append(entry(1))
    assert [e.at for e in waited_for(tmp_path / "j.db", 1).entries()] == [1]
    journal.append(entry(2))
    reader = waited_for(tmp_path / "j.db", 2)
    journal.close()
    assert list(reader.entries()) == [entry(1), entry(2)]


def test_what_was_wished_and_what_was_done_are_both_kept(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    journal.append(entry(1))
    journal.close()
    (back,) = JournalReader(tmp_path / "j.db").entries()
    assert back.proposed == Grant("a", EventMs(5), "wished") and back.decided == Hold(NOW, "guarded")


def test_a_crash_loses_at_most_what_was_not_committed(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    crash = (
        "import os, sys; from headway.loop.journal import Journal, JournalReader;"
        f"path = {str(path)!r}; j = Journal(path); j.note(1, 'a', 'before the crash')\n"
        "while not JournalReader(path).notes('a'): pass\n"
        "os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", crash], env=os.environ).returncode == 9
    assert JournalReader(path).notes("a") == [(1, "before the crash")]


def test_a_journal_goes_on_where_it_was_left(tmp_path: Path) -> None:
    for at in (1, 2):
        journal = Journal(tmp_path / "j.db")
        journal.append(entry(at))
        journal.close()
    assert [e.at for e in JournalReader(tmp_path / "j.db").entries()] == [1, 2]


def test_two_runtimes_may_write_to_one_file(tmp_path: Path) -> None:
    one, other = Journal(tmp_path / "j.db"), Journal(tmp_path / "j.db")
    for at in (1, 2, 3):
        one.append(entry(at))
        other.append(entry(10 + at))
    one.close()
    other.close()
    assert sorted(e.at for e in JournalReader(tmp_path / "j.db").entries()) == [1, 2, 3, 11, 12, 13]


def test_a_snapshot_without_queries_comes_back_too(tmp_path: Path) -> None:
    journal, empty = Journal(tmp_path / "j.db"), Entry(NOW, snapshot(), Hold(NOW, "no"), Hold(NOW, "no"), "held")
    journal.append(empty)
    journal.close()
    assert list(JournalReader(tmp_path / "j.db").entries()) == [empty]


@pytest.mark.parametrize("name", ["what? 100% #1.db", "tab\there.db", "ünïcode.db", "a&mode=rw.db"])
def test_any_file_name_will_do(tmp_path: Path, name: str) -> None:
    journal = Journal(tmp_path / name)
    journal.batch(BatchSeen("q", 0, NOW, NOW, 5, 1, None, (InputSeen("i", 1),)), query("q"))
    journal.close()
    assert JournalReader(tmp_path / name).queries() == ["q"]


@pytest.fixture
def foreign(tmp_path: Path) -> Iterator[list[tuple[Path, str]]]:
    text, other, folder = tmp_path / "notes.txt", tmp_path / "other.db", tmp_path / "folder"
    text.write_text("Dear diary, " * 100)
    folder.mkdir()
    with sqlite3.connect(other) as db:
        db.execute("create table cats (name text)")
    is_other, is_none = "expected a headway journal, but it is some other file", "expected a journal file, as named by"
    yield [(text, is_other), (other, is_other), (folder, is_none), (tmp_path / "nowhere.db", is_none)]


def test_some_other_file_is_refused_in_one_line(foreign: list[tuple[Path, str]]) -> None:
    assert len(foreign) == 4
    for path, says in foreign:
        with pytest.raises(HeadwayError) as error:
            JournalReader(path)
        assert str(error.value).startswith(f"journal = {str(path)!r}: {says}") and "\n" not in str(error.value)
