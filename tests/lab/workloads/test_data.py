"""Real data is found where it is, and where it is not one line says what to do."""

from pathlib import Path

import pytest

from headway.errors import HeadwayError
from headway_lab.workloads.data import NEARBY, find, folder


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with no data beside it, and no variable that names any."""
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.delenv("HEADWAY_DATA", raising=False)
    return project


def test_the_variable_names_the_folder(nowhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here" / "taxi").mkdir(parents=True)
    (tmp_path / "here" / "taxi" / "trips").touch()
    monkeypatch.setenv("HEADWAY_DATA", str(tmp_path / "here"))

    assert folder() == tmp_path / "here"
    assert find("taxi/trips") == tmp_path / "here" / "taxi" / "trips"


@pytest.mark.parametrize("unset", [True, False])
def test_without_the_variable_a_folder_nearby_is_taken(nowhere: Path, monkeypatch: pytest.MonkeyPatch, unset: bool) -> None:
    (nowhere / NEARBY).mkdir(parents=True)
    if not unset:
        monkeypatch.setenv("HEADWAY_DATA", "")

    assert folder() == NEARBY


def test_the_variable_goes_before_the_folder_nearby(nowhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (nowhere / NEARBY).mkdir(parents=True)
    monkeypatch.setenv("HEADWAY_DATA", str(tmp_path))

    assert folder() == tmp_path


def test_no_folder_is_no_error_until_a_file_is_wanted(nowhere: Path) -> None:
    assert folder() is None
    with pytest.raises(HeadwayError) as caught:
        find("taxi/trips")
    assert str(caught.value) == "HEADWAY_DATA is not set: it must name the folder that holds taxi/trips"


def test_a_variable_that_names_no_folder_is_quoted(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (nowhere / NEARBY).mkdir(parents=True)
    monkeypatch.setenv("HEADWAY_DATA", "gone")

    assert folder() is None
    with pytest.raises(HeadwayError) as caught:
        find("taxi/trips")
    assert str(caught.value) == "HEADWAY_DATA = 'gone' is no folder: it must name the folder that holds taxi/trips"


def test_a_file_that_the_folder_lacks_is_named(nowhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_DATA", str(tmp_path))

    with pytest.raises(HeadwayError) as caught:
        find("taxi/trips")
    assert str(caught.value) == f"taxi/trips is not in {tmp_path}: point HEADWAY_DATA at a folder that has it"
