"""A whole fleet on this machine: ZooKeeper, two orchestrators and some nodes, and the note of what was started."""

import contextlib
import json
import os
import secrets
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import psutil

from headway.errors import HeadwayError
from headway.fleet.fleet_client import FleetClient, NoPrimary
from headway.fleet.orchestrator.wire import FleetStanding
from headway.fleet.zookeeper import server as zookeeper
from headway.loop.journal_file import state_folder
from headway.servers import process as servers
from headway.servers.process import ServerProcess, alone

START_S = 240.0  # for all Sparks together, on a slow machine
LOOK_S = 0.5
TICK_MS = 500  # of ZooKeeper
ORCHESTRATOR_SESSION_MS = 3_000  # so that another one is the primary 4 s after a kill -9
NODE_SESSION_MS = 10_000  # a node that loses its session starts its queries anew: a busy machine is no reason to
ORCHESTRATORS = ("o1", "o2")
KEEPER = "up"  # the process that waits, if any does


@dataclass(frozen=True, slots=True)
class LocalFleet:
    """What was started, as it is written down: a reader can end all of it."""

    folder: str
    members: dict[str, ServerProcess] = field(default_factory=dict)

    @property
    def token_file(self) -> Path:
        return Path(self.folder, "token")

    @property
    def token(self) -> str:
        return self.token_file.read_text().strip()

    @property
    def orchestrators(self) -> list[str]:
        return [f"http://{one.address}" for name, one in self.members.items() if name.startswith("o")]

    @property
    def alive(self) -> list[str]:
        return [name for name, one in self.members.items() if one.alive]

    def with_member(self, name: str, member: ServerProcess) -> "LocalFleet":
        return replace(self, members={**self.members, name: member})

    def save(self) -> None:
        """At once whole, or not at all: a process that is killed meanwhile leaves the last note."""
        half = note().with_suffix(".half")
        half.write_text(json.dumps({"folder": self.folder, "members": {n: asdict(m) for n, m in self.members.items()}}))
        half.replace(note())

    @classmethod
    def load(cls) -> "LocalFleet | None":
        try:
            told = json.loads(note().read_text())
            return cls(told["folder"], {name: ServerProcess(**one) for name, one in told["members"].items()})
        except (OSError, ValueError, TypeError, KeyError):
            return None


def note() -> Path:
    """Where `up` writes down what it has started."""
    return state_folder() / "fleet.json"


@dataclass(frozen=True, slots=True)
class FleetSize:
    """What is started."""

    nodes: int = 3
    memory: str = "512m"  # of each node's driver
    policy: str = "prediction-rings"
    kafka: bool = False
    folder: Path | None = None
    attached: bool = True  # all ends with the process that starts it


