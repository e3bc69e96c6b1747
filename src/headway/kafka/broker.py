"""A Kafka broker of our own: one JVM, KRaft, on loopback, with a data folder that goes when it does."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from base64 import urlsafe_b64encode
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from headway.errors import HeadwayError, SettingError
from headway.kafka import jars
from headway.kafka.process_guard import end_with_parent

START_S = 60
STOP_S = 30
_LOG = """
appender.file.type = File
appender.file.name = file
appender.file.fileName = {folder}/broker.log
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d %p %m (%c)%n%throwable
rootLogger.level = WARN
rootLogger.appenderRef.file.ref = file
"""


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker that runs, or ran."""

    port: int
    pid: int
    folder: str  # data, settings and log
    born: float  # of its process: a number may come back for another one

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def alive(self) -> bool:
        try:
            process = psutil.Process(self.pid)
            return bool(process.create_time() == self.born and process.status() != psutil.STATUS_ZOMBIE)
        except psutil.Error:
            return False

    def stop(self, *, keep: bool = False) -> None:
        """End it, and its data unless they are to be kept."""
        _end(self)
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    def kill(self) -> None:
        """End it as a crash would. Its data stay, and `start` with the same folder goes on with them."""
        _end(self, signal.SIGKILL)

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def load(cls, path: Path) -> "Broker | None":
        try:
            return cls(**json.loads(path.read_text()))
        except (OSError, ValueError, TypeError):
            return None


def start(
    folder: str | Path | None = None,
    *,
    port: int = 0,
    heap: str = "256m",
    ends_with_parent: bool = True,
    partitions: int = 1,
) -> Broker:
    """Start a broker and wait until it answers.

    A `folder` that has been used before is gone on with. `port` 0 takes a free one. With `ends_with_parent`,
    it ends when the process that started it does, also if that is killed.
    """
    if port and _taken(port):
        raise SettingError("port", port, "a free port: something listens on this one")
    place = Path(folder) if folder is not None else Path(tempfile.mkdtemp(prefix="headway-kafka-"))
    place.mkdir(parents=True, exist_ok=True)
    port, control = port or _free(), _free()
    classpath = os.pathsep.join(map(str, jars.fetched(jars.BROKER)))
    settings = place / "server.properties"
    settings.write_text(_settings(place, port, control, partitions))
    (place / "log4j2.properties").write_text(_LOG.format(folder=place))
    java = [jars.java(), f"-Xmx{heap}", "-XX:+UseSerialGC", "-cp", classpath]
    java += [f"-Dlog4j2.configurationFile={place / 'log4j2.properties'}"]
    if not (place / "data" / "meta.properties").exists():
        command = [*java, "kafka.tools.StorageTool", "format", "-t", _cluster_name(), "-c", str(settings)]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode != 0:
            raise HeadwayError(f"kafka: {place} cannot be made a data folder: {_last_line(made.stderr or made.stdout)}")
    with (place / "out.log").open("ab") as out:
        process = subprocess.Popen(
            [*java, "kafka.Kafka", str(settings)], stdout=out, stderr=out, stdin=subprocess.DEVNULL,
            start_new_session=True, preexec_fn=end_with_parent if ends_with_parent else None,
        )  # fmt: skip
    broker = Broker(port, process.pid, str(place), psutil.Process(process.pid).create_time())
    try:
        _await(broker, process)
    except BaseException:
        _end(broker)
        raise
    return broker


def _cluster_name() -> str:
    """As Kafka wants it. One that begins with a dash would be taken for an option, once in 64 times."""
    name = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    return "A" + name[1:]


def _settings(folder: Path, port: int, control: int, partitions: int) -> str:
    values = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@127.0.0.1:{control}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{control}",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": folder / "data",
        "num.partitions": partitions,
        "auto.create.topics.enable": "false",
        "offsets.topic.num.partitions": 1,
        "offsets.topic.replication.factor": 1,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.num.partitions": 1,
        "transaction.state.log.min.isr": 1,
        "group.initial.rebalance.delay.ms": 0,
        "log.segment.bytes": 64 << 20,
        "log.retention.bytes": 1 << 30,  # of each partition: a night's benchmark must not fill the disk
        "log.cleaner.dedupe.buffer.size": 8 << 20,
    }
    return "".join(f"{key}={value}\n" for key, value in values.items())


def _await(broker: Broker, process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + START_S
    while not _taken(broker.port):
        if process.poll() is not None:
            log = Path(broker.folder, "broker.log")
            said = _last_line(log.read_text() if log.exists() else Path(broker.folder, "out.log").read_text())
            raise HeadwayError(f"kafka: the broker has ended at once: {said or 'it said nothing'}")
        if time.monotonic() > end:
            raise HeadwayError(f"kafka: the broker did not listen on {broker.address} within {START_S} s")
        time.sleep(0.1)


def _end(broker: Broker, by: signal.Signals = signal.SIGTERM) -> None:
    if not broker.alive:
        return
    process = psutil.Process(broker.pid)
    with contextlib.suppress(psutil.Error):
        process.send_signal(by)
        try:
            process.wait(STOP_S)
        except psutil.TimeoutExpired:
            process.kill()
            process.wait(STOP_S)


def _taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith(("\tat ", "SLF4J"))]
    return lines[-1].strip() if lines else ""
