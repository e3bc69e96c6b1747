"""`headway run` on real Spark: a pipeline file with Python code of its own in it."""

import subprocess
import sys
from pathlib import Path

import pytest

PIPELINE = """
import headway as hw
from pyspark.sql.functions import udf


@udf("long")
def doubled(value):
    return 2 * value


@hw.query("doubles")
def doubles(rt, spark):
    rows = spark.readStream.format("rate").option("rowsPerSecond", 10).load()
    marked = rt.watermark(rows, "timestamp", "2 seconds")
    return marked.select(doubled("value").alias("double")).writeStream.format("noop")
"""

DYING = """
import headway as hw


def broken(frame, number):
    raise ValueError("not today")


@hw.query("dying")
def dying(rt, spark):
    rows = spark.readStream.format("rate").option("rowsPerSecond", 10).load()
    return rt.watermark(rows, "timestamp", "2 seconds").writeStream.foreachBatch(broken)
"""


@pytest.mark.spark
def test_a_query_that_dies_is_named_and_makes_the_exit_code_1(tmp_path: Path) -> None:
    file = tmp_path / "dying.py"
    file.write_text(DYING)
    words = [sys.executable, "-m", "headway", "run", str(file), "--seconds", "60", "--journal", str(tmp_path / "j.db")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 1, done.stderr
    assert "headway: query dying failed: ValueError: not today" in done.stderr.splitlines()


@pytest.mark.spark
def test_a_pipeline_file_may_have_functions_that_run_in_spark_workers(tmp_path: Path) -> None:
    file = tmp_path / "json.py"  # the name of a standard module, which it must not replace
    file.write_text(PIPELINE)
    journal = tmp_path / "journal.db"
    words = [sys.executable, "-m", "headway", "run", str(file), "--seconds", "8", "--journal", str(journal)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    told = subprocess.run(
        [sys.executable, "-m", "headway", "explain", "doubles", "--journal", str(journal)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    assert "why" in told.stdout
    assert "batch" in told.stdout
