"""What users type, checked."""

from datetime import datetime
from pathlib import Path

import pytest

from headway.cli import arguments
from headway.errors import HeadwayError, SettingError

NOON = datetime(2026, 3, 4, 12, 0)


def test_moments_are_epoch_iso_or_of_today() -> None:
    assert arguments.moment("1700000000123") == 1_700_000_000_123
    assert arguments.moment("2026-03-04T12:00:00.250") == NOON.timestamp() * 1000 + 250
    assert arguments.moment("2026-03-04T12:00:00+00:00") == 1_772_625_600_000
    for text in ("12:00", "12:00:00", "12:00:00.000"):
        assert arguments.moment(text, now=lambda: NOON) == NOON.timestamp() * 1000
    assert arguments.moment("9:00:00.5", now=lambda: NOON) == NOON.timestamp() * 1000 - 3 * 3_600_000 + 500
    for text in ("25:00:00", "noon", "", "123"):
        with pytest.raises(SettingError, match="HH:MM:SS"):
            arguments.moment(text)


def test_lists_of_numbers() -> None:
    assert arguments.wholes("seeds", "0,1, 2", least=0) == [0, 1, 2]
    with pytest.raises(SettingError, match="seeds = ''"):
        arguments.wholes("seeds", "1,")


def test_the_newest_journal_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(HeadwayError, match="no journal in"):
        arguments.journal(None)
    (tmp_path / "headway" / "a.db").touch()  # the folder was made for journals to come
    assert arguments.journal(None) == tmp_path / "headway" / "a.db"
    assert arguments.journal(tmp_path / "b.db") == tmp_path / "b.db"
