"""A server process of ours: started with its own folder, waited for, stopped or killed, found again by a note on disk."""

import contextlib
import fcntl
import json
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Self

import psutil

from headway.errors import HeadwayError, SettingError
from headway.servers.process_guard import end_with_parent

LOOPBACK = "127.0.0.1"
START_S = 60
STOP_S = 30
_LOG = """
appender.file.type = File
appender.file.name = file
appender.file.fileName = {folder}/{name}.log
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d %p %m (%c)%n%throwable
rootLogger.level = WARN
rootLogger.appenderRef.file.ref = file
"""


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """A server that runs, or ran."""

    port: int
    pid: int
    folder: str  # data, settings and log
    born: float  # of its process: a number may come back for another one
    host: str = LOOPBACK

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def alive(self) -> bool:
        try:
            process = psutil.Process(self.pid)
            return bool(process.create_time() == self.born and process.status() != psutil.STATUS_ZOMBIE)
        except psutil.Error:
            return False

    def stop(self, *, keep: bool = False) -> None:
        """End it, and its data unless they are to be kept."""
        self._end(signal.SIGTERM)
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    def kill(self) -> None:
        """End it as a crash would. Its data stay, and a start with the same folder goes on with them."""
        self._end(signal.SIGKILL)

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def load(cls, path: Path) -> Self | None:
        try:
            return cls(**json.loads(path.read_text()))
        except (OSError, ValueError, TypeError):
            return None

    def _end(self, by: signal.Signals) -> None:
        if not self.alive:
            return
        process = psutil.Process(self.pid)
        with contextlib.suppress(psutil.Error):
            process.send_signal(by)
            try:
                process.wait(STOP_S)
            except psutil.TimeoutExpired:
                process.kill()
                process.wait(STOP_S)


def place_and_port(name: str, folder: str | Path | None, port: int, host: str = LOOPBACK) -> tuple[Path, int]:
    """Where it keeps its data, a temporary folder unless told, and where it listens, a free port unless told."""
    if port and taken(port, host):
        raise SettingError("port", port, "a free port: something listens on this one")
    place = Path(folder) if folder is not None else Path(tempfile.mkdtemp(prefix=f"headway-{name}-"))
    place.mkdir(parents=True, exist_ok=True)
    return place, port or free_port()


def log_settings(name: str, folder: Path) -> str:
    """The JVM option with which a server logs into its folder; the file is written."""
    settings = folder / "log4j2.properties"
    settings.write_text(_LOG.format(folder=folder, name=name))
    return f"-Dlog4j2.configurationFile={settings}"


def launched(
    command: Sequence[str], folder: Path, *, ends_with_parent: bool, how: signal.Signals = signal.SIGTERM
) -> "subprocess.Popen[bytes]":
    """The process; with `ends_with_parent` it is ended when the one that started it ends, also if that is killed."""
    with (folder / "out.log").open("ab") as out:
        return subprocess.Popen(
            list(command), stdout=out, stderr=out, stdin=subprocess.DEVNULL, start_new_session=True,
            preexec_fn=end_with_parent(how) if ends_with_parent else None,
        )  # fmt: skip


def born(process: "subprocess.Popen[bytes]") -> float:
    """When a process that we have started was born, as the system writes it down."""
    return float(psutil.Process(process.pid).create_time())


def wait_until_up(
    name: str, server: ServerProcess, process: "subprocess.Popen[bytes]", up: Callable[[int], bool] | None = None
) -> None:
    """Wait until it answers; one that ends before, or never does, is ended, and what it said last is told."""
    try:
        _await(name, server, process, up or partial(taken, host=server.host))
    except BaseException:
        server.kill()
        raise


def _await(name: str, server: ServerProcess, process: "subprocess.Popen[bytes]", up: Callable[[int], bool]) -> None:
    end = time.monotonic() + START_S
    while not up(server.port):
        if process.poll() is not None:
            logs = [Path(server.folder, f"{name}.log"), Path(server.folder, "out.log")]
            said = [last_line(log.read_text()) for log in logs if log.exists()]
            raise HeadwayError(f"{name}: the server has ended at once: {next(filter(None, said), 'it said nothing')}")
        if time.monotonic() > end:
            raise HeadwayError(f"{name}: the server did not answer on {server.address} within {START_S} s")
        time.sleep(0.05)


@contextmanager
def alone(lock: Path) -> Iterator[None]:
    """One process at a time does what others would do twice, or half: fetch a file, start a server and write it down."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def taken(port: int, host: str = LOOPBACK) -> bool:
    """Something listens there."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((host, port)) == 0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def last_line(text: str) -> str:
    said = (line for line in text.splitlines() if line.strip() and not line.startswith(("\tat ", "\t... ", "SLF4J")))
    lines = [line for line in said if "Exiting JVM" not in line]  # ZooKeeper's very last, which says nothing
    return lines[-1].strip() if lines else ""
