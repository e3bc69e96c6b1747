"""Advice on a job of stock Spark: by one line in it, and afterwards from the event log that Spark has written."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headway.cli.app import app

pytestmark = pytest.mark.spark


def test_a_job_is_seen_alike_from_within_and_by_its_event_log(tmp_path: Path) -> None:
    events, rows = tmp_path / "events", tmp_path / "rows"
    events.mkdir()
    rows.mkdir()
    child = Path(__file__).with_name("advised_child.py")
    done = subprocess.run(
        [sys.executable, str(child), str(events), str(rows)], capture_output=True, text=True, timeout=200, env=os.environ
    )
    assert done.returncode == 0, done.stderr[-3000:]
    # What the plan says is found without a word from the user.
    assert "FACTS Deadlines(grids=(Grid(period_ms=10000, offset_ms=0),)) 2000 50" in done.stdout
    assert "too-many-partitions" in done.stdout and "6 partitions of state" in done.stdout
    assert "too-many-partitions" in done.stderr and "As a page: " in done.stderr
    assert "too-many-partitions" in (rows / "advice.html").read_text()
    (log,) = events.iterdir()  # a folder: since Spark 4 logs roll, and are packed
    shown = CliRunner().invoke(app, ["advise", str(log), "--window", "10 seconds", "--delay", "2 seconds", "--json"])
    assert shown.exit_code == 0, shown.output
    by_log = {item["check"] for item in json.loads(shown.stdout)}
    by_line = {line.rpartition("(")[2].rstrip(")") for line in done.stdout.splitlines() if line.startswith("[")}
    # The trigger is not in the log; everything else is found there too.
    assert "too-many-partitions" in by_log and by_line - {"trigger-too-short"} <= by_log
