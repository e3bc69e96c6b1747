"""K-slack: a buffer that sorts one disordered stream by waiting until the newest timestamp is K ahead.

After Mutschler and Philippsen, "Distributed Low-Latency Out-of-Order Event Processing" (IPDPS 2013), with a fixed K. It
takes all writers for one stream and does not ask of them to be sorted; what it does not know, it cannot use.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from threading import Lock
from typing import Any

import numpy as np

from headway.errors import SettingError
from headway.merge.log import BEFORE_ALL
from headway.merge.rows import Flag, Ints, Row, Rows, batch, number, numbered, timestamp_of

BufferKey = tuple[float, int, int]  # timestamp, writer, sequence


class KSlackReader:
    """What one reader has still to read: what has just come, and what waits, as a heap or sorted, by how it reads."""

    def __init__(self) -> None:
        self.come: list[Row | Rows] = []
        self.heap: list[Row] = []
        self.sorted: Rows = Rows.of([])
        self.head: BufferKey = (BEFORE_ALL, 0, 0)  # the greatest key that it has read


class KSlack:
    """Gives every reader all tuples once, in timestamp order but for those that come more than `k_ms` late."""

    def __init__(self, k_ms: int, readers: int = 1) -> None:
        self._k_ms = number("k_ms", k_ms, 0)
        self._readers = [KSlackReader() for _ in range(number("readers", readers, 1))]
        self._written: Counter[int] = Counter()
        self._newest: float = BEFORE_ALL
        self._lock = Lock()

    def insert(self, item: tuple[int, Any], writer: int = 0) -> None:
        timestamp = timestamp_of(item[0])
        with self._lock:
            row = Row(timestamp, _writer(writer), self._written[writer], item[1], Flag.READY)
            self._written[writer] += 1
            self._newest = max(self._newest, timestamp)
            for place in self._readers:
                place.come.append(row)

    def insert_many(self, timestamps: Ints | Sequence[int], payloads: Iterable[Any], writer: int = 0) -> None:
        stamps, column = batch(timestamps, payloads)
        if not len(stamps):
            return
        with self._lock:
            first = self._written[_writer(writer)]
            self._written[writer] += len(stamps)
            self._newest = max(self._newest, int(stamps.max()))
            sequences = np.arange(first, self._written[writer])
            flags = np.zeros(len(stamps), np.uint8)
            # Copies, because what the caller gave is the caller's to change.
            rows = Rows(stamps.copy(), np.full(len(stamps), writer, np.int64), sequences, column.copy(), flags)
            for place in self._readers:
                place.come.append(rows)

    def get(self, reader: int = 0) -> Row | None:
        """The next tuple of this reader, or None while none may leave."""
        place = numbered(self._readers, reader, "reader")
        with self._lock:
            heap = _heap(place)
            if not heap or not (heap[0][:3] < place.head or self._newest - heap[0].timestamp >= self._k_ms):
                return None
            row = heappop(heap)
            if row[:3] < place.head:
                return row._replace(flag=Flag.LATE)
            place.head = row[:3]
            return row

    def get_many(self, reader: int = 0, most: int | None = None) -> Rows:
        """All that as many single reads would give, or the first `most` of them."""
        place = numbered(self._readers, reader, "reader")
        left = None if most is None else number("most", most, 0)
        with self._lock:
            rows = _sorted(place)
            late = _count(rows, place.head)
            waited = bisect_right(rows.timestamps, self._newest - self._k_ms)
            out, place.sorted = (rows[part] for part in _halves(max(late, waited), left))
            if len(out):
                out = Rows(out.timestamps, out.writers, out.sequences, out.payloads, np.zeros(len(out), np.uint8))
                out.flags[:late] = Flag.LATE
                last = (out.timestamps.item(-1), out.writers.item(-1), out.sequences.item(-1))
                place.head = max(place.head, last)
            return out


def _heap(place: KSlackReader) -> list[Row]:
    """What waits, for reading one by one."""
    if len(place.sorted):
        place.heap, place.sorted = place.sorted.rows(), Rows.of([])  # a sorted list is a heap
    for come in place.come:
        for row in come.rows() if isinstance(come, Rows) else (come,):
            heappush(place.heap, row)
    place.come.clear()
    return place.heap


def _sorted(place: KSlackReader) -> Rows:
    """What waits, for reading many at once."""
    singles = [row for row in place.come if isinstance(row, Row)]
    many = [rows for rows in place.come if isinstance(rows, Rows)]
    if not place.heap and not place.come:
        return place.sorted
    rows = Rows.joined([place.sorted, Rows.of(place.heap), Rows.of(singles), *many])
    place.heap, place.come = [], []
    return rows[np.lexsort((rows.sequences, rows.writers, rows.timestamps))]


def _count(rows: Rows, below: BufferKey) -> int:
    """How many of these sorted rows lie below a key."""

    def key(at: int) -> BufferKey:
        return rows.timestamps.item(at), rows.writers.item(at), rows.sequences.item(at)

    return bisect_left(range(len(rows)), below, key=key)


def _halves(count: int, most: int | None) -> tuple[slice, slice]:
    cut = count if most is None else min(count, most)
    return slice(cut), slice(cut, None)


def _writer(value: int) -> int:
    if not isinstance(value, int) or value < 0:
        raise SettingError("writer", value, "a whole number of 0 or more")
    return value
