"""The dashboard of a runtime that runs: what it shows is what `rt.status()` says, and it ends with the runtime."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

import headway as hw
from headway.errors import HeadwayError
from headway.loop import published
from headway_lab.workloads.events import events
from spark.scripted import wait_until
from spark.test_live import stream, views

pytestmark = pytest.mark.spark


def broken(frame: Any, number: int) -> None:
    raise ValueError("not today")


def rows_of(page: httpx.Client) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in page.get("/api/overview").json()["rows"]}


def test_pages_say_what_the_runtime_says(spark: Any, tmp_path: Path) -> None:
    journal = tmp_path / "j.db"
    with hw.Runtime(spark, journal=journal) as rt:
        marked = rt.watermark(events(spark, stream(1)), "event_time", "300 ms", arrival="arrival")
        query = rt.start(views(marked).writeStream.format("memory"), name="shown", checkpoint=str(tmp_path / "cp"))
        address = rt.dashboard()
        assert rt.dashboard() == address, "it is one process, whoever asks"
        assert published.read(published.place_of(journal)) is not None
        with httpx.Client(base_url=address, timeout=20) as page:
            wait_until(lambda: rows_of(page).get("shown", {}).get("windows", 0) >= 3, "three windows on the page", query)
            row = rows_of(page)["shown"]
            assert row["period_ms"] == 2_000 and row["patience_ms"] == 300 and row["rows_per_s"] > 0
            status = rt.status().query("shown")
            ui = spark.sparkContext.uiWebUrl  # none, where the session was made without Spark's own pages
            assert status is not None and row["link"] == (f"{ui}/StreamingQuery/statistics/?id={status.run}" if ui else "")
            assert row["batches"] <= status.batches and json.loads(page.get("/api/story?name=shown").text)["lines"]
            assert 'headway_query_up{query="shown"} 1.0' in page.get("/metrics").text
            failing = rt.watermark(events(spark, stream(2)), "event_time", "300 ms", arrival="arrival")
            rt.start(failing.writeStream.foreachBatch(broken), name="failing", checkpoint=str(tmp_path / "cp2"))
            wait_until(lambda: rows_of(page).get("failing", {}).get("state") == "failed", "the death of a query on the page")
            assert "not today" in rows_of(page)["failing"]["error"]
            assert 'headway_query_up{query="failing"} 0.0' in page.get("/metrics").text
    with pytest.raises(httpx.ConnectError):
        httpx.get(address)
    assert not published.place_of(journal).exists()


def test_an_ungated_runtime_has_no_journal_to_show(spark: Any) -> None:
    with hw.Runtime(spark, hw.order.Stock()) as rt, pytest.raises(HeadwayError, match="Stock writes no journal"):
        rt.dashboard()


def test_a_dashboard_that_cannot_start_says_why(spark: Any, tmp_path: Path) -> None:
    with hw.Runtime(spark, journal=tmp_path / "j.db") as rt:
        with pytest.raises(HeadwayError, match=r"a token, since 0\.0\.0\.0 is not loopback"):
            rt.dashboard(host="0.0.0.0")
        assert rt.dashboard().startswith("http://127.0.0.1:")
