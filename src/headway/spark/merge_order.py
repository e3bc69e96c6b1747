"""What a worker does for an ordered merge: hold rows back, and hand them over in the order of their time.

Keys are spread over a fixed number of buckets, and all that is known of a bucket is one value in Spark's state: up to where
it has handed rows over, the rows it holds back, and what the user's function remembers of each key. A bucket is called
whenever it gets rows or the watermark moves, so the point up to which it has handed over is the watermark before this one:
a row below it is late, whether its key was ever seen or not. A state per key could not tell, once it is removed.
"""

from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import pandas as pd

AT, SOURCE, HASH, BUCKET, NEVER = "__at", "__source", "__hash", "__bucket", "__never"
NULL = "__null:"  # before the name of a column: which of its rows hold nothing
EXTRA = ("source", "late", "passed")  # what a row has beside its own columns
TICK = -1  # the source of a row that only tells a bucket that it exists

Arrays = dict[str, Any]  # columns by name, all of one length
MergeStep = Callable[[Any, list[Any], Any], tuple[Iterable[Sequence[Any]], Any]]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the rows: how it comes from Spark, and how a value of it looks in Python."""

    name: str
    kind: str  # 'number', 'time' (microseconds since 1970), or 'object'
    nullable: bool
    type: str  # Spark's own word, to notice when it changes

    @property
    def masked(self) -> bool:
        """Numbers come as they are, with a column beside them that says which are null: pandas would make them floats."""
        return self.nullable and self.kind != "object"


@dataclass(frozen=True)
class MergeLayout:
    """What all buckets of a merge have in common."""

    columns: tuple[Column, ...]
    on: tuple[str, ...]
    ties: tuple[str, ...]
    one_key: bool  # the user named one column, not a list of them
    buckets: int
    zone: str = "UTC"
    forget_us: int | None = None

    @cached_property
    def arrays(self) -> tuple[str, ...]:
        """The names of all arrays that are held."""
        masks = [NULL + c.name for c in self.columns if c.masked]
        return (AT, SOURCE, HASH, *(c.name for c in self.columns), *masks)

    @property
    def names(self) -> tuple[str, ...]:
        return (*(c.name for c in self.columns), *EXTRA)

    @property
    def spread(self) -> tuple[Any, ...]:
        """What decides in which bucket a key is: it must never change."""
        return self.buckets, tuple((c.name, c.type) for c in self.columns if c.name in self.on)

    @property
    def shape(self) -> tuple[Any, ...]:
        """What rows that are held back look like: it must not change while there are any."""
        return tuple((c.name, c.kind, c.masked, c.type) for c in self.columns)


@dataclass(frozen=True)
class Bucket:
    """All that is known of the keys of one bucket, from one batch to the next."""

    spread: tuple[Any, ...]
    shape: tuple[Any, ...]
    passed_ms: int = 0  # the watermark up to which rows were handed over
    held: Arrays | None = None
    known: dict[Any, tuple[Any, int]] = field(default_factory=dict)  # by key: the user's state, and the time of its last row


def advance(
    layout: MergeLayout, step: MergeStep, bucket: Bucket, new: Arrays | None, watermark_ms: int
) -> tuple[list[Sequence[Any]], Bucket]:
    """Take in rows, hand over all that are below the watermark, and return the results and the bucket as it is then."""
    rows = _joined(layout, bucket.held, new)
    results: list[Sequence[Any]] = []
    known, held = bucket.known, rows
    if rows is not None and watermark_ms > 0:  # Spark starts every watermark at the epoch: that is none yet
        # Strictly below, as for windows: rows of the very moment may still come, and belong before what follows.
        ready = rows[AT] < watermark_ms * 1000
        held = _picked(rows, ~ready)
        if ready.any():
            known = dict(known)
            for key, mine, times in _by_key(layout, _picked(rows, ready), bucket.passed_ms):
                _hand_over(step, key, mine, times, known, layout.forget_us, results)
    if layout.forget_us is not None:
        oldest = watermark_ms * 1000 - layout.forget_us
        known = {key: it for key, it in known.items() if it[1] >= oldest}
    held = held if held is not None and len(held[AT]) else None
    passed_ms = max(bucket.passed_ms, watermark_ms)
    return results, replace(bucket, shape=layout.shape, passed_ms=passed_ms, held=held, known=known)


def _hand_over(
    step: MergeStep, key: Any, rows: list[Any], times: Any, known: dict[Any, Any], forget_us: int | None, out: list[Any]
) -> None:
    """Call the user's function, once, or once more after each silence that is long enough to forget the key."""
    state, last = known.pop(key, (None, int(times[0])))
    latest = np.maximum.accumulate(np.append(last, times))
    cuts = [] if forget_us is None else np.flatnonzero(np.diff(latest) > forget_us).tolist()
    for begin, end in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        if begin in cuts:
            state = None
        if begin < end:
            results, state = step(key, rows[begin:end], state)
            out.extend(results)
    if state is not None:
        known[key] = state, int(latest[-1])


