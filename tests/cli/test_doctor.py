"""The doctor looks at everything and says one line each."""

import tempfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headway.cli import doctor
from headway.cli.app import app


def test_one_line_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    shown = CliRunner().invoke(app, ["doctor"]).output.splitlines()
    assert [line.split()[1] for line in shown] == [
        "java", "python", "pyspark", "pyarrow", "pandas", "memory", "cores", "socket", "journal",
    ]  # fmt: skip
    assert all(line.split()[0] in ("ok", "problem") for line in shown)


def test_a_problem_is_exit_code_2_and_says_the_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "headway").write_text("a file where a folder should be")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "headway"))
    monkeypatch.setattr(doctor, "CHECKS", [doctor._cores, doctor._state])
    shown = CliRunner().invoke(app, ["doctor"])
    assert shown.exit_code == 2
    assert "problem" in shown.output and "set XDG_STATE_HOME" in shown.output


def test_without_a_folder_of_the_users_journals_go_to_the_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "headway").write_text("a file where a folder should be")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    found = doctor._state()
    assert found.ok and str(tmp_path / "headway-") in found.says
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(Path, "home", classmethod(lambda cls: Path("/proc/nobody")))
    assert doctor._state().says == found.says


def test_a_missing_package_and_a_pandas_too_new_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "cannot be imported" in doctor._package("no_such_package")().says
    monkeypatch.setattr(doctor, "version", lambda name: "3.0.1")
    found = doctor._package("pandas", below=3)()
    assert not found.ok and "pandas<3" in found.says
