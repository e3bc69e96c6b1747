"""Looks after running queries: one that dies is told of within two seconds, and started again if that is wished."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from headway.errors import SettingError, aloud
from headway.loop.restarts import Restarts
from headway.loop.trouble import says
from headway.model.message import Failed, Message
from headway.model.status import State
from headway.model.time import WallMs
from headway.spark.writer import option_of

EVERY_S = 1.0
CLOSE_S = 10.0  # for which a restart under way is waited for


@dataclass
class Watched:
    """One query: the run that is looked after, and how to begin another."""

    name: str
    query: Any  # Spark's
    again: Callable[[], Any] | None
    restarts: Restarts
    id: str
    run: str
    state: State | None = None  # None while it lives: then the controller knows better
    since: WallMs = WallMs(0)
    error: BaseException | None = None
    began: float = field(default_factory=time.monotonic)
    due: float | None = None  # when to begin again
    restarted: int = 0
    turned: Callable[[], None] = lambda: None

    @property
    def final(self) -> bool:
        return self.state in ("failed", "ended")

    def turn(self, state: State | None) -> None:
        self.state, self.since, self.due = state, WallMs(time.time_ns() // 1_000_000), None
        self.turned()


class Rounds(Protocol):
    """What else is looked at, once a second."""

    def __call__(self, watched: list[Watched]) -> None: ...


class Supervisor:
    """A thread that asks every query once a second whether it lives: a tenth of a millisecond each. It asks at once when it
    is told that one may have died."""

    def __init__(
        self,
        tell: Callable[[Message], None],
        rounds: Rounds,
        say: Callable[[str], None] = aloud,
        turned: Callable[[], None] = lambda: None,
    ) -> None:
        """`turned` is called whenever a query has died, ended, or runs again; it must not wait."""
        self._tell, self._rounds, self._say, self._turned = tell, rounds, say, turned
        self._watched: dict[str, Watched] = {}
        self._lock = threading.RLock()
        self._over = threading.Event()
        self.stirred = threading.Event()  # set it when a query may have died: it is looked at now, not at the next round
        self._restarting: list[threading.Thread] = []
        self._warned: set[str] = set()
        self._thread = threading.Thread(target=self._run, name="headway-supervisor", daemon=True)
        self._thread.start()

    def watch(self, name: str, query: Any, again: Callable[[], Any] | None = None, restarts: int = 0) -> None:
        """Look after a query from now on."""
        watched = Watched(name, query, again, Restarts(restarts), str(query.id), str(query.runId), turned=self._turned)
        with self._lock:
            self._watched[name] = watched

    def watched(self) -> list[Watched]:
        with self._lock:
            return list(self._watched.values())

    def of(self, name: str) -> Watched | None:
        with self._lock:
            return self._watched.get(name)

    def alive(self, name: str) -> bool:
        """It runs, or is about to run again."""
        watched = self.of(name)
        if watched is None or watched.final:
            return False
        return watched.state == "restarting" or bool(watched.query.isActive)

    def let_end(self, name: str | None = None) -> None:
        """This query, or all of them, is about to be stopped: that is no failure, and it is not started again."""
        with self._lock:
            for watched in self.watched():
                if name in (None, watched.name) and not watched.final:
                    watched.again = watched.due = None
                    if watched.state == "restarting":
                        watched.turn("failed")
            restarting = self._restarting
        for thread in restarting:  # they stop what they have started
            thread.join(CLOSE_S)

    def ended(self, name: str, error: BaseException | None = None) -> None:
        """It was stopped, or could not be."""
        with self._lock:
            if (watched := self._watched.get(name)) is not None and not watched.final:
                watched.error = error
                watched.turn("ended" if error is None else "failed")

    def failed(self) -> Watched | None:
        """A query that has failed, and is not to be started again."""
        return next((w for w in self.watched() if w.state == "failed"), None)

    @property
    def active(self) -> bool:
        return any(not w.final for w in self.watched())

    def look(self) -> None:
        """Ask every query whether it lives."""
        with self._lock:
            for watched in self.watched():
                if watched.state is None and not watched.query.isActive:
                    error = watched.query.exception()
                    if error is None:
                        watched.turn("ended")
                    else:
                        self._died(watched, error)

    def close(self) -> None:
        """Look after no query any more."""
        self._over.set()
        self.stirred.set()
        self.let_end()
        self._thread.join(CLOSE_S)

    def _run(self) -> None:
        while not self._over.is_set():
            self.stirred.wait(EVERY_S)
            self.stirred.clear()
            if self._over.is_set():
                return
            for work in (self.look, self._begin_again, lambda: self._rounds(self.watched())):
                try:
                    work()
                except Exception as error:  # the next round may do better, and queries do without
                    if (text := says(error)) not in self._warned and not self._over.is_set():
                        self._warned.add(text)
                        self._say(f"could not look after the queries: {text}")

    def _died(self, watched: Watched, error: BaseException) -> None:
        watched.error = error
        watched.restarts = watched.restarts.after_failure((time.monotonic() - watched.began) * 1000)
        pause_ms = None if watched.again is None else watched.restarts.pause_ms
        text = f"query {watched.name!r} has failed: {says(error)}"
        if pause_ms is None:
            watched.turn("failed")
        else:
            watched.turn("restarting")
            watched.due = time.monotonic() + pause_ms / 1000
            text += f"; it is started again in {pause_ms / 1000:g} s, {watched.restarts.used} of {watched.restarts.most}"
        self._say(text)
        self._tell(Failed(watched.name, says(error)))

    def _begin_again(self) -> None:
        with self._lock:
            self._restarting = [thread for thread in self._restarting if thread.is_alive()]
            for watched in self.watched():
                if watched.due is not None and watched.due <= time.monotonic():
                    watched.due = None
                    # A start takes seconds, and minutes if the machine is busy: the others are looked after meanwhile.
                    thread = threading.Thread(target=self._restart, args=(watched,), name="headway-restart", daemon=True)
                    self._restarting.append(thread)
                    thread.start()

    def _restart(self, watched: Watched) -> None:
        again = watched.again
        if again is None:
            return
        try:
            query = again()
        except Exception as error:
            with self._lock:
                if not watched.final:
                    self._died(watched, error)
            return
        with self._lock:
            wanted = watched.again is not None
            if wanted:
                watched.query, watched.run, watched.began = query, str(query.runId), time.monotonic()
                watched.restarted += 1
                watched.error = None
                watched.turn(None)
        if wanted:
            self._say(f"query {watched.name!r} runs again")
        else:  # the runtime was stopped meanwhile
            query.stop()


def check_restart(spark: Any, writer: Any, restart: Any) -> None:
    """Refuse what cannot be started again: without a checkpoint a query would begin anew, and repeat all its results."""
    if not isinstance(restart, int) or isinstance(restart, bool) or restart < 0:
        raise SettingError("restart", restart, "how often a query that fails is started again: 0 or more")
    kept = option_of(writer, "checkpointLocation") or spark.conf.get("spark.sql.streaming.checkpointLocation", None)
    if restart and not kept:
        raise SettingError("restart", restart, "0 for a query without a checkpoint: rt.start(..., checkpoint=...)")
