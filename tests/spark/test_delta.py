"""Delta Lake: its jars, every window once however often the driver is killed, and Headway beside it under `spark-submit`."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import headway as hw
from headway.kafka.jars import fetched
from headway.spark import delta
from headway.spark.jvm import EXTENSIONS, JAR
from headway_lab.harness.standalone import standalone
from spark.delta_child import FILES, SECONDS, transactions
from spark.test_cluster import on_cluster
from spark.test_submit import submitted

CHILD = Path(__file__).with_name("delta_child.py")
CHECK = "spark.sql.streaming.stateStore.commitValidation.enabled"


@pytest.fixture
def jars() -> list[Path]:
    try:
        return fetched(delta.bundle())
    except hw.HeadwayError as error:
        pytest.skip(str(error))


def child(folder: Path, **told: Any) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "PYSPARK_SUBMIT_ARGS"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    return subprocess.run(
        [sys.executable, str(CHILD), str(folder), json.dumps(told)],
        env=environment, capture_output=True, text=True, check=False, timeout=220,
    )  # fmt: skip


def killed(folder: Path, number: int, moment: str, **told: Any) -> None:
    """A run that is killed in this batch of `each`, before Delta's commit or between that and Spark's."""
    run = child(folder, death=(number, moment), **told)
    assert (folder / "died").exists(), run.stderr[-3_000:]
    assert (folder / "died").read_text() == str(number) and not (folder / "told.json").exists()
    (folder / "died").unlink()
    assert (number in transactions(folder / "each")) == (moment == "after")
    assert not (folder / "each.checkpoint" / "commits" / str(number)).exists()


def taken_back(folder: Path) -> None:
    """Delta's own sink leaves a few milliseconds between its commit and Spark's. What Spark has noted since Delta's last
    commit is taken back: the disk is then as a crash within would have left it."""
    last = transactions(folder / "append")[-1]
    for log, first in (("commits", last), ("offsets", last + 1)):
        for file in (folder / "append.checkpoint" / log).iterdir():
            name = file.name.strip(".").removesuffix(".crc")
            if name.isdecimal() and int(name) >= first:
                file.unlink()


def exact() -> list[list[int]]:
    """A row a second, in windows of three; patience is half a second, so the one in which the newest row is stays open."""
    newest = FILES * SECONDS - 1
    return [[end, k, sum(t % 2 == k for t in range(end - 3, end))] for end in range(3, newest, 3) for k in (0, 1)]


def finished(folder: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((folder / "told.json").read_text())
    return told


def test_a_spark_on_which_delta_was_not_tried_is_named_in_one_line() -> None:
    with pytest.raises(hw.SettingError) as error:
        delta.bundle("4.3.0")
    want = "Spark 4.2, with which Delta Lake 4.4.0 was tried, and not 4.3.0 (docs/tables.md)"
    assert str(error.value) == f"delta = True: expected {want}"


def test_every_part_is_named_for_the_spark_that_is_there() -> None:
    made = delta.bundle("4.2.1")
    assert made.coordinates[0] == "io.delta:delta-spark_4.2_2.13:4.4.0" and len(made.coordinates) == 5


@pytest.mark.spark
@pytest.mark.timeout(900)
def test_every_window_is_there_once_however_often_the_driver_is_killed(jars: list[Path], tmp_path: Path) -> None:
    """Spark's own check fails a query whose batch Delta has passed over, once: `restart` is for that."""
    killed(tmp_path, 1, "before", restart=1)
    killed(tmp_path, 2, "after", restart=1)
    killed(tmp_path, 3, "after", restart=1)
    taken_back(tmp_path)

    last = child(tmp_path, restart=1)
    assert last.returncode == 0, last.stderr[-3_000:]
    told = finished(tmp_path)
    assert told["each"] == exact() and told["append"] == exact()
    each = transactions(tmp_path / "each")
    assert each == sorted(set(each)), "each batch is in Delta's log once"
    assert told["restarts"] == {"each": 1, "append": 0}
    said = next(line for line in last.stderr.splitlines() if "query 'each' has failed" in line)
    assert "[STATE_STORE_COMMIT_VALIDATION_FAILED]" in said and "it is started again" in said
    assert set(told["extensions"]) == {"io.delta.sql.DeltaSparkSessionExtension", EXTENSIONS}


@pytest.mark.spark
@pytest.mark.timeout(480)
def test_without_sparks_check_a_batch_that_was_passed_over_fails_nothing(jars: list[Path], tmp_path: Path) -> None:
    unchecked = {CHECK.replace(".", "__"): "false"}
    killed(tmp_path, 2, "after", conf=unchecked)
    last = child(tmp_path, conf=unchecked)
    assert last.returncode == 0, last.stderr[-3_000:]
    told = finished(tmp_path)
    assert told["each"] == exact() and told["append"] == exact()
    assert told["restarts"] == {"each": 0, "append": 0}


def with_delta(folder: Path, jars: list[Path]) -> list[str]:
    """The command line of a house that has Delta, and a jar of its own."""
    house = folder / "house.jar"
    house.write_bytes(JAR.read_bytes())
    conf = [f"{key}={value}" for key, value in delta.SETTINGS.items()]
    conf.append(f"spark.sql.warehouse.dir={folder / 'warehouse'}")
    return ["--jars", ",".join(map(str, [*jars, house, JAR])), *(part for pair in conf for part in ("--conf", pair))]


def beside_delta(told: dict[str, Any], said: str) -> None:
    assert told["spark.sql.extensions"] == f"io.delta.sql.DeltaSparkSessionExtension,{EXTENSIONS}"
    assert told["jar"] and "headway jar" not in said
    assert {"house.jar", JAR.name} <= {Path(jar).name for jar in told["spark.jars"].split(",")}


@pytest.mark.spark
def test_submitted_beside_delta_from_one_of_its_tables_into_another(jars: list[Path], tmp_path: Path) -> None:
    beside_delta(*submitted(tmp_path, *with_delta(tmp_path, jars), job=("delta",)))


@pytest.mark.spark
def test_submitted_beside_delta_to_a_cluster(jars: list[Path], tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    with standalone(workers=1, folder=tmp_path / "cluster") as cluster:
        beside_delta(*on_cluster(cluster, tmp_path / "job", *with_delta(tmp_path / "job", jars), job=("delta",)))
