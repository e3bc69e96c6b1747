"""A query that Spark has begun, and that is held before it looks into its checkpoint: most of a start is done beforehand.

Spark tells its listeners that a query starts on the thread of that query, and goes on when they have heard it. By then the
plan is analysed for streaming, settings and sessions are cloned, and the thread runs. What comes after needs the checkpoint:
sources are made, and the logs are read. So a listener that does not return holds the query right there. Of the checkpoint
only the query's id is needed before that, which never changes.
"""

import contextlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from headway.errors import HeadwayError

HELD_S = 20.0  # for a start to come so far; one that takes longer is given up, and begun anew when it is wanted
STOP_S = 10.0
LOOK_S = 0.02


class _Doorstep(StreamingQueryListener):
    """Keeps one query waiting; other queries pass."""

    def __init__(self, name: str, news: threading.Event) -> None:
        self._name, self._news = name, news
        self.id: str | None = None  # of the query, once it stands here
        self.open = threading.Event()

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        if event.name == self._name and self.id is None:
            self.id = str(event.id)
            self._news.set()
            self.open.wait()

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Of no interest, and nor are the others."""

    def onQueryIdle(self, event: QueryIdleEvent) -> None: ...

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None: ...


class HeldStart:
    """Goes on once, or is given up once."""

    def __init__(self, spark: Any, doorstep: _Doorstep, started: "Future[Any]") -> None:
        self._spark, self._doorstep, self._started = spark, doorstep, started
        self._lock, self._waits, self._claimed = threading.Lock(), True, False

    def claim(self) -> bool:
        """Whether it is there to go on; asked a second time, it is not."""
        with self._lock:
            claimed, self._claimed = self._claimed, True
            return self._waits and not claimed

    @property
    def query(self) -> Any:
        """Spark's own, in the JVM, as it waits; None if it is not known there."""
        id = self._doorstep.id
        return None if id is None else self._spark._jsparkSession.streams().get(id)

    def go_on(self) -> Any:
        """Spark's query. What its start raises is raised here."""
        if not self._no_longer_waits():
            raise HeadwayError("expected a start that is still held: it has gone on, or was given up")
        self._doorstep.open.set()
        return self._started.result()

    def give_up(self) -> None:
        """It has read nothing, and will not. Once it has gone on, this changes nothing."""
        if not self._no_longer_waits():
            return
        query = self.query
        if query is None:
            self._doorstep.open.set()
            return
        # Waits for the thread of the query, which waits for us: but first of all it says that the query is over. Spark logs
        # that the listener was interrupted, which does no harm.
        stopping = threading.Thread(target=_stop, args=(query,), name="headway-held-stop", daemon=True)
        stopping.start()
        if _until(lambda: not query.isActive(), STOP_S):  # else let it wait for ever rather than run
            self._doorstep.open.set()
            stopping.join(STOP_S)

    def _no_longer_waits(self) -> bool:
        with self._lock:
            waited, self._waits = self._waits, False
        return waited


def begun_and_held(
    spark: Any, name: str, begin: Callable[[], Any], meanwhile: contextlib.AbstractContextManager[None]
) -> HeldStart | None:
    """Begin a query of this name, and hold it; `meanwhile` lasts until it is held. None if that cannot be: then it has not
    begun, or ends again."""
    news, started = threading.Event(), Future[Any]()
    doorstep = _Doorstep(name, news)

    def run() -> None:
        try:
            started.set_result(begin())
        except BaseException as error:
            started.set_exception(error)
        news.set()

    made = HeldStart(spark, doorstep, started)
    spark.streams.addListener(doorstep)
    with meanwhile:
        threading.Thread(target=run, name="headway-held-start", daemon=True).start()
        there = news.wait(HELD_S)
    if not there:
        threading.Thread(target=_too_late, args=(spark, doorstep, news, made), name="headway-held-late", daemon=True).start()
        return None
    spark.streams.removeListener(doorstep)
    if doorstep.id is not None and not started.done():
        return made
    started.add_done_callback(_undone)
    return None


def _too_late(spark: Any, doorstep: _Doorstep, news: threading.Event, made: HeldStart) -> None:
    """It is not waited for any more: when it comes it is stopped, and has not run."""
    news.wait()
    spark.streams.removeListener(doorstep)
    made.give_up()


def _undone(started: "Future[Any]") -> None:
    """It was not held after all: it must not run."""
    if started.exception() is None:
        _stop(started.result())


def _stop(query: Any) -> None:
    with contextlib.suppress(Exception):
        query.stop()


def _until(true: Callable[[], bool], limit_s: float) -> bool:
    end = time.monotonic() + limit_s
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(LOOK_S)
    return True
