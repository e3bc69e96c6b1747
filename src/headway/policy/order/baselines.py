"""Gated baselines of the Klink paper (section 6.1.3). They never hold: a query that waits runs, in their own order.

They know nothing of when a window may be swept, so batches run in between and a watermark is announced when it is ripe.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from headway.estimate.ripe import ripe
from headway.model.decision import Decision, Grant, Hold
from headway.model.time import WallMs
from headway.model.view import QueryView, Snapshot
from headway.policy.order.emission import announce


class _WorkConserving:
    """Runs the waiting query that `rank` puts first; ties break by name."""

    __slots__ = ()
    gated: ClassVar[bool] = True

    def rank(self, query: QueryView, now: WallMs) -> float:
        raise TypeError("a baseline must rank")

    def says(self, query: QueryView, now: WallMs) -> str:
        raise TypeError("a baseline must say why")

    def urgency(self, queries: Sequence[QueryView], now: WallMs) -> NDArray[np.float64]:
        """The smallest goes first."""
        return np.array([self.rank(q, now) for q in queries])

    def decide(self, snap: Snapshot) -> Decision:
        # A query that read its rows this very millisecond has none; a poll for none would only cost.
        # And a watermark that an earlier policy announced ahead must ripen first; the others need not wait for it.
        ready = [q for q in snap.waiting if (q.granted_at is None or q.granted_at < snap.now) and not _unripe(q, snap.now)]
        if not ready:
            return Hold(WallMs(snap.now + 10), because="no query has rows waiting")
        chosen = min(ready, key=lambda q: (self.rank(q, snap.now), q.name))
        return Grant(chosen.name, announce(chosen, snap.now, ahead=False), because=self.says(chosen, snap.now))


@dataclass(frozen=True, slots=True)
class FirstCome(_WorkConserving):
    """The query whose oldest queued row has waited longest."""

    def rank(self, query: QueryView, now: WallMs) -> float:
        return -inf if query.granted_at is None else float(query.granted_at)

    def says(self, query: QueryView, now: WallMs) -> str:
        return f"oldest queued row, {now - (query.granted_at or now)} ms"


@dataclass(frozen=True, slots=True)
class RoundRobin(_WorkConserving):
    """The query that has stood at the gate longest: all take turns."""

    def rank(self, query: QueryView, now: WallMs) -> float:
        return float(query.waiting_since or 0)

    def says(self, query: QueryView, now: WallMs) -> str:
        return f"its turn, at the gate for {now - (query.waiting_since or now)} ms"


@dataclass(frozen=True, slots=True)
class HighestRate(_WorkConserving):
    """The query that puts out most rows per millisecond of work: selectivity over cost of a row."""

    def rank(self, query: QueryView, now: WallMs) -> float:
        if query.granted_at is None:
            return -inf
        # Until a row has come no rate is known, and with a rate of 0 it would never be asked again: ask at its pace.
        if query.rows_per_s == 0 and now - query.granted_at >= query.pace_ms:
            return -inf
        return -output_rate(query, now)

    def says(self, query: QueryView, now: WallMs) -> str:
        return f"highest rate, {output_rate(query, now):.3g} rows out per ms of work"


@dataclass(frozen=True, slots=True)
class StreamBox(_WorkConserving):
    """The query with the earliest window deadline, again and again until that window's watermark is through."""

    def rank(self, query: QueryView, now: WallMs) -> float:
        if query.granted_at is None:
            return -inf
        # A stream that fell silent can close no window, so its deadline stays where it is: it must not be first for ever.
        closes = query.pending or ripe(query, now) is not None
        return float(query.deadline if closes else query.granted_at)

    def says(self, query: QueryView, now: WallMs) -> str:
        return f"earliest window end, {query.deadline}"


def _unripe(query: QueryView, now: WallMs) -> bool:
    """Whether it must wait, whichever query is next: for a watermark to ripen, or for the user's own trigger."""
    return (query.pending or query.trigger_ms > 0) and query.due is not None and query.due > now


def output_rate(query: QueryView, now: WallMs) -> float:
    """Rows out per millisecond of work if the queued rows ran now."""
    rows = max(1.0, query.queued(now))
    return query.selectivity * rows / query.cost_ms(now)
