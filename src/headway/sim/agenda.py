"""Virtual time: what happens when, in an order that depends on nothing but the agenda."""

import heapq
from collections.abc import Callable
from itertools import count

from headway.model.time import VirtualClock

Action = Callable[[], None]


class Agenda:
    """Actions by the millisecond; those of the same moment in the order in which they were entered."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self._heap: list[tuple[int, int, Action]] = []
        self._order = count()

    def at(self, ms: int, action: Action) -> None:
        heapq.heappush(self._heap, (ms, next(self._order), action))

    @property
    def next_at(self) -> int | None:
        return self._heap[0][0] if self._heap else None

    def run_due(self) -> None:
        """Do everything that the clock has reached, also what is entered meanwhile."""
        while self._heap and self._heap[0][0] <= self.clock.at:
            heapq.heappop(self._heap)[2]()
