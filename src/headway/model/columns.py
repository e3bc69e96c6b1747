"""Views as columns: what a decision reads of every query, so that numpy can read it of thousands."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import inf
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headway.model.arrays import Floats

if TYPE_CHECKING:
    from headway.model.view import QueryView

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """One row per query, in the order of the snapshot's views."""

    waiting: Flags  # stands at the gate
    running: Flags
    due: Floats  # minus infinity before the first batch: nothing is known yet
    fixed_ms: Floats
    window_ms: Floats
    split_load: Floats
    may_split: Flags  # a batch may work for its next window before that is due

    @classmethod
    def of(cls, queries: Sequence["QueryView"]) -> "Columns":
        n = len(queries)

        def flags() -> Flags:
            return np.zeros(n, dtype=bool)

        made = cls(flags(), flags(), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), flags())
        for row, view in enumerate(queries):
            made.put(row, view)
        return made

    def grown(self, view: "QueryView") -> "Columns":
        """With one row more, for a query that has come. Thousands may come at once: not all others are read again."""
        names = [f.name for f in fields(self)]
        made = Columns(**{name: np.append(getattr(self, name), np.zeros(1, getattr(self, name).dtype)) for name in names})
        made.put(len(self.due), view)
        return made

    def put(self, row: int, view: "QueryView") -> None:
        """A query has changed. Only for whoever made these columns, before anybody else has seen them."""
        self.waiting[row] = view.waiting_since is not None
        self.running[row] = view.running
        self.due[row] = -inf if view.due is None else view.due
        self.fixed_ms[row] = view.fixed_ms
        self.window_ms[row] = view.window_ms
        self.split_load[row] = view.split_load
        self.may_split[row] = view.ahead and view.live and not view.pending

    def copy(self) -> "Columns":
        return Columns(
            self.waiting.copy(), self.running.copy(), self.due.copy(), self.fixed_ms.copy(), self.window_ms.copy(),
            self.split_load.copy(), self.may_split.copy(),
        )  # fmt: skip
