"""A writer's log: its tuples in order, from the oldest that a reader has still to read to the newest."""

from bisect import bisect_right
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.errors import SettingError
from headway.merge.rows import Ints

LEAST_ROOM = 256
BEFORE_ALL = float("-inf")  # the frontier of a writer that has not written yet
OBJECT: np.dtype[Any] = np.dtype(object)


class WriterLog:
    """Sorted timestamps and their payloads, in arrays that grow at the end and are cut off at the start."""

    def __init__(self, writer: int) -> None:
        self.writer = writer
        self.first = 0  # sequence number of the oldest tuple that is kept
        self.end = 0  # sequence number of the next tuple
        self.newest: float = BEFORE_ALL
        self._base = 0  # sequence number of what lies at index 0
        self._timestamps: Ints = np.empty(LEAST_ROOM, np.int64)
        self._payloads: NDArray[Any] = np.empty(LEAST_ROOM, object)

    def __len__(self) -> int:
        return self.end - self.first

    def append(self, timestamp: int, payload: Any) -> None:
        self._check(timestamp)
        at = self._room(1, OBJECT)
        self._timestamps[at] = timestamp
        self._payloads[at] = payload
        self.end += 1
        self.newest = timestamp

    def extend(self, timestamps: Ints, payloads: NDArray[Any]) -> None:
        if not len(timestamps):
            return
        self._check(int(timestamps[0]))
        falls = np.flatnonzero(timestamps[1:] < timestamps[:-1])
        if len(falls):
            self._refuse(int(timestamps[falls[0] + 1]), int(timestamps[falls[0]]))
        at = self._room(len(timestamps), payloads.dtype)
        self._timestamps[at : at + len(timestamps)] = timestamps
        self._payloads[at : at + len(timestamps)] = payloads
        self.end += len(timestamps)
        self.newest = int(timestamps[-1])

    def timestamp(self, sequence: int) -> int:
        return self._timestamps.item(sequence - self._base)

    def payload(self, sequence: int) -> Any:
        return self._payloads.item(sequence - self._base)

    def until(self, timestamp: float, since: int) -> int:
        """The sequence number of the first tuple, from `since` on, that is newer than `timestamp`."""
        if self.newest <= timestamp or since == self.end:
            return self.end
        return self._base + bisect_right(self._timestamps, timestamp, since - self._base, self.end - self._base)

    def part(self, since: int, until: int) -> tuple[Ints, NDArray[Any]]:
        """Views that hold until the next write or forgetting."""
        part = slice(since - self._base, until - self._base)
        return self._timestamps[part], self._payloads[part]

    def forget(self, before: int) -> None:
        """Let go of what comes before this sequence number, of its payloads at once and of the room when most is empty."""
        if before <= self.first:
            return
        if self._payloads.dtype == object:
            self._payloads[self.first - self._base : before - self._base] = None
        self.first = before
        if len(self._timestamps) > max(LEAST_ROOM, 4 * len(self)):
            self._move(2 * len(self), self._payloads.dtype)

    def _room(self, more: int, dtype: np.dtype[Any]) -> int:
        """The index at which so many more find room. Payloads keep their type while all have one, else they are objects."""
        type_ = dtype if not len(self) or dtype == self._payloads.dtype else OBJECT
        if type_ != self._payloads.dtype or self.end - self._base + more > len(self._timestamps):
            self._move(2 * (len(self) + more), type_)
        return self.end - self._base

    def _move(self, room: int, dtype: np.dtype[Any]) -> None:
        kept = self.part(self.first, self.end)
        self._timestamps = np.empty(max(LEAST_ROOM, room), np.int64)
        self._payloads = np.empty(max(LEAST_ROOM, room), dtype)
        self._timestamps[: len(self)], self._payloads[: len(self)] = kept
        self._base = self.first

    def _check(self, timestamp: int) -> None:
        if timestamp < self.newest:
            self._refuse(timestamp, int(self.newest))

    def _refuse(self, timestamp: int, newest: int) -> None:
        raise SettingError(
            "timestamp",
            timestamp,
            f"{newest} or more, because writer {self.writer} has come that far: one writer for each sorted source,"
            " or KSlack for what is not sorted",
        )
