"""Why a query ran when it did, and what another policy would have done, out of a journal."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.journals import write
from headway.cli.app import app, main
from headway.cli.explain import account
from headway.dashboard.reading import JournalFile
from headway.errors import HeadwayError, SettingError
from headway.model.time import WallMs


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("journal") / "run.db")


def test_the_last_grant_is_told_with_its_reason_company_and_batch(journal: Path) -> None:
    told = list(account(JournalFile(journal), "books"))
    by_word = {line.split()[0]: line for line in told}
    assert told[0].startswith("books at 1970-01-01")
    assert "run its next batch" in by_word["decided"] and "granted" in by_word["decided"]
    assert "least slack" in by_word["why"]
    assert "at the gate" in by_word["waited"]
    assert "1 at once allowed" in by_word["beside"]
    assert "took" in by_word["batch"] and "rows" in by_word["batch"] and "late rows so far" in by_word["batch"]


def test_the_others_at_the_gate_are_listed_by_slack(journal: Path) -> None:
    reader = JournalFile(journal)
    lines = [line for at in range(1_000, 30_000, 500) for line in _told(reader, "books", at) if ": slack" in line]
    assert any("alerts: slack" in line and "due" in line for line in lines)


def _told(reader: JournalFile, query: str, at: int) -> list[str]:
    try:
        return list(account(reader, query, WallMs(at)))
    except HeadwayError:
        return []


def test_a_time_picks_the_grant_before_it(journal: Path) -> None:
    reader = JournalFile(journal)
    early, late = list(account(reader, "books", WallMs(9_000))), list(account(reader, "books"))
    assert early[0] < late[0]
    with pytest.raises(HeadwayError, match="only later than"):
        list(account(reader, "books", WallMs(-1)))


def test_what_happened_to_the_query_is_noted(journal: Path) -> None:
    assert any("left: stopped or failed" in line for line in account(JournalFile(journal), "clicks"))


def test_an_unknown_query_is_answered_with_the_known_ones(journal: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SettingError, match="one of alerts, books, clicks"):
        list(account(JournalFile(journal), "bokos"))
    assert main(["explain", "bokos", "--journal", str(journal)]) == 2
    assert capsys.readouterr().err == "headway: query = 'bokos': expected one of alerts, books, clicks\n"


def test_the_newest_journal_is_the_default(tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "headway"
    home.mkdir()
    (home / "run.db").write_bytes(journal.read_bytes())
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    shown = CliRunner().invoke(app, ["explain", "alerts", "--at", "1970-01-01T00:00:20+00:00"])
    assert shown.exit_code == 0, shown.output


def test_the_policy_that_ran_would_not_have_chosen_otherwise_and_another_would(journal: Path) -> None:
    same = CliRunner().invoke(app, ["replay", str(journal), "--policy", "klink"])
    assert "otherwise in 0 of" in same.output
    other = CliRunner().invoke(app, ["replay", str(journal), "--policy", "round-robin", "--show", "2"])
    assert "otherwise in 0 of" not in other.output and "was:" in other.output and "more" in other.output
