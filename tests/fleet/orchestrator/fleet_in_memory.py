"""A fleet whose processes are threads of this one: real HTTP between them, the tree in memory, and hosts without Spark."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fleet.node.memory_host import AT
from headway.errors import HeadwayError
from headway.fleet.fleet_client import FleetClient
from headway.fleet.memory import MemorySession, MemoryTree
from headway.fleet.node.app import Listening, NodeServer, application
from headway.fleet.node.desk import CommandDesk
from headway.fleet.node.held import HeldLeases
from headway.fleet.node.host import Declined, NotHosted
from headway.fleet.node.machine import MachineGauge
from headway.fleet.node.member import MemberHost
from headway.fleet.node.membership import Membership
from headway.fleet.node.reporter import StatusReporter, wall_now
from headway.fleet.node.wire import CommandReceipt, HostedQuery, NodeCommand
from headway.fleet.orchestrator.process import FleetPlaces, OrchestratorDoor, OrchestratorProcess
from headway.fleet.registry import NodeRegistration
from headway.fleet.session import Committed, Rejected, SessionState, Tell, TreeNode, TreeStep
from headway.loop.journal import Journal
from headway.model.placement import PlacementPolicy
from headway.model.time import SystemClock
from headway.policy.placement import NeverMove

TOKEN = "correct-horse-battery-staple"
ROOT = "/fleet"
SESSION_MS = 2_000
PIPELINE = "# first"
BROKEN = "# broken: its first batch fails"
SILENT = list[str]().append


class SharedTree:
    """One tree for all threads: one call at a time, and real time."""

    def __init__(self) -> None:
        self.tree, self.lock = MemoryTree(SystemClock()), threading.RLock()
        self.sessions: list[OneAtATime] = []
        self._over = threading.Event()
        threading.Thread(target=self._beats, daemon=True).start()

    def open(self, who: str, tell: Tell) -> "OneAtATime":
        with self.lock:
            made = OneAtATime(self, self.tree.open(who, SESSION_MS, tell))
            self.sessions.append(made)
            return made

    def of(self, who: str) -> "OneAtATime":
        """The newest session of this holder."""
        return [session for session in self.sessions if session.name.startswith(f"{who}-")][-1]

    def close(self) -> None:
        self._over.set()

    def _beats(self) -> None:
        while not self._over.wait(SESSION_MS / 6_000):
            with self.lock:
                self.tree.expire_due()
                for session in list(self.sessions):
                    if not session.dead:
                        session.inner.beat()


class OneAtATime:
    """A session with it. `headway.fleet.session.Session`."""

    def __init__(self, shared: SharedTree, inner: MemorySession) -> None:
        self._shared, self.inner = shared, inner
        self.name, self.timeout_ms = inner.name, inner.timeout_ms
        self.dead = False  # its process gives no sign of life any more

    @property
    def state(self) -> SessionState:
        return self.inner.state

    @property
    def breaks(self) -> int:
        return self.inner.breaks

    def sure(self) -> bool:
        return self.inner.sure()

    def read(self, path: str, *, watch: bool = False) -> TreeNode | None:
        with self._shared.lock:
            return self.inner.read(path, watch=watch)

    def read_all(self, paths: Sequence[str]) -> list[TreeNode | None]:
        with self._shared.lock:
            return self.inner.read_all(paths)

    def children(self, path: str, *, watch: bool = False) -> tuple[str, ...]:
        with self._shared.lock:
            return self.inner.children(path, watch=watch)

    def commit(self, *steps: TreeStep) -> Committed | Rejected:
        with self._shared.lock:
            return self.inner.commit(*steps)

    def ensure(self, path: str) -> None:
        with self._shared.lock:
            self.inner.ensure(path)

    def on_beat(self, chore: Callable[[], None]) -> None:
        self.inner.on_beat(chore)

    def close(self) -> None:
        with self._shared.lock:
            self.inner.close()


class InstantHost:
    """Does at once what it is told; a query that runs has committed one more batch each time that somebody looks."""

    def __init__(self) -> None:
        self.queries: dict[str, HostedQuery] = {}
        self.did: list[tuple[str, str, int]] = []

    def obey(self, command: NodeCommand) -> CommandReceipt:
        here = self.queries.get(command.query)
        self.did.append((command.action, command.query, command.epoch))
        match command.action:
            case "prepare" | "take":
                if here is not None and (here.epoch > command.epoch or here.state == "at the gate"):
                    raise Declined(f"epoch {here.epoch} is {here.state} here")
                self._turn(command, "prepared" if command.action == "prepare" else "taken")
            case "start":
                taken = here is not None and here.epoch == command.epoch
                file = here.file if here is not None and taken else command.file
                if file is None:
                    raise NotHosted("query: not here")
                self._turn(command, "at the gate", file)
                if Path(file).read_text() == BROKEN:
                    self.queries[command.query] = replace(self.queries[command.query], state="failed", error="a bad batch")
                    raise HeadwayError("a bad batch")
            case "drain":
                if here is None or here.epoch != command.epoch:
                    raise NotHosted("query: not here")
                self._turn(command, "drained", here.file)
            case "stop" | "abandon":
                self.queries.pop(command.query, None)
            case "resume":
                if here is None or here.state != "at the gate":
                    raise Declined("it has ended")
        return CommandReceipt(command.request, command.action, command.query, command.epoch, True, "done", AT)

    def hosted(self) -> tuple[HostedQuery, ...]:
        for name, query in list(self.queries.items()):
            if query.state == "at the gate":
                rows = query.rows + 10
                self.queries[name] = replace(query, commits=query.commits + 1, rows=rows, busy_ms=query.busy_ms + 5)
        return tuple(self.queries.values())

    def heap(self) -> float:
        return 0.25

    def look_around(self) -> None:
        """Nothing happens here by itself."""

    def _turn(self, command: NodeCommand, state: Any, file: str | None = None) -> None:
        at = HostedQuery(command.query, command.epoch, state, AT, command.folder, file or command.file)
        self.queries[command.query] = at


class InstantNode:
    """A node at its door, with its leases and its name on the list."""

    def __init__(self, name: str, shared: SharedTree) -> None:
        self.name, self.host, self._shared = name, InstantHost(), shared
        self._membership: Membership | None = None
        held = HeldLeases(lambda: None if self._membership is None else self._membership.leasing(), name, SILENT)
        member = MemberHost(self.host, held, say=SILENT)
        self._reporter = StatusReporter(name, member, MachineGauge())
        desk = CommandDesk(member, wall_now, SILENT)
        self._server = NodeServer(application(desk, self._reporter, TOKEN, SILENT), Listening(TOKEN))
        self._membership = Membership(
            lambda tell: shared.open(name, tell), ROOT, NodeRegistration(name, self._server.address), SILENT
        )
        self._reporter.start()
        self._server.start()
        self._membership.start()

    def die(self) -> None:
        """As by kill -9: no word to anybody, and its session expires."""
        self._shared.of(self.name).dead = True
        self._server.stop()
        self._reporter.stop()

    def stop(self) -> None:
        assert self._membership is not None
        self._membership.stop()
        self._server.stop()
        self._reporter.stop()


class FleetInMemory:
    """Some nodes, two orchestrators."""

    def __init__(self, folder: Path, nodes: Sequence[str] = ("n1", "n2"), policy: PlacementPolicy | None = None) -> None:
        self.folder, self.shared = folder, SharedTree()
        self.nodes = {name: InstantNode(name, self.shared) for name in nodes}
        self.orchestrators = {name: self._orchestrator(name, policy or NeverMove()) for name in ("o1", "o2")}
        self.client = FleetClient([one.address for one in self.orchestrators.values()], TOKEN)

    def journal(self, name: str) -> Path:
        return self.folder / f"{name}.db"

    def primary(self) -> str:
        """Its name, once there is one."""
        self.until(lambda: self.client.standing().primary, "there is a primary")
        return self.client.standing().orchestrator.partition(" ")[0]

    def ready(self) -> "FleetInMemory":
        """All nodes serve, by the primary's word."""
        self.primary()
        self.until(lambda: self._serving() == set(self.nodes), "all nodes serve")
        return self

    def place(self, query: str) -> str | None:
        """The node that it serves on."""
        found = [one for one in self.client.standing().queries if one.name == query and one.phase == "serving"]
        return found[0].node if found else None

    def running(self, query: str) -> list[tuple[str, int]]:
        """Who runs it, in truth, under which epoch."""
        there = [(node.name, node.host.queries.get(query)) for node in self.nodes.values()]
        return [(name, seen.epoch) for name, seen in there if seen is not None and seen.state == "at the gate"]

    def until(self, true: Callable[[], object], what: str) -> None:
        end = time.monotonic() + 30
        while not true():
            if time.monotonic() > end:
                raise AssertionError(f"not within 30 s: {what}; {self.client.standing()}")
            time.sleep(0.02)

    def close(self) -> None:
        self.client.close()
        for orchestrator in self.orchestrators.values():
            orchestrator.stop()
        for node in self.nodes.values():
            node.stop()
        self.shared.close()

    def _orchestrator(self, name: str, policy: PlacementPolicy) -> OrchestratorProcess:
        places = FleetPlaces(ROOT, str(self.folder / "checkpoints"), self.folder / "pipelines")
        journal = Journal(self.journal(name))

        def connect(tell: Tell) -> OneAtATime:
            return self.shared.open(name, tell)

        process = OrchestratorProcess(name, connect, places, policy, journal, OrchestratorDoor(Listening(TOKEN)))
        process.start()
        return process

    def _serving(self) -> set[str]:
        return {node.name for node in self.client.standing().nodes if node.state == "serving"}
