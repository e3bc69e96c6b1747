"""The demo of approximate answers on real Spark, made small, and what it shows."""

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from headway.cli.app import app, main
from headway_lab.experiments.aion import demo as demo_approximate
from headway_lab.experiments.aion import page as approximate_page
from headway_lab.experiments.aion.asking import Batch
from headway_lab.experiments.aion.covered import WindowResult
from headway_lab.experiments.aion.demo_run import APPROXIMATE, EXACT, Plan, Played, Side, play, take_in
from headway_lab.experiments.aion.run import LiveCase
from headway_lab.workloads.approximate import ExactAnswer, question

BASE = 1_700_000_000_000
ENDS = [BASE + 1_000, BASE + 4_000]


def words(shown: Any) -> str:
    text = io.StringIO()
    Console(file=text, width=200).print(shown)
    return text.getvalue()


def played() -> Played:
    exact = Side(
        [Batch(end + 2_000, end, 9) for end in ENDS], {end: WindowResult(end, "", 2.8, 2.8, 2.8, 1_000) for end in ENDS}
    )
    near = Side(
        [Batch(end + 300, end, 9) for end in ENDS],
        {ENDS[0]: WindowResult(ENDS[0], "", 2.9, 2.7, 3.1, 200), ENDS[1]: WindowResult(ENDS[1], "", 2.5, 2.4, 2.6, 100)},
    )
    truth = dict.fromkeys(ENDS, ExactAnswer(2.8, 1_000))
    plan = Plan(LiveCase("taxi"), 6, base_ms=BASE)
    return Played(plan, "mean distance of trips, miles", [*ENDS, BASE + 7_000], truth, {EXACT: exact, APPROXIMATE: near})


def test_the_last_line_has_the_figures() -> None:
    assert approximate_page.words(played()) == (
        "Approximate answers came 0.30 s after their window's end, exact ones after 2.00 s, from 15% of the rows; 1 of 2"
        " were within 5% of the exact answer (at most 10.7% off), and 1 of 2 bounds held it."
    )
    none = played()
    none.sides[EXACT].answers.clear()
    assert "No window was answered by both" in approximate_page.words(none)
    assert "Answers" in approximate_page.page(none) and words(approximate_page.summary(none))


def test_the_tables_show_both_sides() -> None:
    live = words(approximate_page.table(played(), BASE + 2_000))
    assert "4 s left" in live and "22:13:21" in live and "± 0.2" in live and "100%" in live and "10.7%" in live
    assert "settling, 3 s" in words(approximate_page.table(played(), BASE - 3_000))
    shown = words(approximate_page.summary(played()))
    assert "3 windows" in shown and "2.00" in shown and "0.30" in shown and "15%" in shown


def test_the_page_draws_answers_latency_and_rows() -> None:
    html = approximate_page.page(played())
    assert all(f"<h3>{heading}</h3>" in html for heading in ("Answers", "Latency", "Rows"))
    assert "bound, 95 %" in html and "tonexty" in html and "within 5% of the exact answer" in html


def test_windows_are_taken_in_as_they_come_out_and_keys_are_added_up() -> None:
    asked = question("ysb", "CC", 300, 3, 1, BASE - 5_000)
    run = Played(Plan(LiveCase("ysb"), 6, base_ms=BASE), asked.words, ENDS)

    class Fake:
        def __init__(self) -> None:
            self.batches, self.watermark = [Batch(BASE, BASE - 2_000, 9)], BASE - 2_000

        def look(self) -> None:
            self.watermark = ENDS[0]

        def answers(self, after_ms: int) -> list[WindowResult]:
            exact = asked.truth([ENDS[0]]).items()
            return [
                WindowResult(end, key, e.answer, e.answer, e.answer, e.rows) for (end, key), e in exact if end > after_ms
            ]

    fake = Fake()
    take_in(run, EXACT, fake, asked)
    assert list(run.sides[EXACT].answers) == [ENDS[0]] and run.off(EXACT, ENDS[0]) == 0 and run.share(EXACT, ENDS[0]) == 1
    assert run.both == []


@pytest.mark.spark
def test_both_are_asked_and_the_exact_side_is_exact(spark: Any, tmp_path: Path) -> None:
    plan = Plan(LiveCase("taxi", "CC", 400, 3), seconds=4, settle_s=1)
    shown: list[str] = []

    run = play(spark, plan, tmp_path, lambda done, now: shown.append(words(approximate_page.table(done, now))))

    assert run.both == run.ends_ms and 1 <= len(run.ends_ms) <= 2
    assert all(run.off(EXACT, end) < 1e-9 and run.share(EXACT, end) == 1 for end in run.both)
    assert all(run.off(APPROXIMATE, end) < 0.3 and 0 < run.share(APPROXIMATE, end) <= 1 for end in run.both)
    assert "approximate" in shown[-1]
    demo_approximate._show(run, tmp_path / "report")
    assert "Latency" in (tmp_path / "report" / "approximate.html").read_text()


def test_help_names_the_options() -> None:
    shown = CliRunner().invoke(app, ["demo", "approximate", "--help"])
    assert shown.exit_code == 0 and "--workload" in shown.stdout and "--error" in shown.stdout


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--workload yahoo", "workload = 'yahoo': expected one of ysb, taxi, kmeans"),
        ("--workload boroughs", "workload = 'boroughs': expected one of ysb, taxi, kmeans"),
        ("--setting UU", "settings = 'UU': expected one of"),
        ("--rate 0", "rate = 0: expected 1 or more"),
        ("--window 4", "window = 4: expected a multiple of 3 s"),
        ("--window 0", "window = 0: expected a multiple of 3 s"),
        ("--seconds 2", "seconds = 2: expected 3 or more"),
        ("--error 2", "approximate.error = 2.0: expected a share between 0 and 1"),
        ("--out none/deep", "out = 'none/deep': expected a file in a folder that exists"),
        ("--memory lots", "memory = 'lots': expected a size"),
        ("--cores 0", "cores = 0: expected 1 or more"),
    ],
)
def test_bad_input_is_one_line(
    line: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "approximate", *line.split()]) == 2
    told = capsys.readouterr().err
    assert says in told and told.count("\n") == 1
