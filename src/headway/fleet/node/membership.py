"""A node's part in the tree that the whole fleet shares: a session, its name and address for as long as that lives, leases.

What is written down is never the token. When a session is over, its leases are lost, and another session is opened.
"""

import threading
from collections.abc import Callable

from headway.errors import HeadwayError, SettingError, ToldOnce, aloud
from headway.fleet.leases import QueryLeasing
from headway.fleet.registry import NodeRegistration, Registry
from headway.fleet.session import Session, SessionMessage, SessionState, Tell, Unheard

LOOK_S = 1.0
RETRY_S = 1.0


class Membership:
    """Keeps a node in the list of those that are there."""

    def __init__(
        self, connect: Callable[[Tell], Session], root: str, node: NodeRegistration, say: Callable[[str], None] = aloud
    ) -> None:
        self._connect, self._root, self._node, self._told_once = connect, root, node, ToldOnce(say)
        self._over, self._told = threading.Event(), threading.Event()
        self._leasing: QueryLeasing | None = None
        self._thread = threading.Thread(target=self._run, name="headway-membership", daemon=True)

    def start(self) -> None:
        """Raises a HeadwayError if no server answers: what was typed may be wrong."""
        self._begin()
        self._thread.start()

    def stop(self) -> None:
        """At once, the node is on the list no more."""
        self._over.set()
        self._told.set()
        self._thread.join(20)

    def leasing(self) -> QueryLeasing | None:
        """Of the session that there is; None between two."""
        leasing = self._leasing
        return None if leasing is None or leasing.session.state is SessionState.OVER else leasing

    def listed(self) -> dict[str, str]:
        """The addresses of all nodes of the fleet, by name; none between two sessions."""
        leasing = self.leasing()
        if leasing is None:
            return {}
        return {name: node.address for name, node in Registry(leasing.session, self._root).present().items()}

    # ---- the thread

    def _begin(self) -> None:
        self._leasing = QueryLeasing(self._connect(self._heard), self._root)

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                if self._leasing is None:
                    self._begin()
                self._live(self._leasing)
            except HeadwayError as error:
                self._told_once(str(error))
                self._over.wait(RETRY_S)

    def _live(self, leasing: QueryLeasing | None) -> None:
        assert leasing is not None
        session, listed = leasing.session, False
        try:
            while not self._over.is_set() and session.state is not SessionState.OVER:
                listed = listed or self._enter(session)
                self._told.wait(LOOK_S)
                self._told.clear()
            if not self._over.is_set():
                self._told_once(f"node {self._node.name}: its session with ZooKeeper is over, and with it its leases")
        finally:
            self._leasing = None
            session.close()

    def _enter(self, session: Session) -> bool:
        try:
            Registry(session, self._root).enter(self._node)
        except Unheard:
            return False
        except SettingError as error:  # perhaps we ourselves, killed a moment ago
            self._told_once(f"{error}; it is tried again until that one is gone")
            return False
        self._told_once("")
        return True

    def _heard(self, message: SessionMessage) -> None:
        self._told.set()
