"""`headway sim aion`: answers from samples, told and drawn."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headway.cli.app import app, main
from headway_lab.experiments.aion.paper import POLICIES


def test_runs_are_kept_drawn_and_not_made_twice(tmp_path: Path) -> None:
    ledger, page = tmp_path / "ledger.jsonl", tmp_path / "aion.html"
    line = f"sim aion --workloads ysb --settings EG --rates 1000 --windows 3 --seeds 1 --minutes 1 --out {page}"
    line += f" --ledger {ledger}"
    shown = CliRunner().invoke(app, line.split())
    assert shown.exit_code == 0, shown.output
    records = [json.loads(row) for row in ledger.read_text().splitlines()]
    assert {r["policy"] for r in records} == {*POLICIES, "stragglers"}
    assert {(r["kind"], r["experiment"]) for r in records} == {("sim", "aion-sim")}
    assert records[0]["setting"].items() >= {"workload": "ysb", "setting": "EG", "rate": 1000, "window_s": 3}.items()
    assert "aq-k-slack" in shown.output and "Fig. 4.2" in page.read_text()
    again = CliRunner().invoke(app, line.split())
    assert again.exit_code == 0 and len(ledger.read_text().splitlines()) == len(records)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--settings XX", "CC, GG, EC, EG, EV"),
        ("--workloads trips", "ysb, taxi, kmeans"),
        ("--windows 4", "600 ms"),
        ("--rates 5", "100 or more"),
        ("--minutes 0", "1 or more"),
        ("--seeds 0", "1 or more"),
    ],
)
def test_a_bad_option_is_told_in_one_line(words: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = tmp_path / "ledger.jsonl"
    assert main(["sim", "aion", *words.split(), "--out", str(tmp_path / "x.html"), "--ledger", str(ledger)]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and says in told and not ledger.exists()


def test_ctrl_c_keeps_what_is_done_and_ends_quietly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from headway_lab.experiments.aion import paper as aion_paper

    done: list[str] = []

    def simulate(task: aion_paper.Task) -> dict[str, float]:
        if done:
            raise KeyboardInterrupt
        done.append(task[1])
        return {"windows": 1}

    monkeypatch.setattr(aion_paper, "simulate", simulate)
    ledger, page = tmp_path / "ledger.jsonl", tmp_path / "aion.html"
    assert main(["sim", "aion", "--out", str(page), "--ledger", str(ledger)]) == 130
    assert len(ledger.read_text().splitlines()) == 1 and not page.exists()
