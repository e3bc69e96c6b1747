"""One thread that is told everything: messages one after another, and a tick between them when its time has come."""

import queue
import threading
import traceback
from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from headway.errors import aloud
from headway.model.time import Clock, WallMs

TICK_MS = 100
Taken = TypeVar("Taken")


class MessageThread(ABC, Generic[Taken]):
    """`run` is the thread; every other thread posts."""

    def __init__(self, label: str, clock: Clock) -> None:
        self.label, self._clock = label, clock
        self._inbox: queue.SimpleQueue[Taken | None] = queue.SimpleQueue()
        self.ended, self.failed = threading.Event(), False

    @abstractmethod
    def take(self, message: Taken, now: WallMs) -> None:
        """What follows from it."""

    @abstractmethod
    def tick(self, now: WallMs) -> None:
        """Time has passed."""

    def post(self, message: Taken) -> None:
        self._inbox.put(message)

    def stop(self) -> None:
        self._inbox.put(None)

    def run(self) -> None:
        """Until it is told to stop. A mistake of ours ends it: another orchestrator goes on from what is written down."""
        try:
            self._loop()
        except BaseException:
            self.failed = True
            traceback.print_exc()
            aloud(f"{self.label} has ended by a mistake of its own, which stands above")
        finally:
            self.ended.set()

    def _loop(self) -> None:
        due = self._clock.now()
        while True:
            now = self._clock.now()
            if now >= due:
                due = WallMs(now + TICK_MS)
                self.tick(now)
            try:
                message = self._inbox.get(timeout=max(0.001, (due - now) / 1000))
            except queue.Empty:
                continue
            if message is None:
                return
            self.take(message, self._clock.now())
