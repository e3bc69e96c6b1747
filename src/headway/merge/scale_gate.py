"""ScaleGate: several sorted streams merged into one, a tuple only once nothing can come that sorts before it.

After Gulisano et al., "ScaleJoin" (IEEE Transactions on Big Data, 2016). Tuples sort by (timestamp, writer, sequence). Each
writer has a log, each reader a place in every log; what a reader gets next is the least tuple that it has not read. So
every reader gets every tuple exactly once, however writers and readers meet.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import repeat
from operator import itemgetter
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.merge.log import BEFORE_ALL, WriterLog
from headway.merge.rows import Flag, Ints, Row, Rows, batch, number, numbered, timestamp_of, together

LogKey = tuple[float, int]  # timestamp and writer: within a writer its log keeps the order
AHEAD_FROM = 32  # with so many ready of one writer, single reads are served from a batch
AHEAD_MOST = 1024
TIDY_EVERY = 256  # single reads
NOTHING: LogKey = (float("inf"), 0)


class ScaleGateReader:
    """How far one reader has come."""

    __slots__ = ("ahead", "head", "next")

    def __init__(self, writers: int) -> None:
        self.next = [0] * writers  # per writer, the sequence number that it has still to read
        self.head: LogKey = (BEFORE_ALL, 0)  # the greatest key that it has read
        self.ahead: deque[Row] = deque()  # ready tuples on their way to single reads


class ScaleGate:
    """Gives every reader all tuples in one order, the same in every interleaving of the writers.

    A writer that has not written holds everything back. Any number of threads may write and read.
    """

    def __init__(self, writers: int, readers: int = 1) -> None:
        self._logs = [WriterLog(writer) for writer in range(number("writers", writers, 1))]
        self._frontiers: list[LogKey] = [(BEFORE_ALL, writer) for writer in range(writers)]
        self._readers = [ScaleGateReader(writers) for _ in range(number("readers", readers, 1))]
        self._lock = Lock()

    def insert(self, item: tuple[int, Any], writer: int) -> None:
        """Take in one (timestamp, payload); a writer's timestamps never fall."""
        log, timestamp = numbered(self._logs, writer, "writer"), timestamp_of(item[0])
        with self._lock:
            log.append(timestamp, item[1])
            self._frontiers[log.writer] = (timestamp, log.writer)

    def insert_many(self, timestamps: Ints | Sequence[int], payloads: Iterable[Any], writer: int) -> None:
        """Take in many tuples of one writer, or none of them if they are not sorted."""
        log = numbered(self._logs, writer, "writer")
        stamps, column = batch(timestamps, payloads)
        with self._lock:
            log.extend(stamps, column)
            self._frontiers[log.writer] = (log.newest, log.writer)

    def get(self, reader: int) -> Row | None:
        """The next tuple of this reader, or None while none may leave."""
        place = numbered(self._readers, reader, "reader")
        row = _first(place.ahead)
        if row is None:
            with self._lock:
                row = _first(place.ahead) or self._one(place)  # another thread may have filled it while we waited
        return row

    def get_many(self, reader: int, most: int | None = None) -> Rows:
        """All that as many single reads would give, or the first `most` of them."""
        place = numbered(self._readers, reader, "reader")
        left = None if most is None else number("most", most, 0)
        with self._lock:
            fetched: list[Row] = []
            while len(fetched) != left and (row := _first(place.ahead)) is not None:
                fetched.append(row)
            rows = self._take(place, self._limit(place), None if left is None else left - len(fetched))
        return Rows.joined([Rows.of(fetched), rows]) if fetched else rows

    def __len__(self) -> int:
        """How many tuples are kept for readers that have not read them."""
        with self._lock:
            self._tidy()
            return sum(map(len, self._logs))

    # ---- what may leave: all up to some key, because whatever may leave, what sorts before it may leave too

    def _merge(self) -> LogKey:
        """The least frontier: whatever comes sorts after it, as writers never fall."""
        return min(self._frontiers)

    def _limit(self, place: ScaleGateReader) -> LogKey:
        """The last key that may leave."""
        return self._merge()

    def _flag(self, place: ScaleGateReader, key: LogKey, merge: LogKey) -> Flag | None:
        """How the least unread tuple leaves; None if it may not leave yet."""
        return Flag.READY if key <= merge else None

    def _mark(self, place: ScaleGateReader, rows: Rows) -> None:
        """The same for many that leave: set those flags that are not 'ready'."""

    # ---- taking it out

    def _one(self, place: ScaleGateReader) -> Row | None:
        least, merge, many = NOTHING, self._merge(), False
        for log, after in zip(self._logs, place.next, strict=True):
            if after < log.end:
                least = min(least, (log.timestamp(after), log.writer))
                many = many or (after + AHEAD_FROM < log.end and (log.timestamp(after + AHEAD_FROM), log.writer) <= merge)
        if many and least >= place.head:
            # Nothing can come before ready tuples any more, so to fetch them ahead changes nothing but the price.
            first, *rest = self._fetched(place, merge)
            place.ahead.extend(rest)
            return first
        flag = None if least is NOTHING else self._flag(place, least, merge)
        if flag is None:
            return None
        timestamp, writer = least
        sequence = place.next[writer]
        row = Row(int(timestamp), writer, sequence, self._logs[writer].payload(sequence), flag)
        place.next[writer] = sequence + 1
        place.head = max(place.head, least)
        if sequence % TIDY_EVERY == 0:
            self._tidy()
        return row

    def _fetched(self, place: ScaleGateReader, merge: LogKey) -> list[Row]:
        """The first ready tuples, none of them late, as rows that count as read.

        By Python's own sort: numpy's gives up the interpreter while it holds our lock, and with many reading threads gets it
        back only when each of them has had its five milliseconds.
        """
        found: list[tuple[int, int, int, Any, Flag]] = []
        for writer, (log, since) in enumerate(zip(self._logs, place.next, strict=True)):
            until = min(log.until(merge[0] if writer <= merge[1] else merge[0] - 1, since), since + AHEAD_MOST)
            stamps, payloads = log.part(since, until)
            found += zip(stamps.tolist(), repeat(writer), range(since, until), payloads.tolist(), repeat(Flag.READY))
        found.sort(key=itemgetter(0, 1, 2))
        del found[AHEAD_MOST:]
        for _, writer, sequence, _, _ in found:
            place.next[writer] = sequence + 1
        place.head = max(place.head, found[-1][:2])
        self._tidy()
        return list(map(tuple.__new__, repeat(Row), found))

    def _take(self, place: ScaleGateReader, limit: LogKey, most: int | None) -> Rows:
        """All unread tuples up to `limit`, sorted, or the first `most` of them; they count as read."""
        spans = []
        for writer, (log, since) in enumerate(zip(self._logs, place.next, strict=True)):
            until = log.until(limit[0] if writer <= limit[1] else limit[0] - 1, since)
            spans.append((since, until if most is None else min(until, since + most)))
        rows = self._sorted(spans)
        if most is not None and len(rows) > most:
            rows = rows[slice(most)]
            counts = np.bincount(rows.writers, minlength=len(self._logs)).tolist()
        else:
            counts = [until - since for since, until in spans]
        if len(rows):
            self._mark(place, rows)
            place.next = [since + count for since, count in zip(place.next, counts, strict=True)]
            place.head = max(place.head, (rows.timestamps.item(-1), rows.writers.item(-1)))
            self._tidy()
        return rows

    def _sorted(self, spans: Sequence[tuple[int, int]]) -> Rows:
        """These spans of the logs as one: sorted by timestamp and else left in place, which is by writer and sequence."""
        parts = [(w, since, until, *self._logs[w].part(since, until)) for w, (since, until) in enumerate(spans)]
        filled = [part for part in parts if part[1] < part[2]] or parts[:1]
        stamps: Ints = np.concatenate([part[3] for part in filled])
        payloads: NDArray[Any] = together([part[4] for part in filled])
        writers = np.repeat([part[0] for part in filled], [until - since for _, since, until, *_ in filled])
        sequences = np.concatenate([np.arange(since, until) for _, since, until, *_ in filled])
        flags = np.zeros(len(stamps), np.uint8)
        if len(filled) == 1:
            return Rows(stamps, writers, sequences, payloads, flags)
        order = np.argsort(stamps, kind="stable")
        return Rows(stamps[order], writers[order], sequences[order], payloads[order], flags)

    def _tidy(self) -> None:
        """Let go of what all readers have read."""
        for writer, log in enumerate(self._logs):
            log.forget(min(place.next[writer] for place in self._readers))


def _first(rows: deque[Row]) -> Row | None:
    """The first of them, taken out; without the lock another thread may be faster, but none gets it twice."""
    try:
        return rows.popleft() if rows else None
    except IndexError:
        return None
