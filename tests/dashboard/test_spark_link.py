"""From a batch to Spark's own page about it, as Spark's REST interface tells of its executions."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from dashboard.served import served
from dashboard.worlds import BEGAN, write
from headway.dashboard.spark_link import execution_of
from headway.loop import published
from headway.loop.published import PublishedStatus
from headway.model.status import QueryStatus, RuntimeStatus
from headway.model.time import WallMs


def said(number: int, batch: int, run: str = "r-1", query: str = "q-1") -> dict[str, object]:
    return {"id": number, "description": f"books<br/>id = {query}<br/>runId = {run}<br/>batch = {batch}"}


AGAIN, OTHER = said(9, 7, "r-2"), said(6, 7, query="q-2")
EXECUTIONS: list[dict[str, object]] = [said(3, 7), said(4, 7), said(5, 8), OTHER, AGAIN, {"id": 10}]


@pytest.fixture
def ui() -> Iterator[str]:
    """Spark's own pages, as far as they are asked here."""

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            told: object = [{"id": "app-1"}]
            if "/sql?" in self.path:
                told = EXECUTIONS
            body = json.dumps(told).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def journal(folder: Path, ui: str) -> Path:
    path = folder / "run.db"
    write(path, ["books"], 12)
    query = QueryStatus("books", "at the gate", WallMs(BEGAN + 12_000), id="q-1", run="r-2")
    status = RuntimeStatus(WallMs(BEGAN + 13_000), "Klink", 1, (query,))
    published.publish(PublishedStatus(status, ui), published.place_of(path))
    return path


def test_the_first_execution_of_the_newest_run_is_the_batch() -> None:
    assert execution_of(EXECUTIONS, "q-1", 7) == 9  # it was run anew after a failure
    assert execution_of(EXECUTIONS[:4], "q-1", 7) == 3  # the fourth is what its sink ran
    assert execution_of(EXECUTIONS, "q-1", 99) is None


def test_a_batch_leads_to_its_execution_and_else_to_its_query(tmp_path: Path, ui: str) -> None:
    with served(journal(tmp_path, ui), now=BEGAN + 14_000) as (address, _), httpx.Client(base_url=address) as page:
        found = page.get("/spark", params={"query": "books", "batch": 8})
        assert (found.status_code, found.headers["location"]) == (302, f"{ui}/SQL/execution/?id=5")
        forgotten = page.get("/spark", params={"query": "books", "batch": 99})
        assert forgotten.headers["location"] == f"{ui}/StreamingQuery/statistics/?id=r-2"
        assert page.get("/spark", params={"query": "nobody", "batch": 8}).status_code == 404
        assert page.get("/spark", params={"query": "books", "batch": "x"}).status_code == 422


def test_without_pages_of_spark_a_line_says_so(tmp_path: Path) -> None:
    with served(journal(tmp_path, ""), now=BEGAN + 14_000) as (address, _):
        answer = httpx.get(f"{address}/spark?query=books&batch=8")
        assert answer.status_code == 404 and "spark.ui.enabled" in answer.text


def test_if_spark_does_not_answer_the_query_is_shown(tmp_path: Path) -> None:
    with served(journal(tmp_path, "http://127.0.0.1:9"), now=BEGAN + 14_000) as (address, _):
        answer = httpx.get(f"{address}/spark?query=books&batch=8")
        assert answer.headers["location"] == "http://127.0.0.1:9/StreamingQuery/statistics/?id=r-2"
