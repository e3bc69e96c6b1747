"""Callers that wait until a batch, or all of them, has ended."""

from collections.abc import Container, Mapping

from headway.loop.experience import gathered
from headway.loop.tracker import QueryTracker
from headway.model.message import Drain, Stood
from headway.model.time import WallMs


class Drains:
    """The wishes to let no further batch run."""

    def __init__(self) -> None:
        self._wanted: list[Drain] = []

    def add(self, drain: Drain) -> None:
        self._wanted.append(drain)

    @property
    def all(self) -> bool:
        """No query at all may run."""
        return any(drain.query is None for drain in self._wanted)

    def settle(self, now: WallMs, queries: Mapping[str, QueryTracker], afloat: Mapping[str, WallMs]) -> list[str]:
        """Tell the callers whose wish has come true; returns the queries that must not be granted any more."""
        over = []
        for drain in list(self._wanted):
            if drain.query is None:
                if not afloat and not any(q.running for q in queries.values()):
                    drain.done()
            elif _still(drain.query, queries, afloat):
                over.append(drain.query)
                self._wanted.remove(drain)
                if drain.stood is not None and (tracker := queries.get(drain.query)) is not None:
                    drain.stood(_stood(tracker, now))
                drain.done()
        return over


def _still(name: str, queries: Mapping[str, QueryTracker], afloat: Container[str]) -> bool:
    """It is at the gate, or ours no longer. One that is still starting may yet run a batch that it began before."""
    tracker = queries.get(name)
    return (tracker is None or tracker.waiting_since is not None) and name not in afloat


def _stood(tracker: QueryTracker, now: WallMs) -> Stood:
    learnt = gathered(tracker.cost, tracker.selectivity, list(tracker.inputs.values()))
    return Stood(now, tracker.batch, tracker.announced, tracker.swept, learnt)
