"""Where threads meet: any thread posts, one thread takes in and decides."""

import contextlib
import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable

from headway.loop.trouble import QueryTrouble, about
from headway.model.message import BatchSeen, Drain, Look, Message, Stood
from headway.model.status import RuntimeStatus
from headway.model.time import Clock, WallMs


class Inbox(ABC):
    """The messages of a controller, and its steps through them."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._inbox: queue.SimpleQueue[Message | None] = queue.SimpleQueue()

    @abstractmethod
    def take(self, message: Message) -> None:
        """Update what is known."""

    @abstractmethod
    def turn(self) -> WallMs:
        """Decide; returns when to look again."""

    # ---- for any thread

    def post(self, message: Message) -> None:
        """Put a message into the inbox."""
        self._inbox.put(message)

    def stop(self) -> None:
        self._inbox.put(None)

    def drain(self, timeout_s: float, query: str | None = None, stood: Callable[[Stood], None] | None = None) -> bool:
        """Grant nothing more, or nothing more to this query, and wait until no such batch runs; False if one still does."""
        done = threading.Event()
        self.post(Drain(query, done.set, stood))
        return done.wait(timeout_s)

    def look(self, timeout_s: float) -> RuntimeStatus | None:
        """How things stand, as the controller's thread tells it; None if it is too busy to."""
        told: queue.SimpleQueue[RuntimeStatus] = queue.SimpleQueue()
        self.post(Look(told.put))
        with contextlib.suppress(queue.Empty):
            return told.get(timeout=timeout_s)
        return None

    # ---- for the thread that decides

    def step(self, wait_s: float) -> float | None:
        """Take in what has come, or wait for it, then decide. Returns how long to wait next; None once told to stop."""
        return max(0.001, (self.turn() - self.clock.now()) / 1000) if self._take_all(wait_s) else None

    def _take_all(self, wait_s: float) -> bool:
        """Take in what has come, or wait for it; False once we are told to stop."""
        with contextlib.suppress(queue.Empty):
            message = self._inbox.get(timeout=wait_s)
            while message is not None:
                self._take(message)
                # The report of a batch comes just before its query asks again: only then is there something to decide.
                message = self._inbox.get(timeout=0.05) if isinstance(message, BatchSeen) else self._inbox.get_nowait()
            return False
        return True

    def _take_posted(self) -> None:
        """What was posted since: in a world without threads, what was learnt is there at once."""
        with contextlib.suppress(queue.Empty):
            while (message := self._inbox.get_nowait()) is not None:
                self._take(message)
            self._inbox.put(None)  # told to stop: when all is decided

    def _take(self, message: Message) -> None:
        """As `take`; what goes wrong with a message of one query is that query's trouble."""
        try:
            self.take(message)
        except QueryTrouble:
            raise
        except Exception as error:
            if (name := about(message)) is not None:
                raise QueryTrouble(name) from error
            raise
