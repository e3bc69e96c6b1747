"""`headway bench aion` explains itself, refuses what cannot be, and shows what came of it."""

import io
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from headway.cli.app import app, main
from headway_lab.experiments.aion.command import coverage_table, table
from headway_lab.experiments.aion.covered import WindowResult
from headway_lab.experiments.aion.run import LiveCase, Ran
from headway_lab.workloads.approximate import ExactAnswer


def words(shown: object) -> str:
    text = io.StringIO()
    Console(file=text, width=200).print(shown)
    return text.getvalue()


def ran(policy: str, off: float) -> Ran:
    truth = {(end, key): ExactAnswer(100.0, 100) for end in (3_000, 6_000) for key in ("1", "2")}
    answers = [WindowResult(end, key, 100 + off, 97.0 + off, 103.0 + off, 30) for end, key in truth]
    return Ran(LiveCase(), policy, 1, [100.0, 200.0], answers, truth, True, 1_000, 0, 10.0, 1.0)


def test_the_table_has_a_line_for_each_policy() -> None:
    shown = words(table(LiveCase(), {"aion": [ran("aion", 2)], "everything": [ran("everything", 0)]}))
    assert "ysb, EG, 5,000/s, windows of 3 s" in shown
    assert "everything" in shown and "30.0%" in shown and "2.00%" in shown


def test_coverage_is_told_of_windows_of_all_keys_and_of_the_worst_with_intervals() -> None:
    shown = words(coverage_table(LiveCase(), {"aion": [ran("aion", 4), ran("aion", 0)]}))
    assert "all keys" in shown and "key 1" in shown
    assert "50.0% (21.5% .. 78.5%)" in shown  # four of eight results
    assert "100.0% (51.0% .. 100.0%)" in shown  # four windows within 5 %


def test_help_names_the_options() -> None:
    shown = CliRunner().invoke(app, ["bench", "aion", "--help"])
    assert shown.exit_code == 0 and all(word in shown.stdout for word in ("--workloads", "--settings", "--coverage"))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--workloads yahoo", "workloads = 'yahoo': expected some of ysb, taxi, kmeans, boroughs, each once"),
        ("--workloads ysb,ysb", "workloads = 'ysb,ysb': expected some of"),
        ("--settings UU", "settings = 'UU': expected some of CC, GG, EC, EG"),
        ("--rates 0", "rates = '0': expected a whole number of 1 or more"),
        ("--windows 4", "windows = 4: expected multiples of 3 s"),
        ("--windows x", "windows = 'x': expected a whole number"),
        ("--policies aion,nope", "policies = 'nope': expected one of aion, everything"),
        ("--policies ,", "policies = ',': expected one or more, each once"),
        ("--seconds 2", "seconds = 2: expected 3 or more"),
        ("--windows 3,6 --seconds 5", "seconds = 5: expected 6 or more"),
        ("--warm -1", "warm = -1: expected 0 or more"),
        ("--seeds one", "seeds = 'one': expected a whole number"),
        ("--memory lots", "memory = 'lots': expected a size such as 4g"),
        ("--cores 0", "cores = 0: expected 1 or more"),
        ("--ledger other.txt", "some other file"),
    ],
)
def test_bad_input_is_one_line(
    line: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("other.txt").write_text("one\ntwo\n")
    assert main(["bench", "aion", *line.split()]) == 2
    told = capsys.readouterr().err
    assert says in told and told.count("\n") == 1
