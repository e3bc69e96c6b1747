"""Looks into batches that run for long: one that keeps no core busy lends its slot, one that hangs is named."""

import sys
import time
import traceback
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

from headway.errors import aloud
from headway.model.message import Message, Resumed, Stalled
from headway.model.status import QueryStatus, RuntimeStatus
from headway.model.time import WallMs
from headway.spark.supervisor import Watched

IDLE_MS = 2_000  # without a job for so long, a batch keeps no core busy
JVM_LINES = 40  # of a stack
Run = tuple[str, WallMs]  # a batch: its query, and when it was let through


class LongBatches:
    """Batches that have run for longer than two seconds, looked at once a second."""

    def __init__(
        self,
        spark: Any,
        status: Callable[[], RuntimeStatus],
        tell: Callable[[Message], None],
        note: Callable[[str, str], None],
        hang_after_ms: int,
        say: Callable[[str], None] = aloud,
    ) -> None:
        self._spark, self._status, self._tell, self._note, self._say = spark, status, tell, note, say
        self._hang_after_ms = hang_after_ms
        self._idle: dict[Run, tuple[float, str]] = {}  # since when without a job, and the jobs that it had by then
        self.hanging: dict[Run, str] = {}  # where they are

    def __call__(self, watched: list[Watched]) -> None:
        queries = {w.name: w.query for w in watched if w.state is None}
        told = self._status() if queries else None
        now = WallMs(0) if told is None else told.at
        running = () if told is None else (q for q in told.queries if q.state == "in a batch" and q.name in queries)
        long = [q for q in running if now - q.since >= IDLE_MS]
        runs = {(q.name, q.since) for q in long}
        self._idle = {run: seen for run, seen in self._idle.items() if run in runs}
        self.hanging = {run: text for run, text in self.hanging.items() if run in runs}
        if not long:
            return
        tracker, arrays = self._spark.sparkContext._jsc.statusTracker(), self._spark._jvm.java.util.Arrays
        active = _numbers(arrays.toString(tracker.getActiveJobIds()))
        for q in long:
            # Streaming runs the jobs of a query in a group that is named after the run.
            jobs = arrays.toString(tracker.getJobIdsForGroup(str(queries[q.name].runId)))
            self._jobs(q, jobs, bool(active & _numbers(jobs)))
            if now - q.since >= self._hang_after_ms and (q.name, q.since) not in self.hanging:
                self._hangs(q, queries[q.name], now)

    def _jobs(self, q: QueryStatus, jobs: str, busy: bool) -> None:
        run, now = (q.name, q.since), time.monotonic()
        since, known = self._idle.get(run, (now, jobs))
        if busy or jobs != known:  # a job that came and went between two looks counts too
            since = now
            if q.stalled:
                self._tell(Resumed(q.name))
        elif now - since >= IDLE_MS / 1000 and not q.stalled:
            self._tell(Stalled(q.name, q.since))
        self._idle[run] = since, jobs

    def _hangs(self, q: QueryStatus, query: Any, now: WallMs) -> None:
        if not query.status["isTriggerActive"]:  # between two ticks of its own trigger
            return
        text = where(query)
        self.hanging[q.name, q.since] = text
        what = f"its batch has run for {(now - q.since) // 1000} s"
        self._note(q.name, f"{what} and is here:\n{text}")
        self._say(f"query {q.name!r}: {what} and is here:\n{text}")


def _numbers(text: str) -> set[int]:
    """Of an array as Java prints it: one call instead of one for each."""
    return {int(number) for number in text.strip("[]").split(",") if number.strip()}


def where(query: Any) -> str:
    """Where a query's batch is: the stack of its thread in the JVM, and in Python if it waits for the user's function."""
    run = query._jsq.streamingQuery()
    stack = [str(line.toString()) for line in run.queryExecutionThread().getStackTrace()]
    text = [f"  {line}" for line in stack[:JVM_LINES]]
    if any("PythonForeachBatch" in line for line in stack):
        text += ["in Python:", *(line.rstrip() for line in _python(run.sparkSessionForStream()))]
    return "\n".join(text)


def _python(session: Any) -> Iterable[str]:
    """The frames of the thread that runs the function given to foreachBatch; each query has a session of its own."""
    for top in sys._current_frames().values():
        frames = list(_frames(top))
        calls = [n for n, f in enumerate(frames) if f.f_code.co_name == "call" and "batch_id" in f.f_locals]
        if calls and frames[calls[0]].f_locals["jdf"].sparkSession().equals(session):
            users = traceback.StackSummary.extract((f, f.f_lineno) for f in reversed(frames[: calls[0]]))
            return users.format()
    return ["  (it has just returned)"]


def _frames(top: FrameType | None) -> Iterable[FrameType]:
    while top is not None:
        yield top
        top = top.f_back
