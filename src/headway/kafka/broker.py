"""A Kafka broker of our own: one JVM, KRaft, on loopback unless told, with a data folder that goes when it does."""

import os
import signal
import subprocess
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headway.errors import HeadwayError
from headway.java import java
from headway.kafka import jars
from headway.servers import process as servers
from headway.servers.process import ServerProcess

NAME = "kafka"


@dataclass(frozen=True, slots=True)
class Broker(ServerProcess):
    """A broker that runs, or ran."""


def start(
    folder: str | Path | None = None,
    *,
    port: int = 0,
    heap: str = "256m",
    ends_with_parent: bool = True,
    partitions: int = 1,
    host: str = servers.LOOPBACK,
    inside: Sequence[str] = (),
) -> Broker:
    """Start a broker and wait until it answers, on the address `host`; `inside` is a command that runs others elsewhere.

    A `folder` that has been used before is gone on with. `port` 0 takes a free one. With `ends_with_parent`,
    it ends when the process that started it does, also if that is killed.
    """
    place, port = servers.place_and_port(NAME, folder, port, host)
    classpath = os.pathsep.join(map(str, jars.fetched(jars.BROKER)))
    settings = place / "server.properties"
    settings.write_text(_settings(place, f"{host}:{port}", f"{host}:{servers.free_port()}", partitions))
    jvm = [java(), f"-Xmx{heap}", "-XX:+UseSerialGC", "-cp", classpath, servers.log_settings(NAME, place)]
    if not (place / "data" / "meta.properties").exists():
        command = [*jvm, "kafka.tools.StorageTool", "format", "-t", _cluster_name(), "-c", str(settings)]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode != 0:
            said = servers.last_line(made.stderr or made.stdout)
            raise HeadwayError(f"kafka: {place} cannot be made a data folder: {said}")
    command = [*inside, *jvm, "kafka.Kafka", str(settings)]
    # Asked to end, a broker tidies up first, for minutes if what it waits for has ended, too. It survives a kill.
    process = servers.launched(command, place, ends_with_parent=ends_with_parent, how=signal.SIGKILL)
    broker = Broker(port, process.pid, str(place), servers.born(process), host)
    servers.wait_until_up(NAME, broker, process)
    return broker


def _cluster_name() -> str:
    """As Kafka wants it. One that begins with a dash would be taken for an option, once in 64 times."""
    name = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    return "A" + name[1:]


def _settings(folder: Path, here: str, control: str, partitions: int) -> str:
    values = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@{control}",
        "listeners": f"PLAINTEXT://{here},CONTROLLER://{control}",
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
