"""The same world twice, for one script: in memory and virtual time, and on a real ZooKeeper."""

import contextlib
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from headway.errors import HeadwayError
from headway.fleet.memory import MemorySession, MemoryTree
from headway.fleet.records import Shelf
from headway.fleet.session import Session, SessionState, Tell, Unheard, tell_nobody
from headway.fleet.zookeeper import server
from headway.fleet.zookeeper.server import ZooKeeperServer
from headway.fleet.zookeeper.session import ZooKeeperSession, open_session
from headway.model.time import VirtualClock

TIMEOUT_MS = 2_000
LASTING_MS = 10_000  # of a session that is to live on while the server is started again
TICK_MS = 200
DEADLINE_S = 60.0
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Placed:
    """A record as the fleet has them."""

    query: str
    node: str
    steps: tuple[str, ...] = ()


PLACED = Shelf("placed", Placed)


class RunningZooKeeper:
    """The server as it runs now: a script may have started it again."""

    def __init__(self) -> None:
        self.server: ZooKeeperServer = server.start(tick_ms=TICK_MS)

    @property
    def address(self) -> str:
        return self.server.address

    def stop(self) -> None:
        self.server.stop()


class World(Protocol):
    """What a script does with either of them."""

    def open(self, who: str, tell: Tell = tell_nobody, timeout_ms: int = TIMEOUT_MS) -> Session: ...

    def until(self, true: Callable[[], object], what: str) -> None:
        """Let time pass until it is so; fail if it never is."""
        ...

    def expire(self, session: Session) -> None:
        """The server gives the session up, and its holder hears of it."""
        ...

    def down(self) -> None:
        """The server is away, and everybody has noticed."""
        ...

    def up(self) -> None: ...

    def close(self) -> None: ...


class MemoryWorld:
    """Everybody's process runs; a virtual step is a tenth of a second."""

    def __init__(self) -> None:
        self.clock = VirtualClock(1_000_000)
        self.tree = MemoryTree(self.clock)
        self.sessions: list[MemorySession] = []

    def open(self, who: str, tell: Tell = tell_nobody, timeout_ms: int = TIMEOUT_MS) -> MemorySession:
        self.sessions.append(self.tree.open(who, timeout_ms, tell))
        return self.sessions[-1]

    def until(self, true: Callable[[], object], what: str) -> None:
        for _ in range(600):
            if true():
                return
            self.clock.advance(100)
            self.tree.expire_due()
            for session in self.sessions:
                session.beat()
        raise AssertionError(f"not within a minute: {what}")

    def expire(self, session: Session) -> None:
        self.tree.give_up(session.name)
        self.until(lambda: session.state is SessionState.OVER, "the holder hears of it")

    def down(self) -> None:
        self.tree.stop()
        self.until(lambda: all(s.state is not SessionState.CONNECTED for s in self.sessions), "everybody has noticed")

    def up(self) -> None:
        self.tree.start()
        self.until(lambda: all(s.state is not SessionState.SUSPENDED for s in self.sessions), "everybody is back")

    def close(self) -> None:
        for session in self.sessions:
            session.close()


class ZooKeeperWorld:
    """A real server, which this script may stop and start; its processes are threads of this one."""

    def __init__(self, running: ZooKeeperServer) -> None:
        self.server = running
        self.sessions: list[ZooKeeperSession] = []

    def open(self, who: str, tell: Tell = tell_nobody, timeout_ms: int = TIMEOUT_MS) -> ZooKeeperSession:
        self.sessions.append(open_session(self.server.address, who, timeout_ms=timeout_ms, tell=tell))
        return self.sessions[-1]

    def until(self, true: Callable[[], object], what: str) -> None:
        wait_until(true, what)

    def expire(self, session: Session) -> None:
        """As everybody does it who tests that: somebody else comes with the same session, and closes it."""
        assert isinstance(session, ZooKeeperSession)
        number, password = session._client.client_id

        def over() -> bool:
            if session.state is SessionState.OVER:
                return True
            closed_elsewhere(self.server.port, number, password)
            return False

        self.until(over, "the holder hears of it")

    def down(self) -> None:
        self.server.kill()
        self.until(lambda: all(s.state is not SessionState.CONNECTED for s in self.sessions), "everybody has noticed")

    def up(self) -> None:
        self.server = server.start(self.server.folder, port=self.server.port, tick_ms=TICK_MS)
        self.until(lambda: all(s.state is not SessionState.SUSPENDED for s in self.sessions), "everybody is back")

    def close(self) -> None:
        for session in self.sessions:
            session.close()


def closed_elsewhere(port: int, number: int, password: bytes) -> None:
    """Come with a session and close it in one breath: a client takes its time, in which the owner takes the session back."""
    greeting = struct.pack("!iqiqi", 0, 0, TIMEOUT_MS, number, len(password)) + password + b"\0"
    close = struct.pack("!ii", 1, -11)  # what ZooKeeper calls closeSession
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as line:
        line.sendall(b"".join(struct.pack("!i", len(said)) + said for said in (greeting, close)))
        line.recv(4096)


def wait_until(true: Callable[[], object], what: str) -> None:
    """Fail if it is not so within a minute."""
    end = time.monotonic() + DEADLINE_S
    while not true():
        if time.monotonic() > end:
            raise AssertionError(f"not within {DEADLINE_S:g} s: {what}")
        time.sleep(0.02)


def heard(ask: Callable[[], T]) -> T | None:
    """The answer; None if none has come."""
    try:
        return ask()
    except Unheard:
        return None


def refused(ask: Callable[[], object]) -> str:
    """With what words; they are one line."""
    try:
        ask()
    except HeadwayError as error:
        assert "\n" not in str(error)
        return str(error)
    raise AssertionError("nobody has refused that")
