"""`headway sim slack`: thresholds in virtual time, told and drawn."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headway.cli.app import app
from headway_lab.experiments.slack import paper as slack_paper


def test_runs_are_kept_drawn_and_not_made_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(slack_paper.SCENARIOS, "growing", replace(slack_paper.SCENARIOS["growing"], seconds=20))
    ledger, page = tmp_path / "ledger.jsonl", tmp_path / "slack.html"
    line = f"sim slack --scenarios growing --seeds 1 --out {page} --ledger {ledger}"
    shown = CliRunner().invoke(app, line.split())
    assert shown.exit_code == 0, shown.output
    records = [json.loads(row) for row in ledger.read_text().splitlines()]
    assert {r["policy"] for r in records} == set(slack_paper.policies(slack_paper.SCENARIOS["growing"]))
    assert {r["kind"] for r in records} == {"sim"} and {r["experiment"] for r in records} == {"slack"}
    assert "sltuner" in shown.output and "<html" in page.read_text()
    again = CliRunner().invoke(app, line.split())
    assert again.exit_code == 0 and len(ledger.read_text().splitlines()) == len(records)


def test_an_unknown_scenario_is_told_in_one_line(tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["sim", "slack", "--scenarios", "snow", "--out", str(tmp_path / "x.html")])
    assert shown.exit_code != 0 and "periodic, growing, chain, models" in str(shown.exception)
