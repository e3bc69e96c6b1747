"""The leases that a node holds on queries, in the tree that the whole fleet shares, and what a runtime makes of them."""

import threading
from collections.abc import Callable
from contextlib import suppress

from headway.errors import HeadwayError, SettingError, aloud
from headway.fleet.leases import QueryLease, QueryLeasing
from headway.fleet.moves.record import folder_of
from headway.fleet.node.host import Declined
from headway.fleet.session import Unheard
from headway.lease.joint import JointLease
from headway.lease.port import Lease, Leasing


class HeldLeases:
    """By query, one at most, each under an epoch. For any thread; those about one query come one after the other."""

    def __init__(self, leasing: Callable[[], QueryLeasing | None], node: str, say: Callable[[str], None] = aloud) -> None:
        """`leasing` gives those of the session that the node has now; None while it has none."""
        self._leasing, self._node, self._say = leasing, node, say
        self._lock = threading.Lock()
        self._held: dict[str, tuple[int, QueryLease]] = {}

    def take(self, query: str, epoch: int) -> None:
        """Raises a HeadwayError that names the process that has it. Twice is once, as long as it is not lost."""
        leasing = self._leasing()
        if leasing is None:
            raise Declined(f"node {self._node} has no session with ZooKeeper, and takes no query without one")
        lease = leasing.take(query, self._node, epoch)
        with self._lock:
            self._held[query] = epoch, lease

    def give_back(self, query: str, epoch: int) -> None:
        """So that it may run elsewhere. What cannot be said to the tree is said with a later sign of life, or by its end."""
        with self._lock:
            known = self._held.get(query)
            if known is None or known[0] != epoch:
                return
            del self._held[query]
        try:
            known[1].release()
        except HeadwayError as error:
            self._say(f"the lease of query {query!r} is given back later: {error}")

    def under(self, checkpoint: str) -> Lease:
        """The lease on the query whose incarnation has this checkpoint."""
        with self._lock:
            held = dict(self._held)
        for query, (epoch, lease) in held.items():
            if checkpoint.rstrip("/").endswith(f"/{folder_of(query, epoch)}"):
                return self._still(query, lease)
        raise SettingError("checkpoint", checkpoint, "one of a query that this node has taken over")

    def _still(self, query: str, lease: QueryLease) -> QueryLease:
        """A node that was frozen since it took the query over must not begin to run it."""
        if not lease.sure():
            with suppress(Unheard):  # then the gate waits until it is sure
                lease.renew()
        if lease.lost is not None:
            raise Declined(f"the lease of query {query!r} is lost: {lease.lost} has it")
        return lease

    @property
    def epochs(self) -> dict[str, int]:
        """By query."""
        with self._lock:
            return {query: epoch for query, (epoch, _) in self._held.items()}


class MemberLeasing:
    """Leases for the runtime of a node in a fleet: no batch begins unless the node is sure of the query's lease, too."""

    def __init__(self, own: Leasing, held: HeldLeases) -> None:
        self._own, self._held = own, held

    def acquire(self, checkpoint: str, holder: str) -> Lease:
        above = self._held.under(checkpoint)
        return JointLease(self._own.acquire(checkpoint, holder), above)
