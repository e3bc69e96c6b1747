"""Views as columns: what a decision reads of every query, so that numpy can read it of thousands."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import inf, nan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headway.model.arrays import Floats

if TYPE_CHECKING:
    from headway.model.time import WallMs
    from headway.model.view import InputView, QueryView

Flags = NDArray[np.bool_]

_UNKNOWN = (nan, nan, nan, nan, nan)
_MISSING = (nan, nan, inf, nan, nan)


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """One row per query, in the order of the snapshot's views."""

    waiting: Flags  # stands at the gate
    running: Flags
    live: Flags
    may_split: Flags  # a batch may work for its next window before that is due
    due: Floats  # minus infinity before the first batch: nothing is known yet
    deadline: Floats
    fixed_ms: Floats
    per_row_ms: Floats
    rows_per_s: Floats
    backlog: Floats
    counted_at: Floats  # not a number while unknown
    window_ms: Floats
    split_load: Floats
    reads_every: Floats  # ms between batches that only read, since no window is due; 0 where one is
    # By input, as many as the query with most of them has: low, high and mean of the delay of its watermarks, and the
    # standard deviations of the mean and of a single one. Not a number while unknown, or where we send the watermark: then
    # it comes when the query is due. A mean of infinity where there is no such input.
    delays: Floats

    @classmethod
    def of(cls, queries: Sequence["QueryView"]) -> "Columns":
        width = max((len(q.inputs) for q in queries), default=1) or 1
        n = len(queries)
        kinds = [bool] * 4 + [float] * 10
        rows = list(zip(*(_row(q) for q in queries), strict=True)) or [()] * len(kinds)
        columns: list[NDArray[Any]] = [np.array(row, dtype=kind) for row, kind in zip(rows, kinds, strict=True)]
        columns.append(np.array([_delays(q, width) for q in queries], dtype=float).reshape(n, width, len(_UNKNOWN)))
        return cls(*columns)

    @property
    def width(self) -> int:
        return int(self.delays.shape[1])

    def grown(self, view: "QueryView") -> "Columns":
        """With one row more, for a query that has come. Thousands may come at once: not all others are read again."""
        more = Columns.of((view,))
        width = max(self.width, more.width)
        return Columns(*(np.concatenate(pair) for pair in zip(self._arrays(width), more._arrays(width), strict=True)))

    def put(self, row: int, view: "QueryView") -> None:
        """A query has changed, not its inputs. Only for whoever made these columns, before anybody else has seen them."""
        for name, value in zip(_NAMES, _row(view), strict=True):
            getattr(self, name)[row] = value
        self.delays[row] = _delays(view, self.width)

    def copy(self) -> "Columns":
        return Columns(*(column.copy() for column in self._arrays(self.width)))

    def take(self, rows: "NDArray[np.intp]") -> "Columns":
        """Only these."""
        return Columns(*(column[rows] for column in self._arrays(self.width)))

    def queued(self, now: "WallMs") -> Floats:
        """As the views say: rows that wait to be read."""
        return np.asarray(self.backlog + self.rows_per_s * np.fmax(0, now - self.counted_at) / 1000)

    def cost_ms(self, now: "WallMs") -> Floats:
        """How long the batch of each would take that ran now."""
        return np.asarray(self.fixed_ms + self.per_row_ms * self.queued(now))

    def _arrays(self, width: int) -> list[NDArray[Any]]:
        delays = self.delays
        if width > self.width:
            missing = np.broadcast_to(_MISSING, (len(self.due), width - self.width, len(_MISSING)))
            delays = np.concatenate([delays, missing], axis=1)
        return [*(getattr(self, name) for name in _NAMES), delays]


_NAMES = tuple(f.name for f in fields(Columns) if f.name != "delays")


def _row(view: "QueryView") -> tuple[float, ...]:
    """In the order of the columns."""
    return (
        view.waiting_since is not None,
        view.running,
        view.live,
        view.leads and not (view.pending or view.reads_every_ms or view.trigger_ms),
        -inf if view.due is None else view.due,
        view.deadline,
        view.fixed_ms,
        view.per_row_ms,
        view.rows_per_s,
        view.backlog,
        nan if view.counted_at is None else view.counted_at,
        view.window_ms,
        view.split_load,
        view.reads_every_ms,
    )


def _delays(view: "QueryView", width: int) -> list[tuple[float, ...]]:
    known = [_delay(i) for i in view.inputs] or [_UNKNOWN]
    return known + [_MISSING] * (width - len(known))


def _delay(given: "InputView") -> tuple[float, ...]:
    d = given.delay if given.source_sends else None
    return _UNKNOWN if d is None else (d.low_ms, d.high_ms, d.mean_ms, d.mean_sd_ms, d.draw_sd_ms)