def start(size: FleetSize, say: Callable[[str], None]) -> LocalFleet:
    """Returns when every node serves. What was begun is ended again if that cannot be."""
    place = size.folder or Path(tempfile.mkdtemp(prefix="headway-fleet-"))
    place.mkdir(parents=True, exist_ok=True)
    fleet = LocalFleet(str(place.absolute()))
    try:
        with open(os.open(fleet.token_file, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "w") as out:
            out.write(secrets.token_urlsafe(32))
        if size.attached:
            fleet = fleet.with_member(KEEPER, ServerProcess(0, os.getpid(), fleet.folder, psutil.Process().create_time()))
        say("starting ZooKeeper")
        running = zookeeper.start(place / "zookeeper", heap="96m", tick_ms=TICK_MS, ends_with_parent=size.attached)
        fleet = fleet.with_member("zookeeper", ServerProcess(running.port, running.pid, running.folder, running.born))
        fleet.save()
        for name in ORCHESTRATORS:
            fleet = _launch(fleet, name, servers.free_port(), _orchestrator(fleet, name, size), size)
        say(f"starting {size.nodes} nodes, each a Spark application with one core; this takes a while")
        for name in node_names(size):
            fleet = _launch(fleet, name, servers.free_port(), _node(fleet, name, size), size)
        _await(fleet, node_names(size))
    except BaseException:
        end(fleet, keep=size.folder is not None)
        raise
    return fleet


def start_alone(size: FleetSize, say: Callable[[str], None]) -> LocalFleet:
    """As `start`, if no other fleet runs here: there is one note of what was started."""
    with alone(note().with_suffix(".lock")):
        other = LocalFleet.load()
        if other is not None and other.alive:
            raise HeadwayError(f"a fleet runs already, in {other.folder}: `headway fleet down` ends it")
        return start(size, say)


def decide_anew(fleet: LocalFleet, size: FleetSize) -> LocalFleet:
    """Other orchestrators, with the policy of this size. Nodes and their queries go on meanwhile."""
    with ThreadPoolExecutor(len(ORCHESTRATORS)) as workers:
        list(workers.map(lambda name: fleet.members[name].stop(keep=True), ORCHESTRATORS))
    for name in ORCHESTRATORS:
        fleet = _launch(fleet, name, servers.free_port(), _orchestrator(fleet, name, size), size)
    _await(fleet, node_names(size))
    return fleet


def end(fleet: LocalFleet, *, keep: bool = False) -> list[str]:
    """End what runs of it, queries first, and remove its folder; the names of what was still running."""
    was = [name for name in fleet.alive if fleet.members[name].pid != os.getpid()]
    if KEEPER in was:
        _ask_keeper(fleet.members[KEEPER])
    # Nodes stop their queries between two batches, for which they need their leases, and so ZooKeeper.
    for kind in ("n", "o", "zookeeper"):
        group = [fleet.members[name] for name in fleet.alive if name.startswith(kind) and name != KEEPER]
        if group:
            with ThreadPoolExecutor(len(group)) as workers:
                list(workers.map(lambda one: one.stop(keep=True), group))
    note().unlink(missing_ok=True)
    if not keep:
        shutil.rmtree(fleet.folder, ignore_errors=True)
    return was


def node_names(size: FleetSize) -> list[str]:
    return [f"n{number}" for number in range(1, size.nodes + 1)]


def _ask_keeper(keeper: ServerProcess) -> None:
    """It ends all the others itself; whatever it leaves is ended after it."""
    with contextlib.suppress(psutil.Error):  # it has ended meanwhile
        process = psutil.Process(keeper.pid)
        process.send_signal(signal.SIGTERM)
        _, alive = psutil.wait_procs([process], timeout=2 * servers.STOP_S)
        for one in alive:
            one.kill()


def _launch(fleet: LocalFleet, name: str, port: int, words: list[str], size: FleetSize) -> LocalFleet:
    folder = Path(fleet.folder, name)
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "headway", *words, "--name", name, "--port", str(port)]
    process = servers.launched(command, folder, ends_with_parent=size.attached)
    started = fleet.with_member(name, ServerProcess(port, process.pid, str(folder), servers.born(process)))
    started.save()
    return started


def _orchestrator(fleet: LocalFleet, name: str, size: FleetSize) -> list[str]:
    place = Path(fleet.folder)
    return [
        "orchestrator", "--zookeeper", fleet.members["zookeeper"].address, "--token-file", str(fleet.token_file),
        "--checkpoints", str(place / "checkpoints"), "--pipelines", str(place / "pipelines"), "--policy", size.policy,
        "--journal", str(place / name / "journal.db"), "--session-ms", str(ORCHESTRATOR_SESSION_MS),
    ]  # fmt: skip


def _node(fleet: LocalFleet, name: str, size: FleetSize) -> list[str]:
    return [
        "node", "--zookeeper", fleet.members["zookeeper"].address, "--token-file", str(fleet.token_file),
        "--master", "local[1]", "--memory", size.memory, "--journal", str(Path(fleet.folder, name, "journal.db")),
        "--session-ms", str(NODE_SESSION_MS), *(["--kafka"] if size.kafka else []),
    ]  # fmt: skip


def _await(fleet: LocalFleet, nodes: list[str]) -> None:
    until = time.monotonic() + START_S
    with FleetClient(fleet.orchestrators, fleet.token) as client:
        while not _serves(client, nodes):
            for name, member in fleet.members.items():
                if not member.alive:
                    said = servers.last_line(Path(member.folder, "out.log").read_text())
                    raise HeadwayError(f"{name} has ended at once: {said or 'it said nothing'}")
            if time.monotonic() > until:
                raise HeadwayError(f"the fleet does not serve within {START_S:g} s: see the logs in {fleet.folder}")
            time.sleep(LOOK_S)


def _serves(client: FleetClient, nodes: list[str]) -> bool:
    try:
        found: FleetStanding = client.standing()
    except NoPrimary:
        return False
    return found.primary and {node.name for node in found.nodes if node.state == "serving"} >= set(nodes)
