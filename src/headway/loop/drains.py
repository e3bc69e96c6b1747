"""Those who wait until a batch, or all of them, has ended."""

from collections.abc import Container, Mapping

from headway.loop.tracker import QueryTracker
from headway.model.message import Drain
from headway.model.time import WallMs


class Drains:
    """The wishes to let no further batch run."""

    def __init__(self) -> None:
        self._wanted: list[Drain] = []

    def add(self, drain: Drain) -> None:
        self._wanted.append(drain)

    @property
    def all(self) -> bool:
        """Nobody at all may run."""
        return any(drain.query is None for drain in self._wanted)

    def settle(self, queries: Mapping[str, QueryTracker], afloat: Mapping[str, WallMs]) -> list[str]:
        """Tell those whose wish has come true; returns the queries that must not be granted any more."""
        over = []
        for drain in list(self._wanted):
            if drain.query is None:
                if not afloat and not any(q.running for q in queries.values()):
                    drain.done()
            elif _still(drain.query, queries, afloat):
                over.append(drain.query)
                self._wanted.remove(drain)
                drain.done()
        return over


def _still(name: str, queries: Mapping[str, QueryTracker], afloat: Container[str]) -> bool:
    """It is at the gate, or ours no longer. One that is still starting may yet run a batch that it began before."""
    tracker = queries.get(name)
    return (tracker is None or tracker.waiting_since is not None) and name not in afloat
