"""The tree that all share, in memory and virtual time: with sessions, expiry, lost answers and cut connections.

It keeps ZooKeeper's promises and no more: a session that was silent for its timeout is given up at once, although ZooKeeper
takes up to a tick longer; a client learns of it only when it is heard again.
"""

import heapq
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from headway.fleet.node_table import NodeTable
from headway.fleet.pulse import BEAT, Pulse
from headway.fleet.records import node_name
from headway.fleet.session import (
    CheckNode,
    Committed,
    MakeNode,
    NodeChanged,
    Rejected,
    SessionChanged,
    SessionOver,
    SessionState,
    Tell,
    TreeNode,
    TreeStep,
    Unheard,
    tell_nobody,
)
from headway.model.time import Clock, WallMs

Lost = Literal["request", "answer"]


class MemoryTree:
    """The server of it."""

    def __init__(self, clock: Clock) -> None:
        self.clock, self.nodes = clock, NodeTable()
        self.up = True
        self._sessions: dict[str, MemorySession] = {}
        self._heard: dict[str, int] = {}  # of sessions that live here, when they were heard last
        self._ends: list[tuple[int, str]] = []  # when each would be given up, had it not been heard since
        self._names = 0

    def open(self, label: str, timeout_ms: int, tell: Tell = tell_nobody) -> "MemorySession":
        """A new session, with a name of its own."""
        self.expire_due()
        if not self.up:
            raise Unheard("the server is down")
        self._names += 1
        session = MemorySession(self, f"{node_name(label)}-{self._names:x}", timeout_ms, tell)
        self._sessions[session.name] = session
        self._heard[session.name] = self.clock.now()
        heapq.heappush(self._ends, (self.clock.now() + timeout_ms, session.name))
        return session

    def stop(self) -> None:
        """The server is down; sessions live on when it comes back, with all of their time."""
        self.expire_due()
        self.up = False

    def start(self) -> None:
        self.up = True
        self._heard = dict.fromkeys(self._heard, self.clock.now())

    @property
    def next_at(self) -> WallMs | None:
        """Before this moment, no session is given up."""
        return WallMs(self._ends[0][0]) if self._ends and self.up else None

    def expire_due(self) -> None:
        """Give up the sessions that have been silent for too long. Every call does this first."""
        now = self.clock.now()
        while self.up and self._ends and self._ends[0][0] <= now:
            _, name = heapq.heappop(self._ends)
            if name in self._heard:
                end = self._heard[name] + self._sessions[name].timeout_ms
                if end <= now:
                    self.give_up(name)
                else:
                    heapq.heappush(self._ends, (end, name))

    def give_up(self, name: str) -> None:
        """The session is over, and what lived by it goes. Twice is once."""
        if self._heard.pop(name, None) is not None:
            del self._sessions[name]
            self._changed(self.nodes.remove_all_of(name))

    # ---- for its sessions

    def hears(self, name: str) -> bool:
        """False if it has been given up."""
        self.expire_due()
        if name not in self._heard:
            return False
        self._heard[name] = self.clock.now()
        return True

    def commit(self, session: str, steps: Sequence[TreeStep]) -> Committed | Rejected:
        done = self.nodes.commit(session, steps)
        if isinstance(done, Committed):
            touched = zip(done.paths, steps, strict=True)
            self._changed({path for path, step in touched if not isinstance(step, CheckNode)})
        return done

    def _changed(self, paths: set[str]) -> None:
        above = {path.rpartition("/")[0] for path in paths}
        for session in list(self._sessions.values()):
            session.tell_of(paths, above)


@dataclass(slots=True)
class Watching:
    """What a session waits to hear of, once."""

    nodes: set[str] = field(default_factory=set)
    folders: set[str] = field(default_factory=set)


class MemorySession:
    """One holder's session with it. `headway.fleet.session.Session`."""

    def __init__(self, tree: MemoryTree, name: str, timeout_ms: int, tell: Tell) -> None:
        self.name, self.timeout_ms = name, timeout_ms
        self.breaks = 0
        self.state = SessionState.CONNECTED
        self.beat_every_ms = max(1, round(timeout_ms * BEAT))
        self.cut = False  # nothing comes through
        self.lose: Lost | None = None  # of the next commit; then the connection is taken to be gone
        self._tree, self._tell, self._clock = tree, tell, tree.clock
        self._pulse = Pulse.born(timeout_ms / 1000, tree.clock.now() / 1000)
        self._watching = Watching()
        self._chores: list[Callable[[], None]] = []

    def sure(self) -> bool:
        return self.state is not SessionState.OVER and self._clock.now() / 1000 < self._pulse.until

    def beat(self) -> None:
        """To be called every `beat_every_ms`, by a world in which the process runs at that moment."""
        try:
            with self._heard():
                self._pulse = self._pulse.answered(self._clock.now() / 1000)
            for chore in self._chores:
                chore()
        except Unheard:
            return

    def read(self, path: str, *, watch: bool = False) -> TreeNode | None:
        with self._heard():
            node = self._tree.nodes.node(path)
            if node is None:
                return None
            if watch:
                self._watching.nodes.add(path)
            return TreeNode(node.text, node.version, node.owner == self.name)

    def read_all(self, paths: Sequence[str]) -> list[TreeNode | None]:
        return [self.read(path) for path in paths]

    def children(self, path: str, *, watch: bool = False) -> tuple[str, ...]:
        with self._heard():
            if watch and self._tree.nodes.node(path) is not None:
                self._watching.folders.add(path)
            return self._tree.nodes.children(path)

    def commit(self, *steps: TreeStep) -> Committed | Rejected:
        lost, self.lose = self.lose, None
        if lost == "request":
            raise self._suspended()
        with self._heard():
            done = self._tree.commit(self.name, steps)
        if lost == "answer":
            raise self._suspended()
        return done

    def ensure(self, path: str) -> None:
        with self._heard():
            parts = path.split("/")
            for depth in range(2, len(parts) + 1):
                self._tree.commit(self.name, [MakeNode("/".join(parts[:depth]))])

    def on_beat(self, chore: Callable[[], None]) -> None:
        self._chores.append(chore)

    def close(self) -> None:
        if self.state is not SessionState.OVER:
            self._become(SessionState.OVER)
            if not self.cut and self._tree.up:
                self._tree.give_up(self.name)

    # ---- for the tree

    def tell_of(self, nodes: set[str], folders: set[str]) -> None:
        """Of changes; a session that is cut off hears nothing, and asks for everything anew when it is back."""
        if self.cut:
            return
        for path in sorted(nodes & self._watching.nodes | folders & self._watching.folders):
            self._watching.nodes.discard(path)
            self._watching.folders.discard(path)
            self._tell(NodeChanged(self.name, path))

    @contextmanager
    def _heard(self) -> Iterator[None]:
        """The server answers, and we learn what it makes of our session."""
        if self.state is SessionState.OVER:
            raise SessionOver(f"the session of {self.name} is over")
        if self.cut or not self._tree.up:
            raise self._suspended()
        if not self._tree.hears(self.name):
            self._become(SessionState.OVER)
            raise SessionOver(f"the session of {self.name} is over")
        if self.state is SessionState.SUSPENDED:
            self._become(SessionState.CONNECTED)
        yield

    def _suspended(self) -> Unheard:
        if self.state is SessionState.CONNECTED:
            self.breaks += 1
            self._watching = Watching()
            self._become(SessionState.SUSPENDED)
        return Unheard(f"the session of {self.name} is suspended")

    def _become(self, state: SessionState) -> None:
        self.state = state
        self._tell(SessionChanged(self.name, state))
