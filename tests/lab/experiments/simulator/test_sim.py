"""`headway sim`: figures without Spark."""

import json
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from headway.cli.app import app


@pytest.mark.slow
def test_the_papers_figures_are_drawn_and_kept(tmp_path: Path) -> None:
    ledger, page = tmp_path / "ledger.jsonl", tmp_path / "sim.html"
    line = f"sim paper --experiments delays --orders default,klink --seeds 1 --minutes 2 --jobs 1 --out {page}"
    line += f" --ledger {ledger}"
    shown = CliRunner().invoke(app, line.split())
    assert shown.exit_code == 0, shown.output
    records = [json.loads(row) for row in ledger.read_text().splitlines()]
    assert {(r["setting"]["workload"], r["policy"]) for r in records} == {
        (w, p) for w in ("ysb", "linear-road", "taxi") for p in ("default", "klink")
    }
    assert {r["kind"] for r in records} == {"sim"} and all(r["windows"] > 0 for r in records)
    assert "klink" in shown.output and "<html" in page.read_text()
    again = CliRunner().invoke(app, line.split())
    assert again.exit_code == 0 and len(ledger.read_text().splitlines()) == len(records)


@pytest.mark.slow
def test_a_sweep_that_is_killed_leaves_no_worker_behind(tmp_path: Path) -> None:
    words = ["sim", "paper", "--experiments", "delays", "--minutes", "60", "--jobs", "2"]
    files = ["--out", str(tmp_path / "sim.html"), "--ledger", str(tmp_path / "ledger.jsonl")]
    sweep = subprocess.Popen([sys.executable, "-m", "headway", *words, *files], stderr=subprocess.DEVNULL)
    try:
        while len(workers := psutil.Process(sweep.pid).children()) < 2:
            assert sweep.poll() is None
    finally:
        sweep.kill()
        sweep.wait()
    _, left = psutil.wait_procs(workers, timeout=60)
    assert not left


def test_the_ladder_stands_on_the_least_possible(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.jsonl"
    line = f"sim ladder --queries 10,50 --seconds 20 --policies klink --ledger {ledger} --out {tmp_path / 'ladder.html'}"
    shown = CliRunner().invoke(app, line.split())
    assert shown.exit_code == 0, shown.output
    records = [json.loads(row) for row in ledger.read_text().splitlines()]
    assert sorted(record["setting"]["queries"] for record in records) == [10, 50]
    assert all(record["least_ms"] <= record["mean_ms"] and not record["early"] for record in records)
