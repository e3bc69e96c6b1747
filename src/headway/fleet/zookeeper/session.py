"""A session with ZooKeeper, by kazoo: `headway.fleet.session.Session`.

What kazoo leaves to its users, and is done here: every call is bounded; nothing is queued for a connection that is away; one
client is one session, which is over for good when kazoo says LOST (kazoo itself would open another one in silence, without
what lived by the first); a client is stopped on a thread of ours, because in its own callback that would wait for itself.
And kazoo does not say LOST while no server answers: how long we may be sure is told by our own clock.
"""

import logging
import os
import secrets
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from headway.errors import HeadwayError, SettingError
from headway.fleet.pulse import BEAT, Pulse
from headway.fleet.records import node_name
from headway.fleet.session import (
    NodeChanged,
    SessionChanged,
    SessionOver,
    SessionState,
    Tell,
    Unheard,
    tell_nobody,
)
from headway.fleet.zookeeper.calls import LEAST_CALL_S, KazooCalls
from headway.lease.created import since_boot

TIMEOUT_MS = 10_000
START_S = 15.0
LOG = logging.getLogger("headway.zookeeper")
LOG.addHandler(logging.NullHandler())  # every lost connection would be a warning on the screen: it is told as a message


def open_session(
    hosts: str,
    label: str,
    *,
    timeout_ms: int = TIMEOUT_MS,
    tell: Tell = tell_nobody,
    secret: str | None = None,
    start_s: float = START_S,
) -> "ZooKeeperSession":
    """Open a session with one of the `hosts`, `host:port,host:port`.

    `tell` is called on threads of the connection: it may post what it is told, and must do nothing else. With a `secret`,
    `user:password`, no session without it can read or change what this session makes. The server may grant another timeout
    than the one that is asked for; it is the session's.
    """
    asked_at = since_boot()
    client = _client(hosts, timeout_ms, secret)
    granted = _granted(client)
    session = ZooKeeperSession(client, f"{node_name(label)}-{secrets.token_hex(6)}", tell)
    client.add_listener(session.heard)
    try:
        client.start(timeout=start_s)
        if not granted.known.wait(start_s):
            raise Unheard("ZooKeeper has broken off the first connection")
    except client.handler.timeout_exception:
        want = f"a server that answers within {start_s:g} s: `headway zookeeper up` starts one"
        raise SettingError("zookeeper", hosts, want) from None
    except BaseException:  # Ctrl-C, too: what was opened is closed
        session.close()
        raise
    session.begin(Pulse.born(granted.timeout_s, asked_at), granted.session_id)
    return session


def named_here(role: str) -> str:
    """Who we are, for people: which process on which host."""
    return f"{role} of process {os.getpid()} on {socket.gethostname()}"


def _client(hosts: str, timeout_ms: int, secret: str | None) -> Any:
    """A client that tries again quickly."""
    try:
        from kazoo.client import KazooClient
        from kazoo.retry import KazooRetry
        from kazoo.security import make_digest_acl
    except ImportError:
        raise HeadwayError("kazoo is missing: pip install 'headway[fleet]' brings it") from None
    more: dict[str, Any] = {}
    if secret is not None:
        user, _, password = secret.partition(":")
        if not (user and password):
            raise SettingError("secret", "...", "user:password")
        more = {"auth_data": [("digest", secret)], "default_acl": [make_digest_acl(user, password, all=True)]}
    # Left alone, kazoo doubles its pauses up to an hour: a server that was away for 10 s would be missed for 10 more.
    retry = KazooRetry(max_tries=-1, delay=0.05, backoff=2, max_delay=min(0.5, timeout_ms / 4_000))
    try:
        return KazooClient(_thrice(hosts), timeout_ms / 1000, connection_retry=retry, logger=LOG, **more)
    except ValueError:
        raise SettingError("zookeeper", hosts, "host:port, or several with commas between them") from None


