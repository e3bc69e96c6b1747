"""`headway bench dashboard`, small: it measures what it says, in a real browser."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headway.cli.app import app
from headway.errors import HeadwayError, SettingError
from headway_lab.experiments.dashboard import browser, run
from headway_lab.harness.claims import load

needs_chromium = pytest.mark.skipif(not any(map(shutil.which, browser.NAMES)), reason="chromium")


@needs_chromium
@pytest.mark.slow
def test_frames_and_decisions_are_timed_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("playwright.sync_api", reason="playwright")
    monkeypatch.setattr(run, "DECISIONS", 2)
    monkeypatch.setattr(run, "FRAMES", 5)
    ledger = tmp_path / "ledger.jsonl"
    line = f"bench dashboard --parts draw,told --sizes 60 --seeds 1 --ledger {ledger}"
    shown = CliRunner().invoke(app, line.split())
    assert shown.exit_code == 0, shown.output
    drawn, told = (json.loads(row) for row in ledger.read_text().splitlines())
    assert drawn["experiment"] == "dashboard-draw" and drawn["frames"] == 5 and 10 < drawn["rows"] < 40
    assert 0 < drawn["frame_ms"] <= drawn["frame_max_ms"]
    assert told["decisions"] == 2 and 0 < told["median_ms"] <= told["worst_ms"]


def test_claims_are_about_what_is_measured() -> None:
    mine = {claim.id: claim for claim in load() if claim.id.startswith("U")}
    assert {claim.experiment for claim in mine.values()} == {run.DRAW, run.TOLD, run.COST, run.DIED}
    assert mine["U2"].judged == "worst" and mine["U1"].at == ({"queries": 200},)


def test_a_part_that_there_is_not_is_told_in_one_line() -> None:
    shown = CliRunner().invoke(app, ["bench", "dashboard", "--parts", "draw,smell"])
    assert isinstance(shown.exception, SettingError) and "some of draw, told, cost, deaths" in str(shown.exception)


def test_without_a_browser_a_line_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(HeadwayError, match="no Chromium found"), browser.page_at("http://localhost:1"):
        pass
