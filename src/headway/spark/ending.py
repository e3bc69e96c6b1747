"""How queries end: waited for, stopped between two batches, one alone or all of them."""

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from headway.errors import HeadwayError, SettingError, aloud
from headway.model.time import duration_ms

LOOK_S = 0.2
STOP_S = 30.0  # for Spark to stop a query; a function of the user's that does not return keeps it


def await_termination(runtime: Any, timeout_s: float | None = None) -> bool:
    """Wait until all queries have ended: True. False at the timeout. The error of one that has failed is raised, whenever
    it did; one that is to be started again has not. Ctrl-C stops all of them, between two batches."""
    end = None if timeout_s is None else time.monotonic() + timeout_s
    supervisor = runtime._supervisor
    try:
        with _plain_ctrl_c():
            while True:
                if not runtime._stopped:
                    supervisor.look()
                if (failed := supervisor.failed()) is not None:
                    raise failed.error
                if not supervisor.active:
                    return True
                left_s = LOOK_S if end is None else min(LOOK_S, end - time.monotonic())
                if left_s <= 0:
                    return False
                time.sleep(left_s)
    except KeyboardInterrupt:
        with _plain_ctrl_c():
            runtime.stop()
    return True


def drain(runtime: Any, name: str, timeout: str | int = "1 minute") -> bool:
    """Stop one query between two batches; its checkpoint is free when this returns. False if its batch did not end in time
    and was broken off, which Spark makes good at the next start."""
    limit_ms = duration_ms("timeout", timeout)
    watched = runtime._supervisor.of(name)
    if watched is None:
        raise SettingError("name", name, "a query of this runtime")
    runtime._supervisor.let_end(name)
    done = not (runtime.order.gated and watched.query.isActive) or runtime._supervision.drain(limit_ms / 1000, name)
    if not done:
        aloud(f"query {name!r} is stopped though its batch has not ended within {limit_ms / 1000:g} s")
    errors = stopped({name: watched.query})
    if name not in errors:
        runtime._queries.pop(name, None)
        runtime._leases.release(name)
        runtime._supervisor.ended(name)
    for error in errors.values():
        raise error
    return done


def stop(runtime: Any, timeout: str | int = "1 minute") -> None:
    """Stop all queries between two batches, then the controller. Nothing is lost: checkpoints stay as they are.

    Batches that run get `timeout` to end; those that do not are named on standard error and broken off. Whatever raises, all
    the rest is stopped, too; then the first error is raised.
    """
    limit_ms = duration_ms("timeout", timeout)
    with runtime._stopping:
        if runtime._stopped:
            return
        runtime._supervisor.close()
        if runtime.order.gated:
            _let_finish(runtime, limit_ms)
        errors = stopped(runtime._queries)
        for name in runtime._queries:
            runtime._supervisor.ended(name, errors.get(name))
        runtime._stopped = True
        runtime._queries.clear()
        steps: list[Callable[[], object]] = [lambda: runtime._leases.release_all(but=errors)]
        found = [*errors.values(), *_all_done([*steps, *(_closing(runtime) if runtime.order.gated else ())])]
    for error in found:
        raise error


def _let_finish(runtime: Any, limit_ms: int) -> None:
    try:
        if runtime._supervision.drain(limit_ms / 1000):
            return
        why = f"within {limit_ms / 1000:g} s"
    except KeyboardInterrupt:  # once more: now at once
        why = "before Ctrl-C"
    running = [q.name for q in runtime._supervision.status().queries if q.state == "in a batch"]
    for name in running:
        aloud(f"query {name!r} is stopped though its batch has not ended {why}")


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


def _closing(runtime: Any) -> list[Callable[[], object]]:
    """What is closed when the queries have ended, one after the other."""
    learning = runtime._learning
    return [
        runtime._supervision.stop, runtime._gate.close, lambda: learning.shutdown(cancel_futures=True), runtime._watch.close,
        runtime._journal.close,
    ]  # fmt: skip


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
