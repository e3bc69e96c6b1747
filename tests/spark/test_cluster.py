"""A real cluster, with a master and workers of its own: jars, state and side tables are on executors, which are killed."""

import json
import os
import signal
import subprocess
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from headway.spark.jvm import EXTENSIONS, JAR
from headway_lab.harness.standalone import StandaloneCluster, environment, standalone
from spark.scripted import wait_until
from spark.test_submit import submitted

START = datetime(2026, 1, 1, tzinfo=UTC)
START_MS = int(START.timestamp() * 1000)
CHILD = Path(__file__).with_name("cluster_child.py")
ONE = "spark.sql.shuffle.partitions=1"
SMALL = {
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # as for drivers, in conftest.py
    "spark.ui.enabled": "false",
    "spark.executor.heartbeatInterval": "500ms",  # with what our own accumulators hold, while tasks run
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    with standalone(workers=2, folder=tmp_path_factory.mktemp("cluster")) as running:
        yield running


def bare_python(folder: Path) -> str:
    """A Python for executors that has what Spark needs, but not Headway, where that is installed as here: by a path file."""
    launcher = folder / "bare-python"
    site = sysconfig.get_path("purelib")
    launcher.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{site}" exec {sys.executable} -S "$@"\n')
    launcher.chmod(0o700)
    return str(launcher)


def row(ms: int, id: int, kind: str, pad: int = 0) -> dict[str, Any]:
    at = START + timedelta(milliseconds=ms)
    return {"ts": at.isoformat(timespec="milliseconds"), "k": id % 2, "id": id, "kind": kind, "pad": pad}


def ten_seconds(number: int) -> list[dict[str, Any]]:
    """Rows of ten seconds: three pairs a second, each of a row and another half a second later."""
    begins = [(10_000 * number + 333 * n, 100 * number + n) for n in range(28)]
    return [row(ms + after, id, kind, 15) for ms, id in begins for kind, after in (("left", 0), ("right", 500))]


class Driver:
    """The child, and what can be seen of it from outside."""

    def __init__(self, cluster: StandaloneCluster, folder: Path, **env: str) -> None:
        self.folder, self.cluster, self.sent = folder, cluster, list[dict[str, Any]]()
        (folder / "rows").mkdir()
        (folder / "temporary").mkdir()
        own = environment(folder) | {
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "TMPDIR": str(folder / "temporary"),
        }
        with (folder / "child.log").open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(CHILD), cluster.url, str(folder), json.dumps(SMALL)],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True, cwd=folder, env=own | env,
            )  # fmt: skip

    def send(self, rows: list[dict[str, Any]]) -> None:
        part = self.folder / "next.part"
        part.write_text("\n".join(map(json.dumps, rows)))
        part.rename(self.folder / "rows" / f"{len(self.sent)}.json")
        self.sent += rows

    def standing(self) -> dict[str, Any]:
        assert self.process.poll() is None, (self.folder / "child.log").read_text()[-3_000:]
        file = self.folder / "standing.json"
        told: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {"cores": None, "tasks": 0, "queries": {}}
        assert all(error is None for _, error in told["queries"].values()), told
        return told

    def out(self, name: str) -> list[list[Any]]:
        return [line for file in (self.folder / "out" / name).glob("*.json") for line in json.loads(file.read_text())]

    def await_windows(self, seconds: int) -> None:
        """Until all three have put out windows that end then, or later."""

        def there() -> bool:
            self.standing()
            return all(any(r[0] - START_MS >= seconds * 1000 for r in self.out(n)) for n in ("brief", "sliding", "long"))

        wait_until(there, f"windows until {seconds} s")

    def kill_while_tasks_run(self, executors: list[int]) -> None:
        wait_until(lambda: self.standing()["tasks"] > 0, "a task that runs")
        for pid in executors:
            os.kill(pid, signal.SIGKILL)

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def expected_counts(rows: list[dict[str, Any]], length: int, slide: int, by_k: bool) -> Counter[tuple[int, ...]]:
    """Windows with their end, in milliseconds since the start."""
    found = Counter[tuple[int, ...]]()
    for r in rows:
        at = round((datetime.fromisoformat(r["ts"]) - START).total_seconds() * 1000)
        end = at - at % slide + slide
        while end - length <= at:
            found[(end, r["k"]) if by_k else (end,)] += 1
            end += slide
    return found


