"""The status of a runtime as a file, for readers in other processes."""

import stat
from pathlib import Path

import pytest

from headway.loop import published
from headway.loop.published import PublishedStatus
from headway.model.status import InputStatus, LastBatch, QueryStatus, RuntimeStatus
from headway.model.time import EventMs, WallMs

QUERY = QueryStatus(
    "a", "in a batch", WallMs(5), "id", "run", "an error", LastBatch(1, 2, 3, WallMs(4), EventMs(5)), EventMs(6), EventMs(7),
    (InputStatus("rows", 1, 2, 3),), "least slack", True, "at line 3", 1, 2, 3, 4,
)  # fmt: skip
TOLD = PublishedStatus(RuntimeStatus(WallMs(9), "Klink", 2, (QUERY,), 1, "trouble", "set", 4, 10, 1.5), "http://x", 12)


def test_what_is_read_is_what_was_told(tmp_path: Path) -> None:
    place = published.place_of(tmp_path / "run.db")
    published.publish(TOLD, place)
    assert published.read(place) == TOLD
    assert place.name == "run.db.status" and stat.S_IMODE(place.stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["run.db.status"]


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"status": {"queries": [{}]}, "ui": "", "pid": 1}', "null"])
def test_what_is_no_status_is_none(tmp_path: Path, text: str) -> None:
    place = tmp_path / "run.db.status"
    place.write_text(text)
    assert published.read(place) is None


def test_nothing_told_is_none(tmp_path: Path) -> None:
    assert published.read(tmp_path / "nowhere.status") is None
