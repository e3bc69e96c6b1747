"""A view of every query, and of many queries columns as well: between two decisions one or two change, of thousands."""

from collections.abc import Mapping

from headway.loop.tracker import QueryTracker
from headway.loop.trouble import QueryTrouble
from headway.model.columns import Columns
from headway.model.time import WallMs
from headway.model.view import FEW, MemoryView, QueryView, Snapshot


class Views:
    """Kept up to date query by query; begun anew when one has left."""

    def __init__(self, queries: Mapping[str, QueryTracker]) -> None:
        self._queries = queries
        self._views: list[QueryView] = []
        self._rows: dict[str, int] = {}
        self._columns: Columns | None = None  # None: they are few
        self._stale = True  # queries have come or gone
        self._changed: set[str] = set()  # since the views were brought up to date
        self._news: set[str] = set()  # since the last decision
        self._moved: set[str] = set()  # since the running ones were counted
        self._running: set[str] = set()
        self.version = 0  # another one when queries have come or gone

    def changed(self, name: str) -> None:
        self._changed.add(name)
        self._news.add(name)
        self._moved.add(name)

    def begin_anew(self) -> None:
        self.version += 1
        self._stale = True
        self._changed.clear()
        self._running.clear()
        self._moved.update(self._queries)

    def joined(self, tracker: QueryTracker) -> None:
        """A query that was not there before."""
        self.version += 1
        self._moved.add(tracker.spec.name)
        if self._stale:
            return
        self._rows[tracker.spec.name] = len(self._views)
        self._views.append(view := tracker.view())
        if self._columns is not None:
            self._columns = self._columns.grown(view)
        elif len(self._views) > FEW:
            self._columns = Columns.of(self._views)

    def news(self) -> list[QueryView]:
        """The views of queries that have changed since this was `told`, and wait."""
        changed = [self._queries[name] for name in self._news if name in self._queries]
        return [_view(query) for query in changed if not query.running]

    def told(self) -> None:
        """The last decision has seen all changes."""
        self._news.clear()

    @property
    def running(self) -> int:
        """How many take a slot. It is asked so often that views are not made for it."""
        for name in self._moved:
            query = self._queries.get(name)
            takes_one = query is not None and query.running and not query.stalled
            (self._running.add if takes_one else self._running.discard)(name)
        self._moved.clear()
        return len(self._running)

    def snapshot(self, now: WallMs, slots: int, memory: MemoryView) -> Snapshot:
        self._bring_up_to_date()
        columns = None if self._columns is None else self._columns.copy()
        return Snapshot.kept(now, self._views, slots, memory, columns, self._rows, self.running)

    def _bring_up_to_date(self) -> None:
        if self._stale:
            self._views = [_view(q) for q in self._queries.values()]
            self._rows = {name: row for row, name in enumerate(self._queries)}
            self._columns = Columns.of(self._views) if len(self._views) > FEW else None
            self._stale = False
        else:
            for name in self._changed:
                if name in self._rows:
                    row = self._rows[name]
                    self._views[row] = view = _view(self._queries[name])
                    if self._columns is not None:
                        self._columns.put(row, view)
        self._changed.clear()


def _view(tracker: QueryTracker) -> QueryView:
    try:
        return tracker.view()
    except Exception as error:
        raise QueryTrouble(tracker.spec.name) from error