def _thrice(hosts: str) -> str:
    """kazoo waits for the first answer of a server for the session timeout / the number of servers.

    One that has just begun may forget a session that came too early: of a single server, the session would be given up
    meanwhile.
    """
    listed, slash, chroot = hosts.partition("/")
    times = -(-3 // (listed.count(",") + 1))
    return ",".join([listed] * times) + slash + chroot


@dataclass(slots=True)
class Granted:
    """What the server has said when it opened the session."""

    timeout_s: float = 0.0
    session_id: int = 0
    known: threading.Event = field(default_factory=threading.Event)


def _granted(client: Any) -> Granted:
    """kazoo keeps it to itself. A server that grants less than was asked for would give a session up before we think so."""
    connection, granted = client._connection, Granted()
    connect = connection._connect

    def connected(*arguments: Any) -> Any:
        read_timeout, connect_timeout = connect(*arguments)
        if not granted.known.is_set():
            granted.timeout_s = read_timeout * 1.5 / 1000  # kazoo waits for two thirds of it for an answer
            granted.session_id = client._session_id
            granted.known.set()
        return read_timeout, connect_timeout

    connection._connect = connected
    return granted


class ZooKeeperSession(KazooCalls):
    """One client of kazoo, for one session. Calls may come from any thread but the client's own."""

    def __init__(self, client: Any, name: str, tell: Tell) -> None:
        super().__init__(client)
        self.name, self.timeout_ms = name, 0
        self.state, self.breaks = SessionState.CONNECTED, 0
        self._tell, self._pulse = tell, Pulse.born(0.0, 0.0)
        self._chores: list[Callable[[], None]] = []
        self._ending, self._closing = threading.Event(), threading.Lock()

    def __enter__(self) -> "ZooKeeperSession":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def begin(self, pulse: Pulse, session_id: int) -> None:
        """It is there, with this timeout: keep it alive."""
        self._pulse, self._session_id = pulse, session_id
        self.timeout_ms = round(pulse.timeout_s * 1000)
        self._call_s = max(LEAST_CALL_S, pulse.timeout_s / 2)
        threading.Thread(target=self._beats, name="headway-zookeeper", daemon=True).start()

    def heard(self, state: str) -> None:
        """kazoo's listener: on the thread of the connection, which must not wait for anything."""
        if self.state is SessionState.OVER:
            return  # what kazoo connects now is another session, which was not asked for
        if state == "LOST":
            self._become(SessionState.OVER)
            threading.Thread(target=self.close, name="headway-zookeeper-end", daemon=True).start()
        elif state == "SUSPENDED":
            self.breaks += 1
            self._become(SessionState.SUSPENDED)
        elif self.state is SessionState.SUSPENDED:
            self._become(SessionState.CONNECTED)

    def check(self) -> None:
        if self.state is SessionState.OVER:
            raise SessionOver(f"the session of {self.name} with ZooKeeper is over")
        if self.state is SessionState.SUSPENDED:
            raise Unheard(f"the session of {self.name} with ZooKeeper is suspended")

    def changed(self, path: str) -> None:
        self._tell(NodeChanged(self.name, path))

    def sure(self) -> bool:
        return self.state is not SessionState.OVER and since_boot() < self._pulse.until

    def on_beat(self, chore: Callable[[], None]) -> None:
        self._chores.append(chore)

    def close(self) -> None:
        with self._closing:
            if not self._ending.is_set():
                self._ending.set()
                try:
                    self._client.stop()  # says LOST, if it has not been said
                finally:
                    self._client.close()

    def _beats(self) -> None:
        while not self._ending.wait(self._pulse.timeout_s * BEAT):
            sent = since_boot()
            try:
                self.sync()
                self._pulse = self._pulse.answered(sent)
                for chore in self._chores:
                    chore()
            except HeadwayError:  # suspended, or over; whatever it is, the next beat is due
                continue

    def _become(self, state: SessionState) -> None:
        self.state = state
        self._tell(SessionChanged(self.name, state))
