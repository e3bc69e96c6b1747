"""The gate of queries with leases: no query begins a batch unless it is sure that its checkpoint is its own."""

import threading
import time
from collections.abc import Callable
from typing import Protocol

from headway.errors import aloud
from headway.lease.port import Lease
from headway.model.offset import ControlOffset

LOOK_S = 0.1


class Opens(Protocol):
    """The gate behind it."""

    def release(self, query: str, offset: ControlOffset) -> bool: ...


class LeaseBook(Protocol):
    """The leases that queries have, whatever they are made of."""

    def of(self, name: str) -> Lease | None:
        """None if the query has no checkpoint, or has given it back."""
        ...


class LeasedGate:
    """A query that is sure of its lease is answered at once; after a freeze or on a slow file system, when it is again."""

    def __init__(self, gate: Opens, leases: LeaseBook, say: Callable[[str], None] = aloud) -> None:
        self._gate, self._leases, self._say = gate, leases, say
        self._lock = threading.Lock()
        self._waiting: dict[str, ControlOffset] = {}

    def release(self, query: str, offset: ControlOffset) -> bool:
        """The controller must not wait for a file system: to it a query that waits here is in a batch."""
        lease = self._leases.of(query)
        with self._lock:
            if query in self._waiting:  # a controller that began anew has decided once more
                self._waiting[query] = offset
                return True
            if lease is None or lease.sure():
                return self._gate.release(query, offset)
            self._waiting[query] = offset
        threading.Thread(target=self._later, args=(query, lease), name="headway-unsure", daemon=True).start()
        return True

    def _later(self, query: str, lease: object) -> None:
        self._say(f"query {query!r}: its batch waits until its lease is renewed")
        while (now := self._leases.of(query)) is lease and now is not None and now.lost is None:
            if now.sure():
                with self._lock:
                    offset = self._waiting.pop(query)
                self._gate.release(query, offset)
                return
            time.sleep(LOOK_S)
        with self._lock:  # lost, which stops the query; or given back by the thread that has stopped it
            self._waiting.pop(query, None)
