"""Rows that a sample is taken of, as columns; and what a batch tells of those that it has read."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headway.loop.sampler import CELL_MS
from headway.model.arrays import Floats
from headway.model.message import InputSeen
from headway.model.sampling import SubStreamSeen
from headway.model.time import EventMs

BINS = 64  # of the histogram of delays: as many as a batch of Spark's tells of


@dataclass(frozen=True, eq=False, slots=True)
class SampledRows:
    """Rows in the order in which they come in; time is in milliseconds since the first one happened."""

    event_ms: Floats
    arrival_ms: Floats
    value: Floats
    chance: Floats  # evenly between 0 and 1: a row is taken if the rate is above it, whichever policy sets the rate
    points: NDArray[np.int64] | None = None  # the number of each, where the query is about points

    def __len__(self) -> int:
        return len(self.event_ms)


@dataclass(frozen=True, eq=False, slots=True)
class WindowSample:
    """Rows of a window that were taken, with the rate at which."""

    value: Floats
    rate: Floats
    points: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, rows: SampledRows, at: NDArray[np.int64], rate: Floats) -> "WindowSample":
        return cls(rows.value[at], rate, None if rows.points is None else rows.points[at])

    def __len__(self) -> int:
        return len(self.value)


def read(name: str, rows: SampledRows, batch: slice) -> InputSeen:
    """What the batch that has read these rows tells of them, taken or not."""
    event = rows.event_ms[batch]
    if not len(event):
        return InputSeen(name, 0)
    newest = EventMs(int(event.max()))
    return InputSeen(
        name, len(event), newest, EventMs(int(event.min())), histogram(rows, batch), foremost=newest,
        substreams=tuple(cells(rows, batch)),
    )  # fmt: skip


def cells(rows: SampledRows, batch: slice) -> list[SubStreamSeen]:
    """What a batch read of each cell, late rows too."""
    event, value = rows.event_ms[batch], rows.value[batch]
    if not len(event):
        return []
    delay = rows.arrival_ms[batch] - event
    index = (event // CELL_MS).astype(np.int64)
    first = int(index.min())
    at, square = index - first, value * value
    sums = [np.bincount(at, w) for w in (delay, delay * delay, value, square, square * value, delay * value)]
    counts = np.bincount(at)
    there = np.flatnonzero(counts)
    columns = (first + there, counts[there], *(of[there] for of in sums))
    return [SubStreamSeen(*cell) for cell in zip(*(column.tolist() for column in columns), strict=True)]


def histogram(rows: SampledRows, batch: slice) -> tuple[tuple[float, float], ...]:
    """Delays of a batch in bins of one width, each with the mean delay of its rows; the longest stands alone."""
    delay = np.rint(rows.arrival_ms[batch] - rows.event_ms[batch])  # they are whole, but for the last digits of a float
    if not len(delay):
        return ()
    low, longest = float(delay.min()), float(delay.max())
    width = (longest - low) / BINS
    at = np.minimum((delay - low) / width, BINS - 1).astype(np.int64) if width > 0 else np.zeros(len(delay), np.int64)
    counts, sums = np.bincount(at), np.bincount(at, delay)
    # One of the last bin is the longest itself.
    counts[-1], sums[-1] = counts[-1] - 1, sums[-1] - longest
    there = np.flatnonzero(counts)
    return (*zip((sums[there] / counts[there]).tolist(), counts[there].tolist(), strict=True), (longest, 1.0))
