"""Every kind of fault is found at nearly every strength, and healthy jobs are left alone: as claims D3 and D4 have it."""

from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner

from headway.advice.checks import CHECKS, examined
from headway.cli.app import app
from headway_lab.experiments.advice.borderline import BORDER, near
from headway_lab.experiments.advice.seeded import BAD, judged
from headway_lab.harness.claims import load
from headway_lab.harness.ledger import Ledger


def test_faults_of_every_kind_are_found_and_healthy_jobs_left_alone() -> None:
    found = judged(7, each=4)
    bounds = {claim.id: claim.bounds for claim in load()}
    assert BAD.keys() == CHECKS.keys()
    assert found["found_worst_kind"] >= bounds["D3"][0], found["missed"]
    assert found["false_alarms"] <= bounds["D4"][1], found["alarms"]


@pytest.mark.slow
def test_what_was_found_is_kept(tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["bench", "advice-seeded", "--seeds", "3", "--ledger", str(tmp_path / "l.jsonl")])
    (record,) = Ledger(tmp_path / "l.jsonl").records()
    assert shown.exit_code == 0 and record["experiment"] == "advice-seeded" and record["bad_jobs"] == 760


def test_checks_are_steady_a_little_beyond_and_a_little_within_their_bounds() -> None:
    found = near(5, each=5)
    bounds = {claim.id: claim.bounds for claim in load()}
    assert len(BORDER) >= 12 and BORDER.keys() < CHECKS.keys()
    assert found["found_near"] >= bounds["D5"][0] and found["alarms_near"] <= bounds["D6"][1], found["near"]


def test_twice_the_strength_of_what_is_within_is_beyond() -> None:
    """The jobs differ by their strength alone: else a check that always, or never, complains would pass for steady."""
    for kind, made in BORDER.items():
        said = [any(item.check == kind for item in examined(made(Random(3), strength))) for strength in (0.6, 1.5)]
        assert said == [False, True], kind
