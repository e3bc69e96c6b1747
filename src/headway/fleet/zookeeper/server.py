"""A ZooKeeper of our own, for trials and tests: one JVM on loopback, made of the classes among PySpark's own jars.

A single server is away while it restarts. In production the fleet uses an ensemble of your own.
"""

import os
import socket
from dataclasses import dataclass
from pathlib import Path

from headway.errors import HeadwayError, SettingError
from headway.java import java, spark_jars
from headway.servers import process as servers
from headway.servers.process import ServerProcess

NAME = "zookeeper"
TICK_MS = 2_000
LEAST_TICK_MS = 50
LONGEST_SESSION_MS = 120_000
PORTS_TRIED = 3  # a port that was free may be taken before the JVM is up
# The server itself, what it logs with, and what it counts with.
JARS = ("zookeeper-[0-9]*", "zookeeper-jute-*", "slf4j-api-*", "log4j-slf4j2-impl-*", "log4j-api-2*", "log4j-core-*",
        "metrics-core-*", "netty-*", "commons-cli-*", "commons-io-*", "commons-lang-*", "snappy-java-*")  # fmt: skip
MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"  # for one server, too; and it tidies up old snapshots


@dataclass(frozen=True, slots=True)
class ZooKeeperServer(ServerProcess):
    """A server that runs, or ran."""

    def told(self) -> dict[str, str]:
        """What it says of itself; nothing while it does not serve."""
        return _told(self.port)


def start(
    folder: str | Path | None = None,
    *,
    port: int = 0,
    heap: str = "128m",
    tick_ms: int = TICK_MS,
    ends_with_parent: bool = True,
) -> ZooKeeperServer:
    """Start a server and wait until it serves.

    A `folder` that has been used before is gone on with, and the sessions that were open are given their time once more.
    `port` 0 takes a free one. No session is shorter than two ticks. With `ends_with_parent`, it ends when the process that
    started it does, also if that is killed.
    """
    if tick_ms < LEAST_TICK_MS:
        raise SettingError("tick", tick_ms, f"{LEAST_TICK_MS} milliseconds or more")
    place, at = servers.place_and_port(NAME, folder, port)
    for left in reversed(range(1 if port else PORTS_TRIED)):
        try:
            return _started(place, at, heap, tick_ms, ends_with_parent)
        except HeadwayError as error:
            if not left or "already in use" not in str(error):
                raise
            at = servers.free_port()
    raise AssertionError("the last try returns or raises")


def _started(place: Path, port: int, heap: str, tick_ms: int, ends_with_parent: bool) -> ZooKeeperServer:
    settings = place / "zoo.cfg"
    settings.write_text(_settings(place, port, tick_ms))
    command = [
        java(), f"-Xmx{heap}", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", _classpath(),
        servers.log_settings(NAME, place), "-Dzookeeper.jmx.log4j.disable=true", "-Dzookeeper.preAllocSize=4096",
        MAIN, str(settings),
    ]  # fmt: skip
    process = servers.launched(command, place, ends_with_parent=ends_with_parent)
    server = ZooKeeperServer(port, process.pid, str(place), servers.born(process))
    servers.wait_until_up(NAME, server, process, lambda at: bool(_told(at)))
    return server


def _classpath() -> str:
    found = {pattern: spark_jars(f"{pattern}.jar") for pattern in JARS}
    if not found["zookeeper-[0-9]*"]:
        raise HeadwayError("no ZooKeeper among PySpark's jars: pip install 'pyspark>=4,<5' brings it")
    return os.pathsep.join(str(jar) for jars in found.values() for jar in jars)


def _settings(folder: Path, port: int, tick_ms: int) -> str:
    values = {
        "dataDir": folder / "data",
        "clientPort": port,
        "clientPortAddress": "127.0.0.1",
        "tickTime": tick_ms,
        "maxSessionTimeout": LONGEST_SESSION_MS,  # twenty ticks unless told, which would be little with short ones
        "maxClientCnxns": 0,  # a fleet on trial comes from one address
        "admin.enableServer": "false",
        "autopurge.snapRetainCount": 3,
        "autopurge.purgeInterval": 1,
    }
    return "".join(f"{key}={value}\n" for key, value in values.items())


def _told(port: int) -> dict[str, str]:
    """The answer to `srvr`: it listens before it has read its data, and says so until it serves."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as line:
            line.sendall(b"srvr")
            answer = b"".join(iter(lambda: line.recv(4096), b"")).decode(errors="replace")
    except OSError:
        return {}
    pairs = (row.partition(":") for row in answer.splitlines())
    said = {key.strip(): value.strip() for key, colon, value in pairs if colon}
    return said if "Mode" in said else {}
