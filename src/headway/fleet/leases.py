"""Leases of queries in the tree that all share: of all processes that ask for one, one gets it, with a token that grows.

A lease is a lasting node with the last token that was given out, and below it one that lives by its holder's session.
A process that asks either makes that one, in the same transaction that raises the token, or is refused: none waits in a
line, so none can be left behind in one.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from headway.errors import SettingError
from headway.fleet.records import Shelf, dumps, loads, node_name
from headway.fleet.session import (
    CheckNode,
    Committed,
    DropNode,
    MakeNode,
    Rejected,
    Session,
    SessionOver,
    SessionState,
    SetNode,
    TreeNode,
    TreeStep,
    Unheard,
)

LOOK_S = 0.1  # between two looks at a lease that is waited for
TRIES = 5  # against others that are faster: each time, one of them has got it
NEXT_HOLDER = "the next holder"


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """The last token of a query that was given out, and which process has it."""

    token: int
    holder: str


LEASES = Shelf("leases", LeaseRecord)


class QueryLease:
    """The right to run a query, for as long as its holder's session lives and it is not given back."""

    def __init__(self, leasing: "QueryLeasing", query: str, token: int, holder: str, version: int) -> None:
        """`version` is that of the lasting node since the token is in it."""
        self._leasing, self.query, self.holder = leasing, query, holder
        self.token: int | None = token
        self.version = version
        self.renew_every_s: float | None = leasing.session.timeout_ms / 3_000
        self.lost: str | None = None
        self._over = False

    def sure(self) -> bool:
        return not self._over and self.lost is None and self._leasing.session.sure()

    def renew(self) -> None:
        """The session gives the signs of life; here we look whether another process has taken over."""
        if self._over or self.lost is not None:
            return
        try:
            instead = self._leasing.instead_of(self)
        except SessionOver:
            instead = NEXT_HOLDER
        if not self._over and instead is not None:
            self.lost = instead

    def release(self) -> None:
        if not self._over:
            self._over = True  # we stop believing it before another process may
            self._leasing.give_back(self)


class QueryLeasing:
    """Gives leases to one session's holder; there is one for each session. `headway.lease.port.Leasing`."""

    def __init__(
        self,
        session: Session,
        root: str,
        *,
        query_of: Callable[[str], str] = str,
        wait_s: float = 0.0,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """`query_of` names the query that a checkpoint belongs to, if others of its checkpoints are to be kept free, too.

        A process that asks is refused at once, or waits for `wait_s`: a holder that was killed has its lease until its
        session is given up.
        """
        self.session, self._folder = session, f"{root}/leases"
        self._query_of, self._wait_s, self._pause = query_of, wait_s, pause
        self._lock = threading.RLock()
        self._live: dict[str, QueryLease] = {}
        self._owed: set[str] = set()  # queries of which we may have a node without a lease here
        session.on_beat(self.settle)

    def acquire(self, checkpoint: str, holder: str) -> QueryLease:
        return self.take(self._query_of(checkpoint), holder, named=("checkpoint", checkpoint))

    def take(self, query: str, holder: str, token: int | None = None, named: tuple[str, str] | None = None) -> QueryLease:
        """A `token` that was given out elsewhere must be greater than the last; asked for twice, it is the same lease."""
        key, value = named or ("query", query)
        got = self._try(query, holder, token)
        for _ in range(round(self._wait_s / LOOK_S)):
            if isinstance(got, QueryLease):
                break
            self._pause(LOOK_S)
            got = self._try(query, holder, token)
        if isinstance(got, QueryLease):
            return got
        raise SettingError(key, value, f"one that no running query uses; {got} uses it")

    def instead_of(self, lease: QueryLease) -> str | None:
        """Which process has it instead; None if it is still ours."""
        base, held = self._read(lease.query)
        last = None if base is None else loads(LEASES, base.text, self._path(lease.query))[0]
        if held is not None and held.own and last is not None and last.token == lease.token:
            return None
        return held.text if held is not None and not held.own else NEXT_HOLDER

    def give_back(self, lease: QueryLease) -> None:
        """Raises `Unheard` if no answer comes; it is done with the next beat then, or by the end of the session."""
        with self._lock:
            if self._live.get(lease.query) is lease:
                del self._live[lease.query]
                self._owed.add(lease.query)
                if self.session.state is not SessionState.OVER and self._dropped(lease):
                    self._owed.discard(lease.query)
            self.settle()

    def settle(self) -> None:
        """Remove what may have been left of leases that are no longer held here."""
        with self._lock:
            if self.session.state is SessionState.OVER:
                self._owed.clear()  # gone with it
            for query in sorted(self._owed):
                if query not in self._live:
                    _, held = self._read(query)
                    if held is not None and held.own:
                        self.session.commit(DropNode(self._held(query), held.version))
                self._owed.discard(query)

    def _dropped(self, lease: QueryLease) -> bool:
        """At one stroke, and without looking first: if no process has raised the token since, the other node is this
        lease's."""
        steps = CheckNode(self._path(lease.query), lease.version), DropNode(self._held(lease.query), 0)
        return isinstance(self.session.commit(*steps), Committed)

    def _try(self, query: str, holder: str, token: int | None) -> QueryLease | str:
        """The lease, or the name of the process that has it."""
        with self._lock:
            live = self._live.get(query)
            if live is not None and live.lost is None and self.session.state is not SessionState.OVER:
                return live if token is not None and token == live.token else live.holder
            self._owed.add(query)  # until we know better: an answer may be lost
            for _ in range(TRIES):
                base, held = self._read(query)
                if held is not None and not held.own:
                    self._owed.discard(query)
                    return held.text
                last = 0 if base is None else loads(LEASES, base.text, self._path(query))[0].token
                if token is not None and token <= last:
                    raise SettingError("token", token, f"more than {last}, which {query!r} has had already")
                new = last + 1 if token is None else token
                done = self._commit(query, LeaseRecord(new, holder), base, held)
                if isinstance(done, Committed):
                    if not self.session.sure():
                        raise Unheard("nothing has been heard for too long to be sure of a lease")
                    self._live[query] = lease = QueryLease(self, query, new, holder, done.versions[0])
                    self._owed.discard(query)
                    return lease
            return NEXT_HOLDER

    def _commit(self, query: str, record: LeaseRecord, base: TreeNode | None, held: TreeNode | None) -> Committed | Rejected:
        text = dumps(LEASES, record)
        steps: list[TreeStep] = []
        if base is None:
            self.session.ensure(self._folder)
            steps.append(MakeNode(self._path(query), text))
        else:
            steps.append(SetNode(self._path(query), text, base.version))
        if held is not None:  # ours, of a lease that is no longer held here
            steps.append(DropNode(self._held(query), held.version))
        steps.append(MakeNode(self._held(query), record.holder, "session"))
        return self.session.commit(*steps)

    def _read(self, query: str) -> tuple[TreeNode | None, TreeNode | None]:
        base, held = self.session.read_all([self._path(query), self._held(query)])
        return base, held

    def _path(self, query: str) -> str:
        return f"{self._folder}/{node_name(query)}"

    def _held(self, query: str) -> str:
        return f"{self._path(query)}/held"
