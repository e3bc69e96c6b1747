"""`headway explain` and `headway replay` on the journal of an orchestrator."""

from pathlib import Path

import pytest

from fleet.orchestrator.loaded_fleet import LoadedFleet
from headway.cli.app import main
from headway.cli.explain import account
from headway.dashboard.reading import JournalFile
from headway.loop.journal import Journal
from headway.model.time import WallMs
from headway.policy.placement import LeastLoaded


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A loaded node has asked to be rid of a query, and the fleet has moved it."""
    fleet = LoadedFleet(LeastLoaded(rounds=2), {"n1": {"a": 600.0, "b": 500.0}, "n2": {}}, {"n1": 1.1, "n2": 0.0})
    for _ in range(6):
        fleet.second()
    path = tmp_path_factory.mktemp("journal") / "o1.db"
    written = Journal(path)
    for entry in fleet.journal.entries:
        written.append(entry)
    written.note(WallMs(fleet.now + 1), "a", "move plan-0-1 to n2: prepared")
    written.note(WallMs(1), "c", "submitted: starts on n1")
    written.close()
    return path


def test_why_a_query_moves_is_told_with_who_asked_and_what_became_of_it(journal: Path) -> None:
    said = "\n".join(account(JournalFile(journal), "a"))
    for words in (
        "decided   move from n1 to n2; a to n2: planned", "why       load 0.00 per core there, 1.10 here",
        "policy    LeastLoaded(rounds=2)", "asked     by n1, because load 1.10 per core", "beside    n2: 0 queries",
        "move plan-0-1 to n2: prepared",
    ):  # fmt: skip
        assert words in said


def test_a_query_that_no_policy_has_moved_has_its_notes(journal: Path) -> None:
    said = list(account(JournalFile(journal), "c"))
    assert said[0].startswith("c at ") and "submitted: starts on n1" in said[-1]


def test_a_query_that_nobody_knows_is_refused_with_those_that_are_known(
    journal: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "nobody", "--journal", str(journal)]) == 2
    assert "query = 'nobody': expected one of a, c" in capsys.readouterr().err


@pytest.mark.parametrize(("policy", "differs"), [("least-loaded:rounds=2", "0 of 1"), ("never-move", "1 of 1")])
def test_another_policy_is_asked_the_same(
    journal: Path, capsys: pytest.CaptureFixture[str], policy: str, differs: str
) -> None:
    assert main(["replay", str(journal), "--policy", policy]) == 0
    assert f"{policy} would have chosen otherwise in {differs} decisions about placement" in capsys.readouterr().out
