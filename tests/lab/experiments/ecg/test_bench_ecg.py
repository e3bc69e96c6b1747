"""The bench of the detector: every record counted once, and the query says what the detector alone says."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from headway_lab.experiments.ecg import command
from headway_lab.experiments.ecg.figures import ecg, picture, stretch
from headway_lab.experiments.ecg.run import (
    RecordOutcome,
    cuts,
    different,
    expected,
    figures,
    groups,
    outcome,
    streamed,
)
from headway_lab.harness.report import figures_page
from headway_lab.workloads.bio.ecg import BeatScore
from lab.workloads.bio.ecg.hearts import made_record, regular

FIRST = made_record("100", regular(60), 18_400, seed=1)
SECOND = made_record("108", regular(70, 250), 18_000, seed=2)


def test_an_outcome_does_not_depend_on_the_seed_that_cuts_the_record() -> None:
    assert cuts(FIRST, 1) != cuts(FIRST, 2) and cuts(FIRST, 1)[0] > 0
    one, other = (outcome(FIRST, seed) for seed in (1, 2))
    assert one == other and one.whole == BeatScore(60, 0, 0) and one.clean


def test_records_are_told_of_one_by_one_then_the_clean_ones_then_all() -> None:
    found = [
        RecordOutcome("100", True, "MLII", BeatScore(98, 2, 0), BeatScore(10, 0, 0), 3),
        RecordOutcome("108", False, "MLII", BeatScore(50, 50, 25), BeatScore(5, 5, 0), 4),
        RecordOutcome("101", True, "MLII", BeatScore(100, 0, 1), BeatScore(10, 0, 0), 0),
    ]
    assert [(name, len(of)) for name, of in groups(found)] == [("100", 1), ("108", 1), ("101", 1), ("clean", 2), ("all", 3)]
    clean = figures([one for one in found if one.clean])
    assert clean["sensitivity"] == 0.99 and clean["least_sensitivity"] == 0.98 and clean["beats"] == 200
    assert clean["positive_predictivity"] == pytest.approx(198 / 199, abs=1e-6)
    assert figures(found)["later_sensitivity"] == pytest.approx(25 / 30, abs=1e-6) and figures(found)["searched"] == 7
    assert "108 (difficult)" in [str(cell) for cell in command.table(found).columns[0].cells]


def test_beats_that_differ_and_beats_that_come_twice_are_counted() -> None:
    told = expected([FIRST])
    assert different(told, told) == 0 < len(told)
    assert different(told[1:], told) == 1
    assert different([*told, told[0]], told) == 1
    assert different([("100", told[0][1] + 1, *told[0][2:]), *told[1:]], told) == 2


def test_a_stretch_shows_what_was_marked_and_what_was_found(tmp_path: Path) -> None:
    shown = stretch(FIRST, 10, 8)
    assert shown.marked == [at for at in regular(60) if 3_600 <= at < 6_480] and len(shown.found) == len(shown.marked)
    assert len(shown.signal) == len(shown.passed) == len(shown.energy) == 2_880
    top = int(shown.energy.argmax()) + 3_600
    assert min(abs(top - at) for at in shown.marked) <= 6, "the filters shift nothing"
    assert all(high > 0 for _, high in shown.thresholds) and shown.thresholds[-1][0] == 6_480
    page = figures_page("QRS", ecg([outcome(FIRST, 1)], shown))
    assert "Errors, record by record" in page and "Record 100" in page
    picture(shown, tmp_path / "ecg.png")
    assert (tmp_path / "ecg.png").read_bytes()[:4] == b"\x89PNG"


def test_the_command_writes_the_ledger_the_table_and_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def made(names: Any = None) -> list[Any]:
        return [one for one in (FIRST, SECOND) if names is None or one.name in names]

    monkeypatch.setattr(command, "records", made)
    app = typer.Typer()
    app.command()(command.ecg)
    where = ["--out", str(tmp_path / "page.html"), "--ledger", str(tmp_path / "ledger.jsonl")]
    said = CliRunner().invoke(app, ["--seeds", "1,2", "--show", "100", "--at", "5", *where])
    assert said.exit_code == 0, said.output
    lines = [json.loads(line) for line in (tmp_path / "ledger.jsonl").read_text().splitlines()]
    assert [(line["setting"]["records"], line["seed"]) for line in lines] == [
        (name, seed) for seed in (1, 2) for name in ("100", "108", "clean", "all")
    ]
    assert {line["kind"] for line in lines} == {"no-spark"} and lines[0]["beats"] == 60
    assert "plotly" in (tmp_path / "page.html").read_text()


@pytest.mark.spark
def test_the_query_says_what_the_detector_alone_says(spark: Any, tmp_path: Path) -> None:
    two = [FIRST, replace(SECOND, name="101")]
    told = streamed(spark, two, tmp_path, speed=25, packet=50, show=lambda out, of: None)
    assert different(told, expected(two)) == 0 and len(told) > 120
