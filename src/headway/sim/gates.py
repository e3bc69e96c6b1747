"""The slack gate over whole arrays: when each tuple of several sorted streams may be read, and as what.

frontier of a stream = its newest timestamp; merge = the least frontier, newest = the greatest. A tuple is ready once
ts <= merge, and slack-ready once newest - ts > SLT. One that comes below what was already read is let through at once.
"""

from dataclasses import dataclass, fields
from typing import Self

import numpy as np
from numpy.typing import NDArray

from headway.model.arrays import Floats


@dataclass(frozen=True, slots=True)
class Tuples:
    """Columns: event time, when they came in here, by which input, which report they stem from, since when under way."""

    ts: Floats
    at: Floats
    source: NDArray[np.int64]
    origin: NDArray[np.int64]
    since: Floats

    def __len__(self) -> int:
        return len(self.ts)

    def take(self, which: NDArray[np.int64] | NDArray[np.bool_] | slice) -> Self:
        return type(self)(*(getattr(self, f.name)[which] for f in fields(self)))


def together(parts: list[Tuples]) -> Tuples:
    return Tuples(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Tuples)))


def no_tuples() -> Tuples:
    none, index = np.empty(0), np.empty(0, dtype=np.int64)
    return Tuples(none, none, index, index, none)


class VirtualGate:
    """Merges streams that are sorted each. Time goes on in steps, and the threshold changes only between two."""

    def __init__(self, sources: int) -> None:
        self.frontier = np.full(sources, -np.inf)
        self.read_upto = -np.inf  # the greatest timestamp read
        self.waiting = no_tuples()  # by timestamp

    @property
    def gap_ms(self) -> float:
        """How far the slowest stream is behind the fastest; 0 until all have said something."""
        return float(self.frontier.max() - self.frontier.min()) if np.isfinite(self.frontier).all() else 0.0

    @property
    def oldest_at(self) -> float:
        """When the tuple came in that waits longest; infinity if none waits."""
        return float(self.waiting.at.min(initial=np.inf))

    def step(self, start: float, end: float, slt_ms: float, came: Tuples) -> tuple[Tuples, Floats, NDArray[np.bool_]]:
        """What is read from `start` until before `end`, in reading order: tuples, when, and whether slack-ready."""
        streams = [came.take(came.source == j) for j in range(len(self.frontier))]
        reached = np.maximum(self.frontier, [s.ts.max(initial=-np.inf) for s in streams])
        # Tuples newer than this level stay in the gate whatever happens; in a long queue, nearly all of them.
        limit = max(reached.min(), reached.max() - slt_ms, self.read_upto)
        near = int(np.searchsorted(self.waiting.ts, limit, "right"))
        asked = together([self.waiting.take(slice(0, near)), came])
        ready = np.max([self._reaches(j, s, asked.ts, start) for j, s in enumerate(streams)], axis=0)
        slack = np.min([self._passes(j, s, asked.ts + slt_ms, start) for j, s in enumerate(streams)], axis=0)
        slack[asked.ts < self.read_upto] = start
        when = np.maximum(asked.at, np.minimum(ready, slack))
        goes = np.flatnonzero(when < end)
        order = goes[np.lexsort((asked.source[goes], asked.ts[goes], when[goes]))]
        stays = np.ones(len(asked), dtype=bool)
        stays[goes] = False
        rest = together([asked.take(stays), self.waiting.take(slice(near, None))])
        self.waiting = rest.take(np.argsort(rest.ts, kind="stable"))
        self.frontier = reached
        self.read_upto = max(self.read_upto, float(asked.ts[goes].max(initial=-np.inf)))
        return asked.take(order), when[order], ready[order] > when[order]

    def _reaches(self, source: int, came: Tuples, ts: Floats, start: float) -> Floats:
        """When this stream's frontier is at `ts` or beyond."""
        first = np.searchsorted(came.ts, ts, "left")
        return np.where(self.frontier[source] >= ts, start, np.append(came.at, np.inf)[first])

    def _passes(self, source: int, came: Tuples, ts: Floats, start: float) -> Floats:
        """When this stream's frontier is beyond `ts`."""
        first = np.searchsorted(came.ts, ts, "right")
        return np.where(self.frontier[source] > ts, start, np.append(came.at, np.inf)[first])