def _by_key(layout: MergeLayout, rows: Arrays, passed_ms: int) -> Iterator[tuple[Any, list[Any], Any]]:
    """Rows that are handed over, key by key: first those that come too late, then all others, each by their time."""
    late = rows[AT] < passed_ms * 1000
    ties = [_rank(rows[name]) for name in reversed(layout.ties)]
    keys = _codes(layout, rows)
    order = np.lexsort((rows[HASH], *ties, rows[SOURCE], rows[AT], ~late, keys))
    keys, times = keys[order], rows[AT][order]
    made = _rows(layout, _picked(rows, order), late[order], passed_ms)
    where = [layout.names.index(name) for name in layout.on]
    starts = [0, *(np.flatnonzero(np.diff(keys)) + 1).tolist()]
    for begin, end in zip(starts, [*starts[1:], len(made)], strict=True):
        key = tuple(made[begin][i] for i in where)
        yield (key[0] if layout.one_key else key), made[begin:end], times[begin:end]


def _rows(layout: MergeLayout, rows: Arrays, late: Any, passed_ms: int) -> list[Any]:
    """Arrays as rows: Python's own numbers and times, and None where there is nothing."""
    passed = _times(np.array([passed_ms * 1000]), layout.zone)[0]
    values = [_values(c, rows, layout.zone) for c in layout.columns]
    values += [rows[SOURCE].tolist(), late.tolist(), [passed if too_late else None for too_late in late.tolist()]]
    return list(map(row_class(layout.names)._make, zip(*values, strict=True)))


def _values(column: Column, rows: Arrays, zone: str) -> list[Any]:
    array = rows[column.name]
    found: list[Any] = _times(array, zone) if column.kind == "time" else array.tolist()
    if column.masked:
        for i in np.flatnonzero(rows[NULL + column.name]).tolist():
            found[i] = None
    return found


def _times(micros: Any, zone: str) -> list[Any]:
    """Naive datetimes in the session's time zone, as in every Python function that Spark calls."""
    moments = micros.astype("datetime64[us]")
    if zone != "UTC":
        moments = pd.DatetimeIndex(moments, tz="UTC").tz_convert(zone).tz_localize(None).to_numpy()
    found: list[Any] = moments.tolist()
    return found


def _codes(layout: MergeLayout, rows: Arrays) -> Any:
    """A number for each row, the same for rows of the same key."""
    codes = np.zeros(len(rows[AT]), dtype=np.int64)
    masked = {c.name for c in layout.columns if c.masked}
    for name in layout.on:
        found, distinct = pd.factorize(rows[name], use_na_sentinel=False)
        if name in masked:
            found = np.where(rows[NULL + name], len(distinct), found)
        codes = pd.factorize(codes * (len(distinct) + 1) + found)[0]
    return codes


def _rank(array: Any) -> Any:
    """Numbers that a sort can compare: texts and the like become their rank among all of them, and null is the first."""
    return pd.Series(array).rank(method="dense", na_option="top").to_numpy() if array.dtype == object else array


def _joined(layout: MergeLayout, held: Arrays | None, new: Arrays | None) -> Arrays | None:
    if held is None or new is None:
        return held if new is None else new
    return {name: np.concatenate([held[name], new[name]]) for name in layout.arrays}


def _picked(rows: Arrays, which: Any) -> Arrays:
    return {name: array[which] for name, array in rows.items()}


@cache
def row_class(names: tuple[str, ...]) -> Any:
    """A named tuple for rows with these columns; a name that Python cannot have becomes its position, such as `_3`."""
    plain: Any = namedtuple("Row", names, rename=True)  # type: ignore[misc]
    # Users keep rows in their state, and a class that is made on the fly could not be found again.
    return type("Row", (plain,), {"__slots__": (), "__reduce__": lambda row: (row_of, (names, tuple(row)))})


def row_of(names: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return row_class(names)._make(values)
