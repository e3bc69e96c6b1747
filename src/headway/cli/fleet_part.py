"""What `headway node` has more of in a fleet: leases on queries, and its name where orchestrators look."""

from pathlib import Path
from typing import Any

from headway.errors import HeadwayError, SettingError
from headway.fleet.leases import QueryLeasing
from headway.fleet.node.held import HeldLeases, MemberLeasing
from headway.fleet.node.host import QueryHost
from headway.fleet.node.member import MemberHost
from headway.fleet.node.membership import Membership
from headway.fleet.registry import NodeRegistration
from headway.fleet.session import Session, Tell
from headway.fleet.zookeeper.session import named_here, open_session
from headway.lease.port import Leasing

ROOT = "/headway"


class FleetPart:
    """A node's part in its fleet; none where no ZooKeeper was named."""

    def __init__(self, name: str, zookeeper: str | None, root: str, secret: str | None, session_ms: int) -> None:
        self._name, self._zookeeper, self._root = name, zookeeper, place("root", root)
        self._secret, self._session_ms = secret, session_ms
        self._membership: Membership | None = None
        self._held = HeldLeases(self._leasing, name)

    def leasing(self, spark: Any) -> Leasing | None:
        """For the runtime; None: as it is without a fleet."""
        from headway.spark.lease import SessionLeasing

        return None if self._zookeeper is None else MemberLeasing(SessionLeasing(spark), self._held)

    def host(self, host: QueryHost) -> QueryHost:
        return host if self._zookeeper is None else MemberHost(host, self._held)

    def begin(self, address: str, cores: int) -> None:
        """From now on it is among the nodes of the fleet. Raises a HeadwayError if no ZooKeeper answers."""
        if self._zookeeper is not None:
            self._membership = Membership(self._connect, self._root, NodeRegistration(self._name, address, cores=cores))
            self._membership.start()

    def listed(self) -> dict[str, str]:
        """The addresses of all nodes of the fleet, by name."""
        return {} if self._membership is None else self._membership.listed()

    def __enter__(self) -> "FleetPart":
        return self

    def __exit__(self, *error: object) -> None:
        """When its queries have ended: they had their leases until then."""
        if self._membership is not None:
            self._membership.stop()

    def _leasing(self) -> QueryLeasing | None:
        return None if self._membership is None else self._membership.leasing()

    def _connect(self, tell: Tell) -> Session:
        return connected(self._zookeeper or "", f"node {self._name}", tell, self._secret, self._session_ms)


def connected(zookeeper: str, label: str, tell: Tell, secret: str | None, session_ms: int) -> Session:
    """A session with ZooKeeper, for a process that takes part in a fleet."""
    return open_session(zookeeper, named_here(label), timeout_ms=session_ms, tell=tell, secret=secret)


def place(key: str, path: str) -> str:
    """The node of the tree under which a fleet has all of its own."""
    if not path.startswith("/") or path.endswith("/") or "//" in path:
        raise SettingError(key, path, "a path such as '/headway'")
    return path


def secret_in(key: str, file: Path | None) -> str | None:
    """The first word of a file that only its owner should read."""
    if file is None:
        return None
    try:
        found = file.read_text("utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(key, str(file), f"a file with a secret in it: {type(error).__name__}") from None
    if len(found) != 1:
        raise HeadwayError(f"{key} = {str(file)!r}: expected a file with one word in it")
    return found[0]
