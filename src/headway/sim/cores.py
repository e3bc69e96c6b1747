"""Cores that running work shares equally."""

import heapq
from collections.abc import Callable
from itertools import count
from math import ceil, inf


class Cores:
    """Each piece of work is on at most one core; when there is more work than cores, all of it slows down alike.

    So all pieces progress at one speed, and a single clock of progress tells when each is done: a piece that starts at
    progress p and needs w milliseconds is done at progress p + w, whatever else starts and ends meanwhile.
    """

    def __init__(self, cores: float = inf) -> None:
        self.cores = cores
        self.busy_ms = 0.0  # core time used so far
        self._progress = 0.0
        self._at = 0.0
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()

    @property
    def running(self) -> int:
        return len(self._heap)

    def start(self, now: int, work_ms: float, done: Callable[[], None]) -> None:
        self._advance(now)
        heapq.heappush(self._heap, (self._progress + work_ms, next(self._order), done))

    @property
    def next_at(self) -> int | None:
        """The first whole millisecond at which something is done, if nothing else starts."""
        if not self._heap:
            return None
        return ceil(self._at + (self._heap[0][0] - self._progress) / self._speed - 1e-6)

    def run_due(self, now: int) -> None:
        """Finish what is done by now."""
        self._advance(now)
        while self._heap and self._heap[0][0] <= self._progress + 1e-6:
            heapq.heappop(self._heap)[2]()

    @property
    def _speed(self) -> float:
        return min(1.0, self.cores / len(self._heap)) if self._heap else 1.0

    def _advance(self, now: int) -> None:
        gained = (now - self._at) * self._speed
        self.busy_ms += gained * len(self._heap)
        self._progress += gained
        self._at = now
