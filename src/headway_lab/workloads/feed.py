"""A recorded stream: what happened when, when it reached us, and what it said.

A feed is in the order of arrival. To be replayed as if it were live, its times are moved to a new base and run `speed` times
as fast; both are exact functions of the original times, so base and speed tell every row that was sent.
"""

from collections.abc import Iterable, Iterator, Sized
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.errors import SettingError
from headway.sim.delays import SLICES, Delay

Longs = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Feed:
    """Rows in the order in which they arrive."""

    name: str
    event_ms: Longs  # when it happened
    arrival_ms: Longs  # when it reached us: ascending
    body: list[bytes]  # the other fields, as the inside of a JSON object: b'"vid":7,"speed":55'
    key: list[bytes] | None = None  # rows with the same key go to the same partition, in order

    def __post_init__(self) -> None:
        _require_rows(self.name, self.event_ms, self.arrival_ms, self.body, self.key)
        if (np.diff(self.arrival_ms) < 0).any():
            raise SettingError("feed", self.name, "rows in the order of arrival: see Feed.of")

    @classmethod
    def of(cls, name: str, event_ms: Longs, arrival_ms: Longs, body: list[bytes], key: list[bytes] | None = None) -> "Feed":
        """A feed from rows in any order; those that arrive together stay in theirs."""
        # Before picking: with fewer arrival times than rows, the order would leave the others out without a word.
        _require_rows(name, event_ms, arrival_ms, body, key)
        order = np.argsort(arrival_ms, kind="stable")
        picked = None if key is None else [key[i] for i in order.tolist()]
        return cls(name, event_ms[order], arrival_ms[order], [body[i] for i in order.tolist()], picked)

    def __len__(self) -> int:
        return len(self.body)

    def rebased(self, base_ms: int, speed: float = 1.0) -> "Feed":
        """The same with its first event at `base_ms`, all later times `speed` times as close to it."""
        if not speed > 0:
            raise SettingError("speed", speed, "more than 0, e.g. 10 for ten times as fast")
        first = int(self.event_ms.min(initial=np.iinfo(np.int64).max)) if len(self) else 0
        event, arrival = (base_ms + np.floor((t - first) / speed).astype(np.int64) for t in (self.event_ms, self.arrival_ms))
        return replace(self, event_ms=event, arrival_ms=arrival)

    def delayed(self, delay: Delay, seed: int = 0) -> "Feed":
        """The same with every row held back by a delay drawn by chance."""
        drawn = delay.table()[np.random.default_rng(seed).integers(0, SLICES, len(self))]
        return Feed.of(self.name, self.event_ms, self.arrival_ms + drawn, self.body, self.key)

    def between(self, since_ms: int, until_ms: int) -> "Feed":
        """The rows that happened from `since_ms` up to, not including, `until_ms`."""
        kept = np.flatnonzero((self.event_ms >= since_ms) & (self.event_ms < until_ms))
        picked = None if self.key is None else [self.key[i] for i in kept.tolist()]
        return replace(
            self, event_ms=self.event_ms[kept], arrival_ms=self.arrival_ms[kept],
            body=[self.body[i] for i in kept.tolist()], key=picked,
        )  # fmt: skip

    def _split(self, at_ms: int) -> tuple["Feed", "Feed"]:
        """What arrives before a moment, and the rest."""
        n = int(np.searchsorted(self.arrival_ms, at_ms))
        return self._slice(0, n), self._slice(n, len(self))

    def _slice(self, start: int, stop: int) -> "Feed":
        keys = None if self.key is None else self.key[start:stop]
        return Feed(self.name, self.event_ms[start:stop], self.arrival_ms[start:stop], self.body[start:stop], keys)

    def _with(self, other: "Feed") -> "Feed":
        keys = None if self.key is None or other.key is None else self.key + other.key
        times = [np.concatenate(pair) for pair in ((self.event_ms, other.event_ms), (self.arrival_ms, other.arrival_ms))]
        return Feed.of(self.name, times[0], times[1], self.body + other.body, keys)

    def rows(self) -> Iterator[tuple[int, bytes, bytes | None]]:
        """When each row is to be sent, the row itself, its key."""
        keys = [None] * len(self) if self.key is None else self.key
        for at, event, body, key in zip(self.arrival_ms.tolist(), self.event_ms.tolist(), self.body, keys, strict=True):
            yield at, b'{"event_ms":%d%s%s}' % (event, b"," if body else b"", body), key


def _require_rows(name: str, *columns: Sized | None) -> None:
    if len({len(column) for column in columns if column is not None}) != 1:
        raise SettingError("feed", name, "as many event times as arrival times, bodies and keys")


def parsed(rows: Any, schema: str) -> Any:
    """In Spark: the fields of the JSON in column `value`, text or bytes, and `event_time`, beside the other columns. What is
    not JSON has only nulls.

    `inline` parses each row once. A plain `from_json(...).*` would be parsed anew for every mention of a field in a
    filter, since Spark moves filters below projections: nine times a row, and a query took five times as long.
    """
    others = [name for name in rows.columns if name != "value"]
    once = rows.selectExpr(*others, f"inline(array(from_json(cast(value as string), '{schema}')))")
    return once.selectExpr("timestamp_millis(event_ms) as event_time", "*")


def merged(pieces: Iterable[tuple[int, Feed]]) -> Iterator[Feed]:
    """Pieces that follow each other, each with when it begins, in the order of arrival: a row that is held back may arrive
    after the next piece has begun. No row of a piece arrives before the piece begins."""
    late: Feed | None = None
    for begins_ms, piece in pieces:
        if late is None:
            late = piece
            continue
        over, late = late._split(begins_ms)
        yield over
        late = late._with(piece)
    if late is not None:
        yield late
