"""`hw.advise(spark)`: watch the queries of a session for some minutes, change nothing, and say what could be better."""

import json
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from time import time
from typing import Any

from headway.advice.history import PlanFacts
from headway.advice.reading import JobReader
from headway.advice.report import Advice
from headway.errors import aloud
from headway.loop.journal_file import state_folder
from headway.model.deadline import Deadlines
from headway.model.time import duration_ms
from headway.spark.plan import windows
from headway.spark.supported import supported

LOOK_S = 2.0  # Spark keeps the last hundred reports of a query
_DELAY = re.compile(r"EventTimeWatermark .*?, (?:interval )?(\d[\w. ]*)$", re.MULTILINE)


class Advising:
    """Looks at the queries of a session from a thread of its own, until it has said what it has to say."""

    def __init__(self, spark: Any, after_ms: int, out: Path | None, tell: Callable[[str], None]) -> None:
        self._spark, self._after_ms, self._out, self._tell = spark, after_ms, out, tell
        self._reader = JobReader(cores=spark.sparkContext.defaultParallelism, running=True)
        self._known: dict[str, tuple[int, str]] = {}  # by run: batch and time of the newest report taken in
        self._watched: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="headway-advice", daemon=True)
        self._thread.start()

    def advice(self) -> Advice:
        """What there is to say by now."""
        with self._lock:
            self._look()
            return Advice.on(self._reader.history())

    def stop(self) -> None:
        """Look no more, and say nothing."""
        self._end.set()
        self._thread.join(timeout=10)

    def wait(self) -> Advice:
        """Until it has said what it has to say."""
        self._thread.join()
        return self.advice()

    def _watch(self) -> None:
        until = time() + self._after_ms / 1000
        while not self._end.wait(min(LOOK_S, max(0.0, until - time()))):
            over = time() >= until
            try:
                if over:
                    self._say(self.advice())
                else:
                    with self._lock:
                        self._look()
            except Exception as error:  # a query may end while it is looked at; the next look may do better
                aloud(f"advice: {type(error).__name__}: {error}")
            if over:
                return

    def _say(self, said: Advice) -> None:
        self._tell(said.text())
        if self._out is not None:
            self._out.write_text(said.page(), "utf-8")
            self._tell(f"As a page: {self._out}")

    def _look(self) -> None:
        for query in self._spark.streams.active:
            self._watched.setdefault(str(query.runId), query)
        for run, query in list(self._watched.items()):
            self._take(run, query)
        self._reader.seen_until(round(time() * 1000))

    def _take(self, run: str, query: Any) -> None:
        reports = query._jsq.recentProgress()
        new: list[Any] = []
        for number in reversed(range(len(reports))):
            report = reports[number]
            key = (int(report.batchId()), str(report.timestamp()))
            if key == self._known.get(run):
                break
            new.append((key, report))
        for key, report in reversed(new):
            told = json.loads(report.json())
            self._reader.progress(told)
            self._known[run] = key
        name = query.name or str(query.id)
        if new and name not in self._reader.plans:
            self._reader.plans[name] = plan_facts(query)
        if not query.isActive:
            error = query.exception()
            self._reader.died(str(query.id), query.name, None if error is None else str(error))
            del self._watched[run]


def plan_facts(query: Any) -> PlanFacts:
    """What the plan of a running query says."""
    execution = query._jsq.streamingQuery()
    text = str(execution.logicalPlan().toString())
    grids, delays = windows(text), [duration_ms("delay", found) for found in _DELAY.findall(text)]
    trigger = execution.trigger()
    every = int(trigger.intervalMs()) if trigger.getClass().getSimpleName() == "ProcessingTimeTrigger" else None
    return PlanFacts(Deadlines(grids) if grids else None, max(delays, default=None), every)


def advise(spark: Any, after: str | int = "3 minutes", *, out: str | Path | None = None) -> Advising:
    """Watch all queries of this session and, after a while, say what could be better. Nothing is changed.

    The text goes to standard error, and a page to `out`; a file in the folder for journals unless told. `.advice()` of
    what is returned says what there is to say by now, `.stop()` ends it.
    """
    supported(spark)
    page = state_folder() / f"advice-{spark.sparkContext.applicationId}.html" if out is None else Path(out)
    return Advising(spark, duration_ms("after", after), page, lambda text: print(text, file=sys.stderr))
