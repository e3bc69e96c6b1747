"""How queries end: waited for, stopped between two batches, one alone or all of them."""

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from headway.errors import SettingError, aloud
from headway.model.message import Stood
from headway.spark.plane import Plane
from headway.spark.queries import Queries, stopped

LOOK_S = 0.2


def await_all(queries: Queries, stop: Callable[[], None], timeout_s: float | None) -> bool:
    """Until all have ended: True. False at the timeout. Ctrl-C is answered by `stop`."""
    end = None if timeout_s is None else time.monotonic() + timeout_s
    supervisor = queries.supervisor
    try:
        with _plain_ctrl_c():
            while True:
                if not queries.stopped:
                    supervisor.look()
                if (failed := supervisor.failed()) is not None and failed.error is not None:
                    raise failed.error
                if not supervisor.active:
                    return True
                left_s = LOOK_S if end is None else min(LOOK_S, end - time.monotonic())
                if left_s <= 0:
                    return False
                time.sleep(left_s)
    except KeyboardInterrupt:
        with _plain_ctrl_c():
            stop()
    return True


@dataclass(frozen=True, slots=True)
class DrainOutcome:
    """How a drain has ended: the query is stopped, and its checkpoint free."""

    clean: bool  # between two batches; else its batch was broken off, which Spark makes good at the next start
    stood: Stood | None  # None: it was not at its gate, or it has no gate


def drain(queries: Queries, name: str, limit_ms: int) -> DrainOutcome:
    """Stop one query between two batches; if its batch does not end in time, it is broken off."""
    watched = queries.supervisor.of(name)
    if watched is None:
        raise SettingError("name", name, "a query of this runtime")
    queries.supervisor.let_end(name)
    plane, told = queries.plane, list[Stood]()
    done = plane is None or not watched.query.isActive or plane.drain(limit_ms / 1000, name, told.append)
    if not done:
        aloud(f"query {name!r} is stopped though its batch has not ended within {limit_ms / 1000:g} s")
    errors = stopped({name: watched.query})
    if name not in errors:
        queries.handles.pop(name, None)
        queries.leases.release(name)
        queries.supervisor.ended(name)
    for error in errors.values():
        raise error
    return DrainOutcome(done, told[0] if done and told else None)


def stop(queries: Queries, limit_ms: int) -> None:
    """Stop all queries between two batches, then the controller. Whatever raises, all the rest is stopped, too; then the
    first error is raised."""
    with queries.stopping:
        if queries.stopped:
            return
        queries.supervisor.close()
        plane = queries.plane
        if plane is not None:
            _let_finish(plane, limit_ms)
        errors = stopped(queries.handles)
        for name in queries.handles:
            queries.supervisor.ended(name, errors.get(name))
        queries.stopped = True
        queries.handles.clear()
        steps: list[Callable[[], object]] = [lambda: queries.leases.release_all(but=errors)]
        found = [*errors.values(), *_all_done([*steps, *([] if plane is None else plane.closing)])]
    for error in found:
        raise error


def _let_finish(plane: Plane, limit_ms: int) -> None:
    try:
        if plane.drain(limit_ms / 1000):
            return
        why = f"within {limit_ms / 1000:g} s"
    except KeyboardInterrupt:  # once more: now at once
        why = "before Ctrl-C"
    running = [q.name for q in plane.status().queries if q.state == "in a batch"]
    for name in running:
        aloud(f"query {name!r} is stopped though its batch has not ended {why}")


def _all_done(steps: list[Callable[[], object]]) -> list[Exception]:
    errors = []
    for step in steps:
        try:
            step()
        except Exception as error:
            errors.append(error)
    return errors


@contextlib.contextmanager
def _plain_ctrl_c() -> Iterator[None]:
    """Spark's own handler of Ctrl-C breaks off every running job, and so every batch: not while we stop between two."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
