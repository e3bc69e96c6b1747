"""That a query has died is told at once: no step from its end to the page waits for the next round of anything.

Every pause is an hour here, so whatever waited for one would be seen to.
"""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dashboard.worlds import BEGAN, write
from headway.dashboard.glance import Glance
from headway.dashboard.metrics_text import exposition
from headway.dashboard.rows import WatchedRow
from headway.dashboard.terminal_rows import cells
from headway.loop import published
from headway.loop.journal import Journal, JournalReader
from headway.loop.published import PublishedStatus
from headway.model.message import Failed, Message
from headway.model.status import QueryStatus, RuntimeStatus
from headway.model.time import WallMs
from headway.spark.shown import StatusFile
from headway.spark.supervisor import Supervisor

HOUR_S, PATIENCE_S = 3600.0, 30.0


def wait_until(true: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.005)


class Query:
    """A query of Spark's, as far as its supervisor looks."""

    id, runId, isActive = "q-1", "r-1", True

    def exception(self) -> Exception | None:
        return ValueError("the disk is full")


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("headway.spark.supervisor.EVERY_S", "headway.spark.shown.EVERY_S", "headway.loop.journal.PAUSE_S"):
        monkeypatch.setattr(place, HOUR_S)


def test_the_end_of_its_line_is_looked_into_at_once() -> None:
    told, turned, query = list[Message](), threading.Event(), Query()
    supervisor = Supervisor(told.append, lambda watched: None, lambda text: None, turned.set)
    supervisor.watch("books", query)
    query.isActive = False
    supervisor.stirred.set()
    assert turned.wait(PATIENCE_S)
    wait_until(lambda: told, "what the controller is told")
    supervisor.close()
    assert told == [Failed("books", "ValueError: the disk is full")]
    died = supervisor.failed()
    assert died is not None and died.name == "books"


def test_its_status_is_published_at_once(tmp_path: Path) -> None:
    journal, state = tmp_path / "run.db", ["in a batch"]

    def status() -> RuntimeStatus:
        return RuntimeStatus(WallMs(1), "Klink", 1, (QueryStatus("books", state[0], WallMs(1)),))  # type: ignore[arg-type]

    file = StatusFile(status, "", journal)
    state[0] = "failed"
    file.soon()

    def shown() -> str:
        told = published.read(file.place)
        return "" if told is None else told.status.queries[0].state

    wait_until(lambda: shown() == "failed", "the status")
    file.close()


def test_its_note_is_committed_at_once(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    journal = Journal(path)
    journal.note(WallMs(1), "books", "runs")
    reader = JournalReader(path)
    wait_until(lambda: reader.notes("books"), "the first note")  # the writer pauses from here on
    journal.note(WallMs(2), "books", "failed: the disk is full")
    wait_until(lambda: len(reader.notes("books")) == 2, "the note of its death")
    journal.close()


def test_the_journal_wins_over_a_status_that_is_older_than_the_death(tmp_path: Path) -> None:
    path, now = tmp_path / "run.db", BEGAN + 13_000
    write(path, ["books", "clicks"], 12)
    queries = tuple(QueryStatus(name, "in a batch", WallMs(BEGAN + 11_500)) for name in ("books", "clicks"))
    told = RuntimeStatus(WallMs(BEGAN + 12_800), "Klink", 1, queries)
    published.publish(PublishedStatus(told), published.place_of(path))
    glance = Glance(path, now=lambda: now)
    glance.look()
    assert {row["state"] for row in glance.rows()} == {"in a batch"}
    journal = Journal(path)
    journal.note(WallMs(BEGAN + 12_900), "books", "failed: the disk is full")
    journal.close()
    glance.look()
    rows = {row["name"]: WatchedRow(**row) for row in glance.rows()}
    assert (rows["books"].state, rows["books"].error) == ("failed", "the disk is full")
    assert rows["clicks"].state == "in a batch"
    assert b'headway_query_up{query="books"} 0.0' in exposition(glance)
    assert "failed" in [str(cell) for cell in cells(rows["books"], now, 1_000)]
    # It was started again: the status is newer than the note.
    again = RuntimeStatus(WallMs(now), "Klink", 1, (QueryStatus("books", "starting", WallMs(BEGAN + 12_950)),))
    published.publish(PublishedStatus(again), published.place_of(path))
    glance.look()
    assert {row["name"]: row["state"] for row in glance.rows()}["books"] == "starting"
