"""`headway wan run` over sites in network namespaces: exact though a site's Spark is killed, and nothing is left of it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from headway.cli.app import app
from headway.wan import testbed
from headway.wan.control.record import RecordFile
from headway.wan.site_servers import BROKER_PORT
from headway.wan.testbed import WanTestbed
from headway_lab.experiments.wan_live.views import (
    AdStream,
    delivered,
    last_end,
    true_views,
    twice,
    up_to,
    views_of,
    wrong,
)
from spark.scripted import wait_until

JOB = Path(__file__).parents[2] / "examples" / "wide_area.py"
SITES, WINDOW_MS, SECONDS, RATE = ("a", "b"), 2_000, 30, 50
why = testbed.unavailable()
pytestmark = [
    pytest.mark.spark, pytest.mark.kafka,
    pytest.mark.skipif(why is not None, reason=f"needs network namespaces: {why}"),
]  # fmt: skip


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WanTestbed]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    more = {"SITES": ",".join(SITES), "RESULTS": str(tmp_path / "results"), "WINDOW_MS": str(WINDOW_MS)}
    for name, value in more.items():
        monkeypatch.setenv(name, value)
    made = testbed.up(SITES, 8_000_000)
    made.save(tmp_path / "headway" / "wan.json")
    yield made
    made.down()


def sending(bed: WanTestbed) -> list[AdStream]:
    epoch = time.time_ns() // 1_000_000 + 1_000
    streams = [AdStream(n, RATE, epoch, SECONDS) for n in range(len(SITES))]
    for site, stream in zip(SITES, streams, strict=True):
        told = {"address": f"{bed.address(site)}:{BROKER_PORT}", "topic": f"ads-{site}", "streams": [astuple(stream)]}
        command = [sys.executable, "-m", "headway_lab.experiments.wan_live.sender", json.dumps(told)]
        subprocess.Popen(bed.command(site, *command))
    return streams


@pytest.mark.timeout(600)  # two brokers and two Spark applications are started in it, and one of these again
def test_a_pipeline_over_sites_is_exact_though_one_dies_and_leaves_nothing_behind(bed: WanTestbed, tmp_path: Path) -> None:
    results, journal = tmp_path / "results", tmp_path / "journal.db"
    rates = [word for site in SITES for word in ("--rate", f"ads-{site}={RATE}")]
    words = ["--policy", "no-adapt", "--round", "2", "--settle", "1", "--journal", str(journal)]
    words += ["--folder", str(tmp_path / "area")]
    with (tmp_path / "out.log").open("wb") as out:
        running = subprocess.Popen(
            [sys.executable, "-m", "headway", "wan", "run", str(JOB), *words, *rates], stdout=out, stderr=out
        )  # fmt: skip
    started: list[psutil.Process] = []
    try:
        record = RecordFile(tmp_path / "area" / "record.json")

        def runs() -> bool:
            assert running.poll() is None, (tmp_path / "out.log").read_text()[-3_000:]
            found = record.read()
            return found is not None and all(placed.begun for placed in found.current.pieces)

        wait_until(runs, "the pieces to begin", patience_s=240)
        streams = sending(bed)
        wait_until(lambda: runs() and last_end(delivered(results)) > 0, "a first window")
        started = psutil.Process(running.pid).children(recursive=True)
        node = next(p for p in started if "--name" in p.cmdline() and p.cmdline()[p.cmdline().index("--name") + 1] == "b")
        os.kill(node.pid, signal.SIGKILL)
        until = streams[0].epoch_ms // WINDOW_MS * WINDOW_MS + (SECONDS - 4) * 1_000
        wait_until(lambda: runs() and last_end(delivered(results)) >= until, "the last window")
        started = psutil.Process(running.pid).children(recursive=True)
        found, true = up_to(views_of(delivered(results)), until), up_to(true_views(streams, WINDOW_MS), until)
        assert twice(delivered(results)) == 0 and wrong(found, true) == 0 and len(true) > 500
        assert "the node of b had ended, and is started again" in (tmp_path / "out.log").read_text()
    finally:
        running.kill()
        running.wait()
    gone, left = psutil.wait_procs(started, timeout=90)
    assert left == [] and len(gone) > 2 * len(SITES)
    said = CliRunner().invoke(app, ["explain", "views", "--journal", str(journal)]).output
    assert "nothing ever changes" in said and "combine-all" in said


def test_a_job_of_other_sites_is_refused_in_one_line(bed: WanTestbed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SITES", "a,nowhere")
    refused = CliRunner().invoke(app, ["wan", "run", str(JOB)])
    assert "expected sites of the testbed (a, b), not 'nowhere'" in str(refused.exception)
    monkeypatch.setenv("SITES", "a,b")
    wrong_words = [(["--rate", "ads-a"], "SOURCE=ROWS"), (["--policy", "waps"], "one of"), (["--slots", "0"], "1 or more")]
    for words, says in wrong_words:
        assert says in str(CliRunner().invoke(app, ["wan", "run", str(JOB), *words]).exception)
