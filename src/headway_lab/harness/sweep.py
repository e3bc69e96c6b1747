"""Runs that need no order between them, several at once."""

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

Asked = TypeVar("Asked")
Got = TypeVar("Got")


def swept(run: Callable[[Asked], Got], tasks: Sequence[Asked], jobs: int) -> Iterator[tuple[Asked, Got]]:
    """Run all tasks, `jobs` at once; results come in the order of the tasks. `run` is a function of a module."""
    if jobs == 1:
        yield from ((task, run(task)) for task in tasks)
        return
    with ProcessPoolExecutor(jobs, initializer=_leave_with_parent) as pool:
        try:
            yield from zip(tasks, pool.map(run, tasks), strict=True)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _leave_with_parent() -> None:
    """A worker whose parent was killed would wait for work for ever."""
    threading.Thread(target=_leave_after, args=(multiprocessing.parent_process(),), daemon=True).start()


def _leave_after(parent: multiprocessing.process.BaseProcess | None) -> None:
    if parent is not None:
        parent.join()
        os._exit(1)
