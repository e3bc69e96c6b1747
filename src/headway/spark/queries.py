"""The queries of a runtime, as Spark knows them: their leases, and what looks after them."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from headway.errors import HeadwayError, QueryFailed, aloud
from headway.loop.trouble import says
from headway.model.message import Failed
from headway.model.secrets import without_secrets
from headway.spark.batches import LongBatches, Run
from headway.spark.lease import Leases
from headway.spark.plane import Plane
from headway.spark.supervisor import Supervisor

STOP_S = 30.0  # for Spark to stop a query; a function of the user's that does not return keeps it


class Queries:
    """All that were started and have not been stopped, by name."""

    def __init__(self, spark: Any, handles: dict[str, Any], leases: Leases, plane: Plane | None, hang_after_ms: int) -> None:
        """`handles` are Spark's own; without a `plane` there is no gate, and nothing to tell."""
        self.handles, self.leases, self.plane = handles, leases, plane
        self.stopping, self.stopped = threading.RLock(), False  # the runtime, with all of them
        self._batches: LongBatches | None = None
        if plane is None:
            self.supervisor = Supervisor(lambda message: None, lambda watched: None)
        else:
            self._batches = LongBatches(spark, plane.status, plane.post, plane.note, hang_after_ms)
            self.supervisor = Supervisor(plane.post, self._batches, turned=plane.turned)
            plane.on_end = self.supervisor.stirred.set

    @property
    def hanging(self) -> Mapping[Run, str]:
        """Batches that run for too long, and where they are."""
        return {} if self._batches is None else self._batches.hanging

    def begun(self, name: str, begin: Callable[[], Any], restart: int) -> Any:
        """A query that is begun, and begun the same way again if it fails."""
        query = begin()
        self.supervisor.watch(name, query, begin if restart else None, restart)
        return query

    def lost(self, name: str, why: str) -> None:
        """Another process runs this query from this checkpoint. It is not started again: it would be refused."""
        error = QueryFailed(f"query {name!r} is stopped: {why}")
        aloud(str(error))
        if self.plane is not None:
            self.plane.note(name, str(error))
        self.supervisor.let_end(name)
        self.supervisor.ended(name, error)
        if self.plane is not None:
            self.plane.post(Failed(name, says(error)))
        if (query := self.handles.get(name)) is not None:
            for trouble in stopped({name: query}).values():
                aloud(without_secrets(str(trouble)))


def stopped(queries: Mapping[str, Any]) -> dict[str, Exception]:
    """Stop queries, all at the same time: one that cannot be stopped must not keep the rest. Returns what went wrong."""
    errors: dict[str, Exception] = {}

    def stop_one(name: str, query: Any) -> None:
        try:
            if query.isActive:
                query.stop()
        except Exception as error:
            errors[name] = error

    threads = {n: threading.Thread(target=stop_one, args=(n, q), daemon=True) for n, q in queries.items()}
    for thread in threads.values():
        thread.start()
    end = time.monotonic() + STOP_S
    for name, thread in threads.items():
        thread.join(max(0.0, end - time.monotonic()))
        if thread.is_alive():
            text = f"query {name!r} does not stop: the user's code in its batch has not returned for {STOP_S:g} s"
            errors.setdefault(name, HeadwayError(text))
    return errors