@pytest.mark.timeout(480)  # ten JVMs are started in it
@pytest.mark.spark
def test_executors_are_killed_and_a_worker_is_lost_and_results_are_exact(cluster: StandaloneCluster, tmp_path: Path) -> None:
    driver = Driver(cluster, tmp_path, HOME="/proc/nobody", PYSPARK_PYTHON=bare_python(tmp_path))
    try:
        for number in (0, 1):
            driver.send(ten_seconds(number))
        driver.await_windows(10)
        assert driver.standing()["cores"] == 2
        assert Path(driver.standing()["journal"]).is_relative_to(tmp_path / "temporary")  # there is no home

        driver.send(ten_seconds(2))
        driver.kill_while_tasks_run(cluster.executors())
        driver.await_windows(20)

        late = [row(1_000, 9_000 + n, "late", 150) for n in range(8)]
        driver.send(ten_seconds(3) + late)
        driver.kill_while_tasks_run(cluster.executors()[-1:])
        driver.await_windows(30)

        os.kill(cluster.workers[0].pid, signal.SIGKILL)
        wait_until(lambda: driver.standing()["cores"] == 1, "one core")
        driver.send(ten_seconds(4))
        driver.await_windows(40)
        cluster.add_worker()
        wait_until(lambda: driver.standing()["cores"] == 2, "two cores again")
        driver.send([row(3_600_000, -2, "left"), row(3_600_000, -2, "right")])
        driver.await_windows(50)

        timely = [r for r in driver.sent if r["kind"] != "late" and r["id"] >= 0]
        ids = sorted(r["id"] for r in timely if r["kind"] == "left")
        wait_until(lambda: len(driver.out("joined")) > len(ids), "all pairs")  # and that of the last two rows
        wait_until(lambda: len([r for r in driver.out("merged") if r[0] != "late"]) >= len(timely), "all rows in order")

        def counts(name: str) -> list[tuple[int, ...]]:
            return sorted((e - START_MS, *rest) for e, *rest in driver.out(name))

        for name, length, slide, by_k in (("brief", 3, 3, True), ("sliding", 10, 5, True), ("long", 10, 10, False)):
            true = expected_counts(timely, length * 1000, slide * 1000, by_k)
            assert counts(name) == sorted((*window, count) for window, count in true.items())
        assert sorted(driver.out("joined")) == sorted([[-2, -2], *([id, id] for id in ids)])
        in_order = [[kind, id, n] for kind in ("left", "right") for n, id in enumerate(ids)]
        assert sorted(r for r in driver.out("merged") if r[0] != "late") == sorted(in_order)
        kept = [json.loads(line) for file in tmp_path.glob("late/*/*/[!.]*") for line in file.read_text().splitlines()]
        assert sorted(k["row"]["id"] for k in kept) == [r["id"] for r in late]
        assert driver.standing()["unkept"] == 0

        (tmp_path / "stop").touch()
        assert driver.process.wait(60) == 0
        said = [tmp_path / "child.log", *cluster.folder.glob("worker-*/app-*/*/stderr")]
        assert not [file for file in said if "ClassNotFound" in file.read_text()]
    finally:
        driver.kill()


def on_cluster(cluster: StandaloneCluster, folder: Path, *args: str, **options: Any) -> tuple[dict[str, Any], str]:
    """`spark-submit` in client mode, which is the only one that Spark has for Python on such a cluster."""
    small = [part for key, value in SMALL.items() for part in ("--conf", f"{key}={value}")]
    own = environment(folder) | {"PYSPARK_PYTHON": bare_python(folder), "TMPDIR": str(folder)}
    changed: dict[str, Any] = {key: value for key, value in own.items() if os.environ.get(key) != value}
    return submitted(folder, *small, *args, master=cluster.url, **changed, **options)


@pytest.mark.spark
def test_submitted_with_jars_and_an_extension_of_the_house_to_executors_that_come_when_needed(
    cluster: StandaloneCluster, tmp_path: Path
) -> None:
    house, extension = tmp_path / "house.jar", "org.apache.spark.sql.ml.InternalFunctionRegistration"
    house.write_bytes(JAR.read_bytes())
    settings = {
        "spark.sql.extensions": extension,
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.enabled": "true",
        "spark.dynamicAllocation.minExecutors": "0",
        "spark.executor.cores": "1",
    }
    conf = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    told, said = on_cluster(cluster, tmp_path, "--jars", f"{house},{JAR}", *conf)
    assert told["jar"] and "headway jar" not in said
    assert told["spark.sql.extensions"] == f"{extension},{EXTENSIONS}"
    assert "house.jar" in told["spark.jars"] and JAR.name in told["spark.jars"]
    assert told["cores"] in (1, 2)


@pytest.mark.spark
def test_submitted_without_the_jar_to_executors_without_headway(cluster: StandaloneCluster, tmp_path: Path) -> None:
    told, said = on_cluster(cluster, tmp_path, "--conf", ONE)
    assert not told["jar"] and said.count("spark-submit --jars $(headway jar)") == 1


@pytest.mark.spark
def test_a_jar_that_only_the_driver_has_is_sent_to_the_executors(cluster: StandaloneCluster, tmp_path: Path) -> None:
    told, _ = on_cluster(cluster, tmp_path, "--conf", ONE, "--driver-class-path", str(JAR), job=("untuned",))
    assert told["jar"] and told["spark.jars"] == ""
