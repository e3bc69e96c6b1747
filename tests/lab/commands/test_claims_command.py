"""The table of claims, and the same as JSON."""

import json
from pathlib import Path

from typer.testing import CliRunner

from headway.cli.app import app
from headway_lab.harness import checkout
from lab.harness.ledgers import record


def test_without_a_ledger_nothing_is_measured(tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["claims", "--json", "--ledger", str(tmp_path / "none")])
    claims = json.loads(shown.stdout)
    assert {c["verdict"] for c in claims} == {"not measured"}
    keys = {"id", "says", "paper", "setting", "live", "no_spark", "sim", "verdict", "stale", "because"}
    assert all(c.keys() == keys for c in claims)


def test_a_ledger_gives_figures_and_verdicts(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.jsonl"
    runs = [record(p, ms, seed) for seed in (1, 2, 3) for p, ms in (("klink", 300), ("stock", 6_000))]
    runs.append(record("paper", 0, experiment="coverage", setting=None) | {"hit": 0.1})
    runs[-1]["setting"] = {"delay": "uniform:0:500", "confidence": 0.95, "epochs": 400}
    ledger.write_text("".join(json.dumps(r) + "\n" for r in runs))
    by_id = {c["id"]: c for c in json.loads(CliRunner().invoke(app, ["claims", "--json", "--ledger", str(ledger)]).stdout)}
    assert by_id["C2b"]["verdict"] == "reproduced"
    live = by_id["C2b"]["live"]
    assert (live["value"], live["n"], live["commit"]) == (300, 3, "abc1234")
    here = checkout.own().root is not None  # a repository, and abc1234 is no commit of it
    assert live["commits_since"] is None and live["stale"] is (True if here else None)
    assert by_id["K2"]["verdict"] == by_id["K8"]["verdict"] == by_id["H8"]["verdict"] == "incomplete"
    assert by_id["K8"]["because"].startswith("missing live: klink at queries 10, rate 1000; klink at queries 20, rate 200")
    assert by_id["K7e"]["verdict"] == "not reproduced" and by_id["K7e"]["live"] is None
    table = CliRunner().invoke(app, ["claims", "--ledger", str(ledger)]).stdout
    assert "C2b" in table and "reproduced" in table and "Eq. 6" in table
    assert ("counts as stale" if here else "age unknown") in " ".join(table.split())


def test_the_ledger_becomes_a_page(tmp_path: Path) -> None:
    ledger, out = tmp_path / "ledger.jsonl", tmp_path / "page.html"
    ledger.write_text("".join(json.dumps(record(p, ms)) + "\n" for p, ms in (("klink", 300), ("stock", 6_000))))
    shown = CliRunner().invoke(app, ["bench", "report", "--ledger", str(ledger), "--out", str(out)])
    assert shown.exit_code == 0, shown.output
    assert "Claims" in out.read_text()


def test_coverage_goes_into_the_ledger_and_the_claims(tmp_path: Path) -> None:
    ledger = str(tmp_path / "ledger.jsonl")
    args = ["bench", "coverage", "--delay", "uniform:0:500", "--epochs", "80", "--seeds", "1,2", "--ledger", ledger]
    shown = CliRunner().invoke(app, args)
    assert shown.exit_code == 0 and "predictive" in shown.output
    claims = json.loads(CliRunner().invoke(app, ["claims", "--json", "--ledger", ledger]).stdout)
    assert next(c for c in claims if c["id"] == "K7")["sim"]["n"] == 2
