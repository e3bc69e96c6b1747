"""What nodes of the papers' engine know of one another: what they were told, when they were told.

Of its own operators a node knows everything at once. Of a query's operators on other nodes it knows what their statuses
said: what is queued there and costs still, which windows are out, and how long the watermarks of the source were delayed. A
status is told every so often, and is under way for a while.
"""

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from headway.estimate.delays import Epochs
from headway.model.arrays import Floats
from headway.model.time import EventMs
from headway.sim.queues import Queues
from headway.sim.watermarks import Watermarks


@dataclass(frozen=True, slots=True)
class Messages:
    """How nodes tell each other how they stand."""

    every_ms: int = 1_000  # as live nodes do
    travel_ms: int = 5
    none: bool = False  # each node is on its own


TOLD = Messages()


@dataclass(frozen=True, slots=True)
class Bulletin:
    """All statuses of one moment."""

    at: int  # when that was
    queue: Floats  # query x operator
    swept: tuple[EventMs, ...]
    epochs: tuple[tuple[Epochs, ...], ...]  # by query and input


@dataclass
class Bulletins:
    """The statuses that are under way, and the one that came last."""

    messages: Messages
    known: Bulletin
    _coming: deque[tuple[int, Bulletin]] = field(default_factory=deque)
    _next: int = 0

    @classmethod
    def silent(cls, messages: Messages, queues: Queues, swept: list[EventMs], inputs: int) -> "Bulletins":
        """Before any input has said anything."""
        nothing = tuple(tuple(Epochs() for _ in range(inputs)) for _ in range(queues.n))
        return cls(messages, Bulletin(0, np.zeros_like(queues.queue), tuple(swept), nothing))

    def tell(self, now: int, queues: Queues, swept: list[EventMs], watermarks: Watermarks) -> bool:
        """A cycle ends: statuses are sent when it is time, and those that have arrived are known. Says if one has."""
        if not self.messages.none and now >= self._next:
            self._next = now + self.messages.every_ms
            told = Bulletin(now, queues.queue.copy(), tuple(swept), tuple(map(tuple, watermarks.epochs)))
            self._coming.append((now + self.messages.travel_ms, told))
        arrived = False
        while self._coming and self._coming[0][0] <= now:
            self.known, arrived = self._coming.popleft()[1], True
        return arrived
