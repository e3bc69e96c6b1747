"""A query whose error echoes its password: it is on no page, in no file, in no metric and in no line of the terminal."""

import json
import time
from pathlib import Path

import httpx
import pytest

from dashboard.served import served
from dashboard.worlds import BEGAN, write
from headway.loop import published
from headway.loop.journal import Journal
from headway.loop.published import PublishedStatus
from headway.loop.trouble import says
from headway.model.message import Failed, Message
from headway.model.status import QueryStatus, RuntimeStatus
from headway.model.time import WallMs
from headway.spark.supervisor import Supervisor, Watched

SECRET = "hunter2-0815"
ERROR = f"""Failed to construct kafka consumer with Map(kafka.sasl.jaas.config -> PlainLoginModule required username="me" \
password="{SECRET}"; kafka.ssl.key.password -> {SECRET}, subscribe -> orders)
=== Streaming Query ===
Identifier: books"""
PATIENCE_S = 30.0


class Query:
    """A query of Spark's that has died of it."""

    id, runId, isActive = "q-1", "r-1", False

    def exception(self) -> Exception:
        return RuntimeError(ERROR)


def died(told: list[Message]) -> Watched:
    """As the supervisor finds it, who speaks of it on the terminal."""
    supervisor = Supervisor(told.append, lambda watched: None)
    supervisor.watch("books", Query())
    supervisor.look()
    supervisor.close()
    found = supervisor.of("books")
    assert found is not None and found.error is not None
    return found


def test_it_is_nowhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, told = tmp_path / "run.db", list[Message]()
    write(path, ["books"], 12)
    watched = died(told)
    (message,) = told
    assert isinstance(message, Failed) and "subscribe -> orders" in message.error
    journal = Journal(path)
    journal.note(WallMs(BEGAN + 12_500), "books", f"failed: {message.error}")
    journal.note(WallMs(BEGAN + 12_600), "books", f"its batch has run for 300 s and is here:\n{ERROR}")
    journal.close()
    assert watched.error is not None
    status = QueryStatus("books", "failed", WallMs(BEGAN + 12_500), error=says(watched.error))
    told_of = PublishedStatus(RuntimeStatus(WallMs(BEGAN + 13_000), "Klink", 1, (status,)))
    published.publish(told_of, published.place_of(path))
    seen = dict[str, str]()
    with served(path, now=BEGAN + 14_000) as (address, glance), httpx.Client(base_url=address) as page:
        end = time.monotonic() + PATIENCE_S
        while "failed" not in json.dumps(glance.rows()):
            assert time.monotonic() < end
            time.sleep(0.01)
        for part in ("/api/overview", "/api/query?name=books", "/api/story?name=books", "/api/decisions", "/metrics"):
            seen[part] = page.get(part).text
    seen |= {file.name: file.read_bytes().decode("latin-1") for file in tmp_path.iterdir()}
    seen["terminal"] = capsys.readouterr().err
    assert {place for place, text in seen.items() if SECRET in text} == set()
    for place in ("/api/overview", "/api/query?name=books", "run.db", "run.db.status", "terminal"):
        assert "***" in seen[place] and "subscribe -> orders" in seen[place], place
