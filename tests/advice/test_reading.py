"""Logs as Spark writes them, and files that are none."""

import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headway.advice.reading import JobReader, read
from headway.cli.app import app, main
from headway.errors import HeadwayError
from headway_lab.experiments.advice.made_jobs import MadeQuery

EVENT = "org.apache.spark.sql.streaming.StreamingQueryListener$"


def event_log(*queries: MadeQuery) -> list[str]:
    events: list[dict[str, object]] = [
        {"Event": "SparkListenerExecutorAdded", "Timestamp": 1, "Executor Info": {"Total Cores": 2}},
        {"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": {"spark.app.name": "a job"}},
    ]
    for query in queries:
        events.append({"Event": f"{EVENT}QueryStartedEvent", "id": f"id-{query.name}", "name": query.name})
        events += [{"Event": f"{EVENT}QueryProgressEvent", "progress": report} for report in query.reports()]
    events.append({"Event": f"{EVENT}QueryTerminatedEvent", "id": "id-clicks", "exception": "boom\nat line 1"})
    return [json.dumps(event) for event in events]


def test_an_event_log_tells_queries_cores_settings_and_deaths() -> None:
    reader = JobReader()
    read(event_log(MadeQuery(), MadeQuery("views")), reader)
    job = reader.history()
    assert [query.name for query in job.queries] == ["clicks", "views"] and job.cores == 2
    assert job.settings["spark.app.name"] == "a job"
    assert [query.error for query in job.queries] == ["boom at line 1", None]
    assert len(job.queries[0].reports) == 120


def test_progress_reports_by_the_line_or_as_a_list_are_read_and_the_same_twice_is_one() -> None:
    reports, reader = MadeQuery(batches=7).reports(), JobReader()
    read([json.dumps(report) for report in reports] + [json.dumps(reports)] + ['{"cut in the mid'], reader)
    assert [report.batch for report in reader.history().queries[0].reports] == list(range(7))


def test_what_is_no_log_is_refused_in_one_line() -> None:
    for lines in ([], ["hello"], ['{"a": 1}'], ["[1, 2]"]):
        with pytest.raises(HeadwayError, match="no progress of a streaming query in there"):
            read(lines, JobReader())
    with pytest.raises(HeadwayError, match="not as Spark writes it"):
        read(['{"batchId": "x", "timestamp": "then", "id": 1}'], JobReader())


def test_the_command_reads_packed_and_rolled_logs_and_writes_a_page(tmp_path: Path) -> None:
    lines = event_log(MadeQuery(every_ms=6_000, took_ms=5_900, rows=6_000, late_ms=800))
    rolled = tmp_path / "eventlog_v2_app-1"
    rolled.mkdir()
    (rolled / "appstatus_app-1.inprogress").touch()
    (rolled / "events_2_app-1").write_text("\n".join(lines[60:]))
    (rolled / "events_1_app-1.gz").write_bytes(gzip.compress("\n".join(lines[:60]).encode() + b"\n"))
    page = tmp_path / "advice.html"
    shown = CliRunner().invoke(
        app, ["advise", str(rolled), "--window", "10 seconds", "--delay", "clicks=1 second", "--out", str(page)]
    )
    assert shown.exit_code == 0, shown.output
    assert "query-died" in shown.output and "windows-late" in shown.output
    assert "windows-late" in page.read_text() and "http" not in page.read_text()


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["nowhere"], "nowhere is not there"),
        (["{log}", "--window", "nobody=3s"], "no query 'nobody' in there: it has clicks"),
        (["{log}", "--window", "clicks=3s/1s/2s"], "window ="),
        (["{log}", "--delay", "soon"], "delay = 'soon'"),
        (["{log}", "--cores", "0"], "cores = 0"),
        (["{empty}"], "has no file in it"),
    ],
)
def test_bad_input_gets_one_line_and_exit_code_2(
    args: list[str], says: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "log").write_text("\n".join(event_log(MadeQuery(batches=3))))
    (tmp_path / "empty").mkdir()
    words = [arg.format(log=tmp_path / "log", empty=tmp_path / "empty") for arg in args]
    assert main(["advise", *words]) == 2
    told = capfd.readouterr().err
    assert says in told and told.count("\n") == 1
