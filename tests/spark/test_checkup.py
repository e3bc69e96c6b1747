"""What the doctor says of a session."""

import subprocess
import sys
from typing import Any

import pytest

import headway as hw
from headway.spark import checkup, jvm

pytestmark = pytest.mark.spark


def test_a_tuned_session_has_no_problem_and_each_line_says_something(spark: Any) -> None:
    said: list[str] = []
    found = hw.doctor(spark, said.append)
    assert all(check.ok for check in found) and len(said) == len(found)
    assert [check.name for check in found] == [
        "spark", "jar", "checkpoints", "plans", "partitions", "code", "file system", "runtime",
    ]  # fmt: skip
    assert "4." in found[0].says and "lean" in found[3].says and "one task" in found[4].says


def test_a_jvm_without_the_jar_is_a_problem_with_a_line_to_add(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jvm, "present", lambda spark: False)
    own = spark.newSession()
    own.conf.set("spark.sql.streaming.checkpointFileManagerClass", jvm.CHECKPOINTS)
    found = {check.name: check for check in hw.doctor(own, lambda line: None)}
    assert not found["jar"].ok and "--jars $(headway jar)" in found["jar"].says
    assert not found["checkpoints"].ok and "unset it" in found["checkpoints"].says
    assert found["runtime"].ok, "the two lines work all the same"


def test_other_settings_are_no_problem_but_told(spark: Any) -> None:
    own = spark.newSession()
    own.conf.set("spark.sql.shuffle.partitions", "200")
    own.conf.set("spark.sql.codegen.wholeStage", "true")
    found = {check.name: check for check in checkup._checks(own)}
    assert found["partitions"].ok and "200" in found["partitions"].says
    assert found["code"].ok and "generated" in found["code"].says


def test_spark_connect_gets_one_line() -> None:
    class Remote:
        version = "4.3.0"

    Remote.__module__ = "pyspark.sql.connect.session"
    (only,) = hw.doctor(Remote(), lambda line: None)
    assert not only.ok and "spark-submit" in only.says
    with pytest.raises(hw.SettingError, match="Spark Connect"):
        hw.Runtime(Remote())


def test_an_old_spark_gets_one_line() -> None:
    class Old:
        version = "3.5.1"

    with pytest.raises(hw.SettingError, match=r"Spark 3\.5\.1.*expected Spark 4\.0 or later"):
        hw.Runtime(Old())


def test_before_a_session_is_made_with_an_old_spark_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jvm, "installed_spark", lambda: "3.5.9")
    with pytest.raises(hw.SettingError, match=r"spark = 'Spark 3\.5\.9': expected Spark 4\.0 or later"):
        hw.tune(object())


def test_a_pyspark_without_what_we_build_upon_gets_one_line() -> None:
    """Spark 3 has no sources in Python: our own modules cannot even be loaded there."""
    program = (
        "import sys; sys.modules['pyspark.sql.datasource'] = None\n"
        "import headway as hw\n"
        "try: hw.Runtime\n"
        "except hw.HeadwayError as error: print(error)"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said == "hw.Runtime needs pyspark 4.0 or later, and there is no pyspark.sql.datasource here\n"
