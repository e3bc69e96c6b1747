"""What the tests of the gates share: streams, scripts of writes and reads, and the paper's algorithms done plainly."""

from bisect import insort
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf
from random import Random
from typing import Any

from hypothesis import strategies as st

from headway.merge.rows import Flag, MergeGate, Row, Rows

Triple = tuple[int, int, int]  # timestamp, writer, sequence
PlayedStep = tuple[Any, ...]
WRITERS, READERS = 3, 2

gaps = st.lists(st.integers(0, 6), min_size=1, max_size=4)
steps = st.one_of(
    st.tuples(st.just("write"), st.integers(0, WRITERS - 1), gaps),
    st.tuples(st.just("write many"), st.integers(0, WRITERS - 1), gaps),
    st.tuples(st.just("read"), st.integers(0, READERS - 1)),
    st.tuples(st.just("read many"), st.integers(0, READERS - 1), st.none() | st.integers(0, 5)),
)
scripts: st.SearchStrategy[list[PlayedStep]] = st.lists(steps, max_size=60)


@dataclass
class Paper:
    """Algorithms 1-3 one tuple at a time: a sorted list and a priority queue per reader, with keys for timestamps."""

    slt_ms: float
    frontiers: list[float] = field(default_factory=lambda: [-inf] * WRITERS)
    written: list[int] = field(default_factory=lambda: [0] * WRITERS)
    main: list[list[Triple]] = field(default_factory=lambda: [[] for _ in range(READERS)])
    queues: list[list[Triple]] = field(default_factory=lambda: [[] for _ in range(READERS)])
    read: list[Triple | None] = field(default_factory=lambda: [None] * READERS)

    @property
    def merge(self) -> tuple[float, int]:
        return min((frontier, writer) for writer, frontier in enumerate(self.frontiers))

    @property
    def spread_ms(self) -> float:
        return max(self.frontiers) - min(self.frontiers) if max(self.frontiers) > -inf else 0.0

    def insert(self, item: tuple[int, Any], writer: int) -> None:
        key = (item[0], writer, self.written[writer])
        for reader, last in enumerate(self.read):
            if last is not None and last > key:
                heappush(self.queues[reader], key)
            else:
                insort(self.main[reader], key)
        self.written[writer] += 1
        self.frontiers[writer] = item[0]

    def insert_many(self, timestamps: Any, payloads: Any, writer: int) -> None:
        for item in zip(timestamps, payloads, strict=True):
            self.insert(item, writer)

    def get_many(self, reader: int, most: int | None = None) -> Rows:
        rows: list[Row] = []
        while len(rows) != most and (row := self.get(reader)) is not None:
            rows.append(row)
        return Rows.of(rows)

    def get(self, reader: int) -> Row | None:
        if self.queues[reader]:
            key = heappop(self.queues[reader])
            return row(key, Flag.LATE if key[:2] <= self.merge else Flag.LATE | Flag.SLACK_READY)
        if not self.main[reader]:
            return None
        key = self.main[reader][0]
        ready = key[:2] <= self.merge
        if not ready and not max(self.frontiers) - key[0] > self.slt_ms:
            return None
        self.read[reader] = self.main[reader].pop(0)
        return row(key, Flag.READY if ready else Flag.SLACK_READY)


def row(key: Triple, flag: Flag) -> Row:
    return Row(*key, f"{key[1]}-{key[2]}", flag)


class Player:
    """Plays scripts on a gate, with payloads that say who wrote them, and keeps what each reader got."""

    def __init__(self, gate: MergeGate) -> None:
        self.gate = gate
        self.now = [0] * WRITERS
        self.keys: list[list[Triple]] = [[] for _ in range(WRITERS)]  # all that was written
        self.got: list[list[Row]] = [[] for _ in range(READERS)]

    def play(self, step: PlayedStep) -> list[Row]:
        """One step; what it read, if it did."""
        match step:
            case ("write" | "write many" as how, writer, gaps):
                self.write(writer, gaps, many=how == "write many")
            case ("read", reader):
                row = self.gate.get(reader)
                return self._keep(reader, [] if row is None else [row])
            case ("read many", reader, most):
                return self._keep(reader, self.gate.get_many(reader, most).rows())
        return []

    def write(self, writer: int, gaps: list[int], many: bool = False) -> None:
        new: list[Triple] = []
        for gap in gaps:
            self.now[writer] += gap
            new.append((self.now[writer], writer, len(self.keys[writer]) + len(new)))
        self.keys[writer] += new
        if many:
            self.gate.insert_many([key[0] for key in new], [row(key, Flag.READY).payload for key in new], writer)
        else:
            for key in new:
                self.gate.insert((key[0], row(key, Flag.READY).payload), writer)

    def unread(self, reader: int, upto: tuple[int, int]) -> list[Triple]:
        """By sorting: all that was written and that this reader has not got, up to a timestamp and writer."""
        got = {row[:3] for row in self.got[reader]}
        return sorted(key for keys in self.keys for key in keys if key not in got and key[:2] <= upto)

    def _keep(self, reader: int, rows: list[Row]) -> list[Row]:
        self.got[reader] += rows
        return rows


def dense_streams(chance: Random, writers: int, length: int, gap: int) -> list[list[int]]:
    """Sorted timestamps that never rest for more than `gap`, with many ties, and a last one that all have in common."""
    streams = []
    for _ in range(writers):
        now, stream = 0, []
        while now < length:
            stream.append(now := now + chance.randint(0, gap))
        streams.append([*(min(t, length) for t in stream), length])
    return streams


def compatible_order(chance: Random, streams: list[list[int]], slt_ms: int) -> list[int]:
    """Whose turn it is to write: at random, but the newest frontier never leads the oldest by more than the slack."""
    at = [0] * len(streams)
    order = []
    while any(n < len(s) for n, s in zip(at, streams, strict=True)):
        # Who has not written yet stands at the start of time: 0.
        oldest = min(s[n - 1] if n else 0 for n, s in zip(at, streams, strict=True))
        able = [w for w, s in enumerate(streams) if at[w] < len(s) and s[at[w]] - oldest <= slt_ms]
        writer = chance.choice(able)
        order.append(writer)
        at[writer] += 1
    return order
