"""A host's session with the store, as its client library keeps it: signs of life, and being sure or not."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from headway.sim.fleet_faults.network import Host, Network
from headway.sim.fleet_faults.store import ModelStore

PING_MS = 500
SURE_MS = 2_600  # of the 4,000 after which the store gives a session up: two thirds
STORE = "store"
T = TypeVar("T")


class SessionOwner(Protocol):
    """What is told of the session."""

    def session_begins(self) -> None: ...

    def session_ends(self) -> None:
        """The store has given it up, and with it all leases."""
        ...

    def session_lives(self, leader: int) -> None:
        """A sign of life was answered; the number of the election that was won, or 0."""
        ...


class StoreClient:
    """One at a time; a new one is opened when the store has given up the last."""

    def __init__(self, host: Host, node: bool, store: ModelStore, network: Network, owner: SessionOwner) -> None:
        self._host, self._node, self._store, self._network, self._owner = host, node, store, network, owner
        self.number: int | None = None
        self.resigned: int | None = None
        self._opened_at = -SURE_MS
        self._answered_at = -SURE_MS  # when the last sign of life that was answered was sent, by our own clock

    def start(self) -> None:
        """After the host has begun: what another process had is not ours."""
        self.number, self.resigned, self._answered_at, self._opened_at = None, None, -SURE_MS, -SURE_MS
        self._beat()

    @property
    def sure(self) -> bool:
        """The store cannot have given the session up. Asks nothing but our own clock."""
        return self.number is not None and self._host.now() - self._answered_at < SURE_MS

    def call(self, operation: Callable[[], T], answer: Callable[[T], None]) -> None:
        """Over the session's connection: in order; request or answer may be lost, and then there is no answer."""
        host, boot, number = self._host, self._host.boot, self.number

        def back(value: T) -> None:
            if self.number == number:
                answer(value)

        def done() -> None:
            if self._store.away:
                return
            value = operation()
            self._network.send_in_order(STORE, host.name, lambda: host.run(boot, lambda: back(value)))

        self._network.send_in_order(host.name, STORE, done)

    def _beat(self) -> None:
        self._host.later(PING_MS, self._beat)
        sent = self._host.now()
        if self.number is None:
            if sent - self._opened_at < SURE_MS:
                return
            self._opened_at = sent
            self.call(lambda: self._store.open(self._host.name, self._node), lambda number: self._opened(number, sent))
        else:
            number, resigned = self.number, self.resigned
            self.call(lambda: self._store.ping(number, resigned), lambda leader: self._pinged(leader, sent))

    def _opened(self, number: int, sent: int) -> None:
        self.number, self._answered_at = number, sent
        self._owner.session_begins()

    def _pinged(self, leader: int | None, sent: int) -> None:
        if leader is None:
            self.number = None
            self._owner.session_ends()
        else:
            self._answered_at = max(self._answered_at, sent)
            self._owner.session_lives(leader)
