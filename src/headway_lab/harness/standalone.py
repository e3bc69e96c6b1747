"""A Spark standalone cluster of our own: a master and workers as real processes, on loopback, gone when we are done.

They run from PySpark's own jars, and everything they write is in one folder. A worker leads a process group, in which its
executors are too, so that all of them can be ended, by a test that fails as well.
"""

import importlib.util
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import psutil

from headway.errors import HeadwayError
from headway.java import java
from headway.servers.process_guard import end_with_parent
from headway_lab.harness.children import work_folder

START_S = 60
_HOST = "127.0.0.1"
_EXECUTOR = "CoarseGrainedExecutorBackend"
# What belongs to the process that starts the cluster, and is not there on a machine of a cluster.
_OURS = ("HOME", "PYTHONPATH", "PYSPARK_PYTHON", "PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR")

Process = subprocess.Popen[bytes]


@dataclass
class StandaloneCluster:
    """A cluster that runs."""

    folder: Path
    port: int
    ui_port: int
    master: Process
    workers: list[Process] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"spark://{_HOST}:{self.port}"

    def state(self) -> dict[str, Any]:
        """What the master says of itself, its workers and its applications."""
        with urlopen(f"http://{_HOST}:{self.ui_port}/json/", timeout=10) as answer:
            said: dict[str, Any] = json.load(answer)
            return said

    def executors(self) -> list[int]:
        """The processes of all executors, the youngest last."""
        found = []
        for worker in self.workers:
            with suppress(psutil.Error):
                found += [c for c in psutil.Process(worker.pid).children() if _is_executor(c)]
        return [process.pid for process in sorted(found, key=lambda p: p.pid)]

    def add_worker(self, cores: int = 1, memory: str = "900m") -> Process:
        number = len(self.workers)
        work = self.folder / f"worker-{number}"
        args = ["--host", _HOST, "--port", "0", "--webui-port", "0", "--cores", str(cores), "--memory", memory]
        worker = _begin("worker.Worker", self.folder, work, *args, "--work-dir", str(work), self.url)
        self.workers.append(worker)
        return worker

    def await_workers(self, count: int) -> None:
        _await(lambda: self.state()["aliveworkers"] == count, f"{count} workers at the master", self.folder)

    def stop(self) -> None:
        """End all of it, whatever state it is in."""
        for process in (*self.workers, self.master):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def standalone(workers: int = 2, folder: Path | None = None) -> Iterator[StandaloneCluster]:
    """A master with so many workers of one core each, as long as it is needed."""
    with work_folder("headway-cluster-", folder) as place:
        port, ui_port = _free_port(), _free_port()
        args = ["--host", _HOST, "--port", str(port), "--webui-port", str(ui_port)]
        cluster = StandaloneCluster(place, port, ui_port, _begin("master.Master", place, place / "master", *args))
        try:
            _await(lambda: cluster.state()["status"] == "ALIVE", "a master that answers", place)
            for _ in range(workers):
                cluster.add_worker()
            cluster.await_workers(workers)
            yield cluster
        finally:
            cluster.stop()


def spark_home() -> Path:
    """Where PySpark keeps Spark."""
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise HeadwayError("no PySpark found: pip install headway brings it")
    return Path(found.origin).parent


def environment(folder: Path) -> dict[str, str]:
    """For processes of the cluster, and for drivers that use it: all on loopback, and nothing outside of the folder."""
    own = {key: value for key, value in os.environ.items() if key not in _OURS}
    local = folder / "local"
    local.mkdir(parents=True, exist_ok=True)
    # A worker that starts an executor would look for Scala's version in folders that only a build of Spark has.
    scala = next(spark_home().glob("jars/spark-core_*.jar")).name.split("_")[1].split("-")[0]
    places = {"SPARK_HOME": str(spark_home()), "SPARK_LOCAL_IP": _HOST, "SPARK_LOCAL_DIRS": str(local)}
    return own | places | {"SPARK_SCALA_VERSION": scala}


def _begin(name: str, folder: Path, work: Path, *args: str) -> Process:
    work.mkdir(parents=True, exist_ok=True)
    # Spark on Java 17 and later needs these, which its own scripts give as well.
    opened = [f"--add-opens=java.base/{p}=ALL-UNNAMED" for p in ("java.lang", "java.nio", "java.util", "sun.nio.ch")]
    command = [java(), "-Xmx256m", "-XX:+UseSerialGC", *opened, "-cp", f"{spark_home()}/jars/*"]
    with (work / "log").open("ab") as log:
        return subprocess.Popen(
            [*command, f"org.apache.spark.deploy.{name}", *args],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=work, env=environment(folder),
            start_new_session=True, preexec_fn=end_with_parent(),
        )  # fmt: skip


def _await(ready: Callable[[], bool], what: str, folder: Path) -> None:
    end = time.monotonic() + START_S
    while True:
        with suppress(OSError, ValueError):
            if ready():
                return
        if time.monotonic() > end:
            raise HeadwayError(f"spark: expected {what} within {START_S} s; logs are in {folder}")
        time.sleep(0.1)


def _is_executor(process: psutil.Process) -> bool:
    try:
        return any(arg.endswith(_EXECUTOR) for arg in process.cmdline())
    except psutil.Error:
        return False


def _free_port() -> int:
    with socket.create_server((_HOST, 0)) as server:
        return int(server.getsockname()[1])
