"""Watermarks on their way through chains of operators: each takes its delay, and then its place in a queue."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from headway.estimate.delays import Epochs
from headway.model.arrays import Floats
from headway.model.deadline import Deadlines, Grid
from headway.sim.delays import Delay
from headway.sim.pipelines import Pipeline

EPS = 1e-6
RECENT = 32  # watermarks of which a node in the middle of a chain may ask whether they have passed it


@dataclass(slots=True)
class _UnderWay:
    """The sweeping watermarks of one query that are on their way."""

    coming: deque[tuple[float, int]] = field(default_factory=deque)  # when it is ingested, window end
    inside: deque[tuple[float, int]] = field(default_factory=deque)  # what the last operator must have seen, window end
    last: deque[tuple[float, int]] = field(
        default_factory=lambda: deque(maxlen=RECENT)
    )  # ingested: events before it, window end


class Watermarks:
    """The sweeping watermarks of all queries, from the end of a window until the last operator has seen what was before."""

    def __init__(self, pipeline: Pipeline, delay: Delay, starts: NDArray[np.int64], chance: np.random.Generator) -> None:
        queries = len(starts)
        self.delay, self._chance, self._inputs = delay, chance, pipeline.inputs
        self._reach_last = pipeline.reach[-1]
        # Windows begin with their query: deployed at random moments, queries have their deadlines at random ones (6.2.1).
        self.deadlines = [
            Deadlines(tuple(Grid(g.period_ms, (g.offset_ms + int(s)) % g.period_ms) for g in pipeline.windows))
            for s in starts
        ]
        self.epochs = [[Epochs() for _ in range(pipeline.inputs)] for _ in range(queries)]  # delays seen, by input
        self._under_way = [_UnderWay() for _ in range(queries)]
        self._next_end = np.array([d.after(int(s)) for d, s in zip(self.deadlines, starts, strict=True)])
        self._next_in = np.full(queries, np.inf)  # when the next one is ingested
        self._head = np.full(queries, np.inf)  # what the last operator must have seen for the next one to be through

    def generate(self, since: int, until: int, fresh: Floats, made: Floats) -> None:
        """Those that come in until then, behind the `fresh` events of this cycle; `made` are all events so far."""
        for q in np.flatnonzero(self._next_end <= until).tolist():
            while self._next_end[q] <= until:
                self._send(q, int(self._next_end[q]))
                self._next_end[q] = self.deadlines[q].after(int(self._next_end[q]))
        for q in np.flatnonzero(self._next_in <= until).tolist():
            marks = self._under_way[q]
            while marks.coming and marks.coming[0][0] <= until:
                at, end = marks.coming.popleft()
                # It stands behind all that came before it in this cycle.
                place = made[q] - fresh[q] * (until - max(at, since)) / (until - since)
                marks.inside.append((place * self._reach_last, end))
                marks.last.append((place, end))
            self._head[q] = marks.inside[0][0]
            self._next_in[q] = marks.coming[0][0] if marks.coming else np.inf

    def _send(self, q: int, end: int) -> None:
        """Each input's watermark takes a delay of its own; a join waits for the last. None overtakes another."""
        drawn = self.delay.quantile(self._chance.random(self._inputs)).tolist()
        self.epochs[q] = [e.add(ms, ms**2, ((ms, 1.0),)) for e, ms in zip(self.epochs[q], drawn, strict=True)]
        coming = self._under_way[q].coming
        coming.append((max(end + max(drawn), coming[-1][0] if coming else 0.0), end))
        self._next_in[q] = coming[0][0]

    def passed(self, done: Floats) -> Iterator[tuple[int, int]]:
        """Query and window end of each watermark whose last event before it is among the `done` of the last operator."""
        through = done + EPS * np.maximum(1.0, done)
        for q in np.flatnonzero(through >= self._head).tolist():
            inside = self._under_way[q].inside
            while inside and through[q] >= inside[0][0]:
                yield q, inside.popleft()[1]
            self._head[q] = inside[0][0] if inside else np.inf

    def through(self, q: int, events: float) -> int:
        """The end of the newest window whose watermark has passed an operator with so many of the source's events behind it;
        0: none of late."""
        seen = events + EPS * max(1.0, events)
        return max((end for place, end in self._under_way[q].last if place <= seen), default=0)
