"""What users and houses have set before us stays, and ours goes beside it."""

import os
from pathlib import Path
from typing import Any

import pytest

import headway as hw
from headway.spark import jvm, session, user_settings
from headway.spark.jvm import EXTENSIONS, JAR
from headway.spark.pages import PAGE
from headway.spark.profile import INTERPRETED, TUNED


class Builder:
    """As much of Spark's as `tune` uses."""

    def __init__(self, **options: str) -> None:
        self._options = {key.replace("__", "."): value for key, value in options.items()}

    def config(self, key: str, value: str) -> "Builder":
        self._options[key] = value
        return self


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """As in a process without a JVM, whatever other tests have started in this one."""
    monkeypatch.setattr(user_settings, "jvm_is_up", lambda: False)
    monkeypatch.setattr(session, "jvm_is_up", lambda: False)
    for name in ("PYSPARK_SUBMIT_ARGS", "SPARK_HOME", "SPARK_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def tuned(builder: Builder, **more: Any) -> dict[str, str]:
    return dict(hw.tune(builder, **more)._options)


def test_with_nothing_given_all_of_ours_is_set(alone: pytest.MonkeyPatch) -> None:
    set_ = tuned(Builder())
    assert set_["spark.jars"] == str(JAR) and set_["spark.sql.extensions"] == EXTENSIONS
    assert set_["spark.headway.rowsPerBatch"] == "1000"
    assert set_.keys().isdisjoint(TUNED | INTERPRETED), "those are for streaming queries, not for the session"


def test_what_the_builder_has_stays(alone: pytest.MonkeyPatch) -> None:
    set_ = tuned(Builder(spark__sql__shuffle__partitions="8", spark__jars="/house.jar", spark__sql__extensions="house.E"))
    assert set_["spark.sql.shuffle.partitions"] == "8"
    assert set_["spark.jars"] == f"/house.jar,{JAR}" and set_["spark.sql.extensions"] == f"house.E,{EXTENSIONS}"


def test_pages_are_small_but_one_task_can_fill_all_memory(alone: pytest.MonkeyPatch) -> None:
    """Spark's own are 64 MB, and the collector marks the whole heap for each."""
    assert tuned(Builder(spark__driver__memory="4g"))[PAGE] == "1m"
    assert tuned(Builder(spark__buffer__pageSize="64m"))[PAGE] == "64m", "what the user has set stays"
    alone.setenv("PYSPARK_SUBMIT_ARGS", "--driver-memory 16g pyspark-shell")
    assert tuned(Builder())[PAGE] == "2m"


def test_what_is_on_the_command_line_stays(alone: pytest.MonkeyPatch) -> None:
    args = "--jars /a.jar,/b.jar --conf spark.sql.extensions=house.E -c spark.sql.shuffle.partitions=4 pyspark-shell"
    alone.setenv("PYSPARK_SUBMIT_ARGS", args)
    set_ = tuned(Builder())
    assert set_["spark.jars"] == f"/a.jar,/b.jar,{JAR}" and set_["spark.sql.extensions"] == f"house.E,{EXTENSIONS}"
    assert "spark.sql.shuffle.partitions" not in set_
    assert user_settings.settings(Builder())["spark.jars"] == f"/a.jar,/b.jar,{JAR}", (
        "the JVM to come is told of our jar as well"
    )


def test_what_is_in_sparks_own_file_stays(alone: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lines = "# the house's\nspark.headway.rowsPerBatch  7\nspark.jars=/c.jar\n\nodd\n"
    (tmp_path / "spark-defaults.conf").write_text(lines)
    alone.setenv("SPARK_CONF_DIR", str(tmp_path))
    set_ = tuned(Builder())
    assert set_["spark.jars"] == f"/c.jar,{JAR}" and "spark.headway.rowsPerBatch" not in set_


def test_tuning_twice_is_tuning_once(alone: pytest.MonkeyPatch) -> None:
    builder = Builder()
    assert tuned(builder) == tuned(builder)


def test_in_a_jvm_without_the_jar_what_needs_it_is_left_out_and_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(session, "settings", lambda builder: {"spark.jars": "/house.jar"})
    monkeypatch.setattr(session, "jvm_is_up", lambda: True)
    monkeypatch.setattr(session, "running_jvm", lambda: None)
    monkeypatch.setattr(jvm, "in_jvm", lambda running: False)
    set_ = tuned(Builder())
    assert set_.keys().isdisjoint({"spark.jars", "spark.sql.extensions"})
    assert capsys.readouterr().err.count("--jars $(headway jar)") == 1


def test_on_a_cluster_the_python_of_a_local_session_before_is_not_asked_for(alone: pytest.MonkeyPatch) -> None:
    alone.setenv("PYSPARK_PYTHON", launcher := session._worker_python())
    tuned(Builder(spark__master="local[2]"))
    assert os.environ["PYSPARK_PYTHON"] == launcher
    alone.setenv("PYSPARK_SUBMIT_ARGS", "--master spark://host:7077 pyspark-shell")
    tuned(Builder())
    assert "PYSPARK_PYTHON" not in os.environ
    alone.setenv("PYSPARK_PYTHON", "/the/users/own/python")
    tuned(Builder(spark__master="yarn"))
    assert os.environ["PYSPARK_PYTHON"] == "/the/users/own/python"
