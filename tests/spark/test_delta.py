"""Delta Lake as source and sink: no window twice and none lost, however the driver ends."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from delta_child import FILES, KILL_IN, SECONDS, transactions

import headway as hw
from headway.kafka.jars import fetched
from headway.spark import delta

CHILD = Path(__file__).with_name("delta_child.py")


@pytest.fixture
def jars() -> list[Path]:
    try:
        return fetched(delta.bundle())
    except hw.HeadwayError as error:
        pytest.skip(str(error))


def child(folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "PYSPARK_SUBMIT_ARGS"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    return subprocess.run(
        [sys.executable, str(CHILD), str(folder)], env=environment, capture_output=True, text=True, check=False, timeout=220
    )


def test_a_spark_for_which_no_delta_is_released_is_named_in_one_line() -> None:
    with pytest.raises(hw.SettingError) as error:
        delta.bundle("4.3.0")
    assert str(error.value) == "delta = True: expected Spark 4.1 or 4.2: no Delta Lake is released for Spark 4.3.0"


def test_every_part_is_named_for_the_spark_that_is_there() -> None:
    made = delta.bundle("4.2.1")
    assert made.coordinates[0] == "io.delta:delta-spark_4.2_2.13:4.4.0" and len(made.coordinates) == 5


@pytest.mark.spark
@pytest.mark.timeout(480)
def test_a_driver_that_is_killed_between_sink_and_commit_writes_every_window_once(jars: list[Path], tmp_path: Path) -> None:
    first = child(tmp_path)
    assert (tmp_path / "killed").exists(), first.stderr[-3_000:]
    assert not (tmp_path / "told.json").exists()
    each = int((tmp_path / "killed").read_text())
    assert each >= KILL_IN and transactions(tmp_path / "each")[-1] == each
    assert not (tmp_path / "each.checkpoint" / "commits" / str(each)).exists()
    # Delta's own sink leaves a few milliseconds between its commit and Spark's. A commit that came through is taken back:
    # the disk is then as a crash within would have left it.
    last = transactions(tmp_path / "append")[-1]
    for file in (str(last), f".{last}.crc"):
        (tmp_path / "append.checkpoint" / "commits" / file).unlink(missing_ok=True)

    second = child(tmp_path)
    assert second.returncode == 0, second.stderr[-3_000:]
    told = json.loads((tmp_path / "told.json").read_text())
    newest = FILES * SECONDS - 1  # in seconds; patience is half of one, so the window that ends there is still open
    truth = [[end, k, sum(t % 2 == k for t in range(end - 3, end))] for end in range(3, newest, 3) for k in (0, 1)]
    assert told["append"] == truth and told["each"] == truth
    assert {"io.delta.sql.DeltaSparkSessionExtension", "headway.Extensions"} == set(told["extensions"])
