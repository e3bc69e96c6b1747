"""`spark-submit`: the two lines work as they stand, with Headway's jar and without, beside what the house has set."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspark
import pytest

from headway.spark.channel.control import CAN_END
from headway.spark.jvm import EXTENSIONS, JAR, JAR_4_0, NEWEST_JAR

JOB = Path(__file__).with_name("submitted_job.py")
SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"


needs_an_end = pytest.mark.skipif(not CAN_END, reason="before Spark 4.2 runs that end by themselves need the jar")


def submitted(
    folder: Path, *args: str, master: str = "local[2]", job: tuple[str, ...] = (), **env: str
) -> tuple[dict[str, Any], str]:
    """Rows of seven seconds, one a second, for two keys; and what the job says of its session, and aloud."""
    (folder / "rows").mkdir()
    rows = [{"ts": f"2026-01-01T00:00:0{n}Z", "k": n % 2} for n in range(8)]
    (folder / "rows" / "0.json").write_text("\n".join(map(json.dumps, rows)))
    environment = {k: v for k, v in os.environ.items() if k not in ("PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT", "HOME")}
    environment |= {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | env
    run = subprocess.run(
        [str(SUBMIT), "--master", master, "--conf", "spark.ui.enabled=false", *args, str(JOB), str(folder), *job],
        env=environment, capture_output=True, text=True, check=False, timeout=300, cwd=folder,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-3_000:]
    out = [json.loads(line) for file in (folder / "out").glob("*.json") for line in file.read_text().splitlines()]
    start = 1_767_225_600_000
    assert {(r["e"] - start, r["k"], r["count"]) for r in out} == {(3000, 0, 2), (3000, 1, 1), (6000, 0, 1), (6000, 1, 2)}
    return json.loads((folder / "told.json").read_text()), run.stdout + run.stderr  # Spark sends ours to its output


@pytest.mark.core("spark-submit, with and without the jar", channel="python")
@pytest.mark.spark
@needs_an_end
def test_without_the_jar_control_rows_come_from_python_and_one_line_says_so(tmp_path: Path) -> None:
    told, said = submitted(tmp_path, "--conf", "spark.sql.shuffle.partitions=3")
    assert not told["jar"] and told["spark.sql.shuffle.partitions"] == "3"
    assert said.count("spark-submit --jars $(headway jar)") == 1


@pytest.mark.core("spark-submit, with and without the jar")
@pytest.mark.spark
def test_with_the_jar_beside_those_of_the_house(tmp_path: Path) -> None:
    other = tmp_path / "house.jar"
    other.write_bytes(JAR.read_bytes())
    told, said = submitted(tmp_path, "--jars", f"{other},{JAR}")
    assert told["jar"] and "headway jar" not in said
    assert (
        told["spark.sql.extensions"] == EXTENSIONS and "house.jar" in told["spark.jars"] and JAR.name in told["spark.jars"]
    )


@pytest.mark.spark
@needs_an_end
def test_a_jar_for_another_spark_counts_as_none(tmp_path: Path) -> None:
    other = NEWEST_JAR if JAR == JAR_4_0 else JAR_4_0
    told, said = submitted(tmp_path, "--jars", str(other))
    assert not told["jar"] and said.count("spark-submit --jars $(headway jar)") == 1
