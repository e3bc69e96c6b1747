"""A view of every query, and all of them as columns: between two decisions one or two queries change, of thousands."""

from collections.abc import Mapping

from headway.loop.tracker import QueryTracker
from headway.loop.trouble import QueryTrouble
from headway.model.columns import Columns
from headway.model.time import WallMs
from headway.model.view import MemoryView, QueryView, Snapshot


class Views:
    """Kept up to date query by query; begun anew when one has left."""

    def __init__(self, queries: Mapping[str, QueryTracker]) -> None:
        self._queries = queries
        self._views: list[QueryView] = []
        self._rows: dict[str, int] = {}
        self._columns: Columns | None = None  # None: queries have come or gone
        self._changed: set[str] = set()
        self.version = 0  # another one when a decision might be another one

    def changed(self, name: str) -> None:
        self.version += 1
        self._changed.add(name)

    def begin_anew(self) -> None:
        self.version += 1
        self._columns = None
        self._changed.clear()

    def joined(self, tracker: QueryTracker) -> None:
        """A query that was not there before."""
        self.version += 1
        if self._columns is not None:
            self._rows[tracker.spec.name] = len(self._views)
            self._views.append(view := tracker.view())
            self._columns = self._columns.grown(view)

    def columns(self) -> Columns:
        """Brought up to date."""
        if self._columns is None:
            self._views = [_view(q) for q in self._queries.values()]
            self._rows = {name: row for row, name in enumerate(self._queries)}
            self._columns = Columns.of(self._views)
        else:
            for name in self._changed:
                if name in self._rows:
                    row = self._rows[name]
                    self._views[row] = view = _view(self._queries[name])
                    self._columns.put(row, view)
        self._changed.clear()
        return self._columns

    @property
    def running(self) -> int:
        return int(self.columns().running.sum())

    def snapshot(self, now: WallMs, slots: int, memory: MemoryView) -> Snapshot:
        columns = self.columns().copy()
        return Snapshot.kept(now, self._views, slots, memory, columns, self._rows)


def _view(tracker: QueryTracker) -> QueryView:
    try:
        return tracker.view()
    except Exception as error:
        raise QueryTrouble(tracker.spec.name) from error
