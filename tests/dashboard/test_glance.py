"""All queries at a glance: rows out of a journal, and out of what a runtime tells of itself."""

import time
from pathlib import Path

import pytest

from dashboard.worlds import BEGAN, write
from headway.dashboard import reading
from headway.dashboard.glance import Glance
from headway.loop import published
from headway.loop.journal import Journal
from headway.loop.published import PublishedStatus
from headway.model.message import BatchSeen, InputSeen
from headway.model.status import LastBatch, QueryStatus, RuntimeStatus
from headway.model.time import EventMs, WallMs
from headway.sim.microbatch import VirtualWorld


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[VirtualWorld, Path]:
    path = tmp_path_factory.mktemp("journal") / "run.db"
    return write(path, ["alerts", "books", "clicks"], 60, fixed_ms=300), path


def looked(path: Path, now: int | None = None) -> Glance:
    glance = Glance(path, now=(lambda: now) if now is not None else lambda: BEGAN + 60_000)
    while glance.look():
        continue
    return glance


def test_every_window_that_came_out_is_in_the_rows(world: tuple[VirtualWorld, Path]) -> None:
    simulated, path = world
    rows = looked(path).rows()
    assert len(rows) == 3
    for row in rows:
        emitted = [w for w in simulated.windows if w.query == row["name"]]
        assert len(emitted) - row["windows"] in (0, 1)  # of the first watermark nobody knows where it came from
        if row["name"] != "alerts":  # whose patience is learnt, and so another one than the world's
            assert list(row["latencies"]) == [w.latency_ms for w in emitted[-len(row["latencies"]) :]]


def test_a_row_tells_what_the_batches_did(world: tuple[VirtualWorld, Path]) -> None:
    simulated, path = world
    row = next(row for row in looked(path).rows() if row["name"] == "books")
    batches = [b for b in simulated.batches if b.query == "books"]
    assert row["batches"] == len(batches) and row["rows"] == sum(b.rows for b in batches)
    assert row["watermark"] == max(b.watermark or 0 for b in batches)
    assert row["took_ms"] == batches[-1].took_ms and row["period_ms"] == 3_000 and row["patience_ms"] == 200
    assert "least slack" in row["because"] and str(BEGAN)[:6] not in row["because"]


def test_windows_are_overdue_by_the_target(world: tuple[VirtualWorld, Path]) -> None:
    _, path = world
    glance = Glance(path, target_ms=10, now=lambda: BEGAN)
    glance.look()
    assert all(row["overdue"] == row["windows"] > 0 for row in glance.rows()) and len(glance.rows()) == 3


def test_a_journal_that_has_ended_stands_still_at_its_last_moment(world: tuple[VirtualWorld, Path]) -> None:
    _, path = world
    glance = looked(path, BEGAN + 86_400_000)
    assert not glance.live and glance.now == glance.newest <= BEGAN + 60_000
    assert looked(path, BEGAN + 61_000).live


def test_only_what_has_changed_is_told_again(tmp_path: Path) -> None:
    write(tmp_path / "run.db", ["a", "b"], 12)
    glance = looked(tmp_path / "run.db")
    before = glance.version
    assert not glance.look() and glance.rows(before) == []
    journal = Journal(tmp_path / "run.db")
    journal.note(WallMs(BEGAN + 13_000), "a", "failed: out of memory")
    journal.close()
    assert glance.look()
    (changed,) = glance.rows(before)
    assert (changed["name"], changed["state"], changed["error"]) == ("a", "failed", "out of memory")


def test_a_long_journal_is_read_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MORE_LINES", 10)
    monkeypatch.setattr(reading, "FIRST_LINES", 20)
    path = tmp_path / "run.db"
    write(path, ["a"], 6)
    glance = looked(path)
    known = glance.rows()[0]["batches"]
    journal = Journal(path)
    view = glance.book.queries["a"].view
    assert view is not None
    for number in range(35):
        at = WallMs(BEGAN + 10_000 + number)
        seen = BatchSeen("a", 100 + number, at, at, 1, 5, EventMs(BEGAN), (InputSeen("a-rows", 5),))
        journal.batch(seen, view)
    journal.close()
    looks = 0
    while glance.look():
        looks += 1
    assert glance.rows()[0]["batches"] == known + 35 and looks == 4


def test_a_question_that_takes_too_long_is_broken_off(
    world: tuple[VirtualWorld, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LONGEST_S", -1.0)
    monkeypatch.setattr(reading, "_STEPS", 10)
    file = reading.JournalFile(world[1])
    with pytest.raises(reading.TooMuch, match="ask for one query"):
        file.all("select count(*) from entries a, entries b")
    assert file.queries() == ["alerts", "books", "clicks"]  # what is asked by its key has all the time


def test_the_runtime_knows_best_how_its_queries_stand(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    write(path, ["a"], 6)
    now = time.time_ns() // 1_000_000
    last = LastBatch(3, 10, 40, WallMs(now - 50))
    failed = QueryStatus("a", "failed", WallMs(now), id="1", run="r-1", error="no space left", last=last)
    other = QueryStatus("new", "starting", WallMs(now))
    status = RuntimeStatus(WallMs(now), "Klink", 2, (failed, other), decisions=7, decided_ms=1.5)
    published.publish(PublishedStatus(status, "http://localhost:4040", 1), published.place_of(path))
    glance = looked(path, now)
    rows = {row["name"]: row for row in glance.rows()}
    assert (rows["a"]["state"], rows["a"]["error"]) == ("failed", "no space left")
    assert rows["a"]["link"] == "http://localhost:4040/StreamingQuery/statistics/?id=r-1"
    assert rows["new"]["state"] == "starting" and glance.head()["decisions"] == 7


def test_a_runtime_that_was_killed_is_not_believed_for_ever(tmp_path: Path) -> None:
    path, moment = tmp_path / "run.db", [time.time_ns() // 1_000_000]
    write(path, ["a"], 6)
    status = RuntimeStatus(WallMs(moment[0]), "Klink", 2, (QueryStatus("a", "between batches", WallMs(moment[0])),))
    published.publish(PublishedStatus(status), published.place_of(path))
    glance = Glance(path, now=lambda: moment[0])
    glance.look()
    assert glance.rows()[0]["state"] == "between batches" and glance.live
    moment[0] += 60_000
    assert glance.look() and glance.rows()[0]["state"] != "between batches" and not glance.live


def test_no_link_leads_elsewhere_than_to_a_web_page(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    write(path, ["a"], 6)
    now = time.time_ns() // 1_000_000
    status = RuntimeStatus(WallMs(now), "Klink", 2, (QueryStatus("a", "at the gate", WallMs(now), run="r"),))
    published.publish(PublishedStatus(status, "javascript:alert(1)//"), published.place_of(path))
    assert looked(path, now).rows()[0]["link"] == ""
