"""`headway bench gate`, small: it measures, tells, and writes down what the claims ask for."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from headway.cli.app import app, main
from headway_lab.harness.checkout import Checkout
from headway_lab.harness.claims import Claim
from headway_lab.harness.ledger import Ledger
from headway_lab.harness.verdicts import Figure, look_up


def test_it_measures_both_and_writes_them_down(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.jsonl"
    sizes = ["--readers", "1,2", "--tuples", "400", "--joined", "800", "--parts", "1", "--turns", "1"]
    shown = CliRunner().invoke(app, ["bench", "gate", *sizes, "--seeds", "1,2", "--ledger", str(ledger)])
    assert shown.exit_code == 0, shown.output
    assert "scale-gate" in shown.output and "1 process" in shown.output
    records = Ledger(ledger).records()
    assert len(records) == 2 * (2 * 2 * 3 + 1) and {r["kind"] for r in records} == {"no-spark"}
    of = {"experiment": "gate-read", "candidate": "slack-gate", "baselines": ("k-slack",), "field": "read_ns"}
    claim = Claim("T", "", "", "", "ratio", at=({"readers": 2, "calls": "one"},), **of)  # type: ignore[arg-type]
    found = look_up(claim, records, "no-spark", Checkout(None))
    assert isinstance(found, Figure) and found.n == 2 and found.value > 0


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("bench gate --readers 0", "readers = '0': expected a whole number of 1 or more"),
        ("bench gate --parts two", "parts = 'two': expected a whole number"),
        ("bench gate --tuples 0", "tuples = 0: expected 1 or more"),
        ("bench gate --turns 0", "turns = 0: expected 1 or more"),
    ],
)
def test_bad_input_is_one_line(line: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.split()) == 2
    assert says in capsys.readouterr().err
