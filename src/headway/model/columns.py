"""Views as columns: what a decision reads of every query, so that numpy can read it of thousands."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, nan
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from headway.model.arrays import Floats

if TYPE_CHECKING:
    from headway.model.time import WallMs
    from headway.model.view import InputView, QueryView

Flags = NDArray[np.bool_]
Kind = TypeVar("Kind", bound=np.generic)

FLAGS, NUMBERS = 4, 11
_UNKNOWN = (nan, nan, nan, nan, nan)
_MISSING = (nan, nan, inf, nan, nan)


class _Row(Generic[Kind]):
    """A column, as one row of a table that holds several: a table is copied, cut and written to at once."""

    def __init__(self, table: str, row: int) -> None:
        self._table, self._row = table, row

    def __get__(self, columns: "Columns", owner: type["Columns"]) -> NDArray[Kind]:
        found: NDArray[Kind] = getattr(columns, self._table)[self._row]
        return found


@dataclass(frozen=True, eq=False)
class Columns:
    """One number per query in each, in the order of the snapshot's views."""

    flags: Flags
    numbers: Floats
    # By input, as many as the query with most of them has: low, high and mean of the delay of its watermarks, and the
    # standard deviations of the mean and of a single one. Not a number while unknown, where we send the watermark, or where
    # stages in front have said all: then it comes when the query is due. A mean of infinity where there is no such input.
    delays: Floats

    # In the order of `_flags` and `_numbers`.
    waiting = _Row[np.bool_]("flags", 0)  # stands at the gate
    running = _Row[np.bool_]("flags", 1)
    live = _Row[np.bool_]("flags", 2)
    may_split = _Row[np.bool_]("flags", 3)  # a batch may work for its next window before that is due
    due = _Row[np.float64]("numbers", 0)  # minus infinity before the first batch: nothing is known yet
    deadline = _Row[np.float64]("numbers", 1)
    fixed_ms = _Row[np.float64]("numbers", 2)
    per_row_ms = _Row[np.float64]("numbers", 3)
    rows_per_s = _Row[np.float64]("numbers", 4)
    backlog = _Row[np.float64]("numbers", 5)
    counted_at = _Row[np.float64]("numbers", 6)  # not a number while unknown
    window_ms = _Row[np.float64]("numbers", 7)
    split_load = _Row[np.float64]("numbers", 8)
    reads_every = _Row[np.float64]("numbers", 9)  # ms between batches that only read, since no window is due; 0 where one is
    below_ms = _Row[np.float64]("numbers", 10)  # what stages behind it cost on other nodes

    @classmethod
    def of(cls, queries: Sequence["QueryView"]) -> "Columns":
        width = max((len(q.inputs) for q in queries), default=1) or 1
        flags = np.array([_flags(q) for q in queries], dtype=bool).reshape(-1, FLAGS).T
        numbers = np.array([_numbers(q) for q in queries], dtype=float).reshape(-1, NUMBERS).T
        delays = np.array([_delays(q, width) for q in queries], dtype=float).reshape(len(queries), width, len(_UNKNOWN))
        return cls(flags.copy(), numbers.copy(), delays)

    @property
    def width(self) -> int:
        return int(self.delays.shape[1])

    def grown(self, view: "QueryView") -> "Columns":
        """With one row more, for a query that has come. Thousands may come at once: not all others are read again."""
        more = Columns.of((view,))
        width = max(self.width, more.width)
        return Columns(
            np.concatenate([self.flags, more.flags], axis=1),
            np.concatenate([self.numbers, more.numbers], axis=1),
            np.concatenate([self._widened(width), more._widened(width)]),
        )

    def put(self, row: int, view: "QueryView") -> None:
        """A query has changed, not its inputs. Only for the maker of these columns, before anything else has read them."""
        self.flags[:, row] = _flags(view)
        self.numbers[:, row] = _numbers(view)
        self.delays[row] = _delays(view, self.width)

    def copy(self) -> "Columns":
        return Columns(self.flags.copy(), self.numbers.copy(), self.delays.copy())

    def take(self, rows: "NDArray[np.intp]") -> "Columns":
        """Only these."""
        return Columns(self.flags[:, rows], self.numbers[:, rows], self.delays[rows])

    def queued(self, now: "WallMs") -> Floats:
        """As the views say: rows that wait to be read."""
        return np.asarray(self.backlog + self.rows_per_s * np.fmax(0, now - self.counted_at) / 1000)

    def cost_ms(self, now: "WallMs") -> Floats:
        """How long the batch of each would take that ran now."""
        return np.asarray(self.fixed_ms + self.per_row_ms * self.queued(now))

    def _widened(self, width: int) -> Floats:
        """The delays, with room for more inputs."""
        if width == self.width:
            return self.delays
        missing = np.broadcast_to(_MISSING, (len(self.delays), width - self.width, len(_MISSING)))
        return np.concatenate([self.delays, missing], axis=1)


def _flags(view: "QueryView") -> tuple[bool, ...]:
    return (
        view.waiting_since is not None,
        view.running,
        view.live,
        view.may_split,
    )


def _numbers(view: "QueryView") -> tuple[float, ...]:
    return (
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
        view.below_ms,
    )


def _delays(view: "QueryView", width: int) -> list[tuple[float, ...]]:
    known = [_delay(i, view.deadline) for i in view.inputs] or [_UNKNOWN]
    return known + [_MISSING] * (width - len(known))


def _delay(view: "InputView", deadline: float) -> tuple[float, ...]:
    upstream = view.upstream
    come = upstream is not None and upstream.complete is not None and upstream.complete >= deadline
    d = view.delay if view.source_sends and not come else None
    return _UNKNOWN if d is None else (d.low_ms, d.high_ms, d.mean_ms, d.mean_sd_ms, d.draw_sd_ms)
