"""A real fleet whose parts can be killed, frozen, cut off and started again: as `headway fleet up` starts it, one by one.

All of it ends with the process that started it, also by kill -9; what is frozen then is woken by a process of its own.
"""

import os
import random
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from headway.cli.fleet_up import NODE_SESSION_MS, ORCHESTRATOR_SESSION_MS, TICK_MS
from headway.errors import HeadwayError
from headway.fleet.fleet_client import FleetClient
from headway.fleet.orchestrator.wire import FleetStanding
from headway.fleet.zookeeper import server as zookeeper
from headway.servers import process as servers
from headway.servers.process import ServerProcess
from headway_lab.experiments.fleet_faults.namespace import NodeNamespace, TcpRelay
from headway_lab.jvm import JAR

ORCHESTRATORS, NODES = ("o1", "o2"), ("n1", "n2", "n3")
APART = "n3"  # the node with a network of its own, where one can be had
ZOOKEEPER = "zookeeper"
MEMORY = "512m"
PORTS = range(20_000, 32_000)  # below those that are given to callers: a client that tries often would meet itself there
# These JVMs live for minutes at most: what the second compiler finds out about them, it finds out too late.
BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
THAW = "import os, sys; sys.stdin.read(); os.killpg({group}, 18)"


class TrialFleet:
    """ZooKeeper, two orchestrators, three nodes; each by its name."""

    def __init__(self, work: Path, apart: NodeNamespace | None) -> None:
        self.work, self.apart = work, apart
        self.token = secrets.token_urlsafe(32)
        self._token_file = work / "token"
        self._token_file.touch(0o600)
        self._token_file.write_text(self.token)
        self.members: dict[str, ServerProcess] = {}
        self._ports = {name: _free_port() for name in (ZOOKEEPER, *ORCHESTRATORS)}
        self._relay: TcpRelay | None = None

    def begin(self, name: str) -> None:
        """Start it, or start it again where it was: returns at once, but for ZooKeeper, which serves then."""
        if name == ZOOKEEPER:
            started = zookeeper.start(self.work / name, port=self._ports[name], heap="96m", tick_ms=TICK_MS)
            self.members[name] = ServerProcess(started.port, started.pid, started.folder, started.born)
            if self.apart is not None and self._relay is None:
                self._relay = TcpRelay(self.apart.outside, started.port)
            return
        folder = self.work / name
        folder.mkdir(exist_ok=True)
        words = self._orchestrator(name) if name in ORCHESTRATORS else self._node(name)
        process = servers.launched(words, folder, ends_with_parent=True)
        self.members[name] = ServerProcess(self._ports.get(name, 0), process.pid, str(folder), servers.born(process))

    def end(self) -> None:
        """Queries first: nodes stop them between two batches, for which they need their leases."""
        for group in (NODES, ORCHESTRATORS, (ZOOKEEPER,)):
            there = [self.members[name] for name in group if name in self.members]
            for one in there:
                self._signal_group(one, signal.SIGCONT)
            if there:
                with ThreadPoolExecutor(len(there)) as workers:
                    list(workers.map(lambda one: one.stop(keep=True), there))

    # ---- what is done to them

    def kill(self, name: str) -> None:
        """With all that it has started."""
        self._signal_group(self.members[name], signal.SIGKILL)
        with suppress(psutil.Error):
            psutil.Process(self.members[name].pid).wait(servers.STOP_S)

    def kill_python(self, name: str) -> None:
        """Its Python alone; the JVM is left to find out."""
        self.members[name].kill()

    def kill_jvm(self, name: str) -> None:
        """Its JVM alone, as the system does that is short of memory."""
        for child in psutil.Process(self.members[name].pid).children(recursive=True):
            with suppress(psutil.Error):
                if child.name() == "java":
                    child.kill()

    @contextmanager
    def frozen(self, name: str) -> Iterator[None]:
        """It stands still until the end of the block, or of this process."""
        member = self.members[name]
        waker = subprocess.Popen(
            [sys.executable, "-S", "-c", THAW.format(group=os.getpgid(member.pid))], stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            self._signal_group(member, signal.SIGSTOP)
            yield
        finally:
            self._signal_group(member, signal.SIGCONT)
            assert waker.stdin is not None
            waker.stdin.close()
            waker.wait()

    def _signal_group(self, member: ServerProcess, by: signal.Signals) -> None:
        if member.alive:
            with suppress(ProcessLookupError):
                os.killpg(member.pid, by)

    # ---- how it stands

    @property
    def addresses(self) -> dict[str, str]:
        return {name: f"http://127.0.0.1:{self._ports[name]}" for name in ORCHESTRATORS}

    @property
    def zookeeper_address(self) -> str:
        return f"127.0.0.1:{self._ports[ZOOKEEPER]}"

    def client(self, *names: str) -> FleetClient:
        """Of these orchestrators, or of all."""
        return FleetClient([self.addresses[name] for name in names or ORCHESTRATORS], self.token)

    @property
    def ended(self) -> list[str]:
        return [name for name, member in self.members.items() if not member.alive]

    def said(self, name: str) -> str:
        """The last that it has said."""
        return servers.last_line((self.work / name / "out.log").read_text(errors="replace")) or "it said nothing"

    # ---- how they are started

    def _orchestrator(self, name: str) -> list[str]:
        return [
            *_headway(self.work), "orchestrator", "--name", name, "--port", str(self._ports[name]),
            "--zookeeper", self.zookeeper_address, "--token-file", str(self._token_file),
            "--checkpoints", str(self.work / "checkpoints"), "--pipelines", str(self.work / "pipelines"),
            "--policy", "never-move", "--journal", str(self.work / name / "journal.db"),
            "--session-ms", str(ORCHESTRATOR_SESSION_MS),
        ]  # fmt: skip

    def _node(self, name: str) -> list[str]:
        words = [
            *_headway(self.work), "node", "--name", name, "--token-file", str(self._token_file), "--master", "local[1]",
            "--memory", MEMORY, "--journal", str(self.work / name / "journal.db"), "--session-ms", str(NODE_SESSION_MS),
        ]  # fmt: skip
        if name != APART or self.apart is None or self._relay is None:
            return [*words, "--zookeeper", self.zookeeper_address]
        at = f"{self.apart.outside}:{self._relay.port}"
        return [*self.apart.enter, *words, "--zookeeper", at, "--host", self.apart.inside]


def _headway(state: Path) -> list[str]:
    """The command, in an environment of its own: `state` is where it leaves what belongs to its user."""
    variables = {
        "XDG_STATE_HOME": str(state), "SPARK_SUBMIT_OPTS": BRIEF, "SPARK_LAUNCHER_OPTS": BRIEF, "OPENBLAS_NUM_THREADS": "1",
        "PYSPARK_SUBMIT_ARGS": f"--driver-class-path {JAR} pyspark-shell", "SPARK_LOCAL_IP": "127.0.0.1",
    }  # fmt: skip
    return ["env", *(f"{key}={value}" for key, value in variables.items()), sys.executable, "-m", "headway"]


def standing(client: FleetClient) -> FleetStanding | None:
    """As its primary sees it; None where there is none."""
    try:
        found = client.standing()
    except HeadwayError:
        return None
    return found if found.primary else None


def whole(found: FleetStanding | None, least: int) -> bool:
    """So many nodes serve and every query does."""
    if found is None:
        return False
    nodes = sum(node.state == "serving" for node in found.nodes)
    return nodes >= least and all(one.phase == "serving" and one.move is None for one in found.queries)


def _free_port() -> int:
    return next(port for port in random.sample(PORTS, 100) if not servers.taken(port))
