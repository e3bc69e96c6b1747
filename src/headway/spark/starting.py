"""Starting a query: its checkpoint is leased, and it is tied to its line at the gate.

Lines of the Java source say whose they are, so any number of queries may start at once. Those of the Python source do not:
there one query starts after another, and the next line that calls is taken for its own.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from headway.errors import HeadwayError, SettingError
from headway.model.line import Incarnation, LineId
from headway.model.message import QuerySpec
from headway.spark.channel.gate import Gate
from headway.spark.lease import Leases
from headway.spark.writer import option_of

START_TIMEOUT_S = 120


class Starting:
    """Starts the queries of one runtime."""

    def __init__(self, gate: Gate, leases: Leases, queries: dict[str, Any], nameless: bool) -> None:
        """`queries` has those that were started, by name; `nameless` says that lines do not tell whose they are."""
        self._gate, self._leases, self._queries, self._nameless = gate, leases, queries, nameless
        self._lock, self._one_by_one = threading.Lock(), threading.Lock()
        self._names: set[str] = set()

    def start(
        self,
        writer: Any,
        spec: QuerySpec,
        prepared: Callable[[QuerySpec, str | None], QuerySpec],
        begin: Callable[[], Any],
    ) -> Any:
        """`prepared` is called when the checkpoint is ours, and says what becomes of `spec` by what is in it; `begin` starts
        Spark's own query."""
        place = option_of(writer, "checkpointLocation")
        with self._named(spec.name), self._one_by_one if self._nameless else contextlib.nullcontext():
            lease = None if place is None else self._leases.acquire(place, spec.name)
            query = None
            try:
                spec = prepared(spec, place)
                called = self._gate.expect(spec, self._nameless)
                self._queries[spec.name] = query = begin()
                if lease is not None:
                    self._leases.hold(spec.name, lease, query)
                life = Incarnation(str(query.runId), None if lease is None else lease.lease.token)
                self._gate.tie(spec.name, LineId(str(query.id), place, life))
                _await_call(query, called, spec.name)
            except BaseException:
                self._gate.give_up(spec.name)
                if query is not None:
                    with contextlib.suppress(Exception):
                        query.stop()
                if lease is not None:
                    lease.release()
                raise
            return query

    @contextlib.contextmanager
    def _named(self, name: str) -> Iterator[None]:
        """No two queries of one name, nor two that are about to be."""
        with self._lock:
            known = self._queries.get(name)
            if name in self._names or (known is not None and known.isActive):
                raise SettingError("name", name, "a name that no running query of this runtime has")
            self._names.add(name)
        try:
            yield
        finally:
            with self._lock:
                self._names.discard(name)


def _await_call(query: Any, called: threading.Event, name: str) -> None:
    """A query that cannot begin says so here, and not only when its error is asked for."""
    end = time.monotonic() + START_TIMEOUT_S
    while not called.wait(0.2):
        if (error := query.exception()) is not None:
            raise error
        if not query.isActive or time.monotonic() > end:
            raise HeadwayError(f"query {name!r}: its control source did not call within {START_TIMEOUT_S} s")
