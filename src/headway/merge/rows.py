"""What leaves a gate: tuples with their writer, their number within it, and how they came to leave."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntFlag
from itertools import repeat
from operator import index
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from headway.errors import SettingError

Ints = NDArray[np.int64]
Flags = NDArray[np.uint8]


class Flag(IntFlag):
    """How a tuple left. Ready is the absence of any mark: nothing that sorts before it can come any more."""

    READY = 0
    SLACK_READY = 1  # left because its slack was used up; something may come that sorts before it
    LATE = 2  # came when its reader had already read beyond it


class Row(NamedTuple):
    """One tuple as a reader gets it."""

    timestamp: int
    writer: int
    sequence: int
    payload: Any
    flag: Flag


@dataclass(frozen=True, slots=True)
class Rows:
    """Many tuples as a reader gets them, one array per column."""

    timestamps: Ints
    writers: Ints
    sequences: Ints
    payloads: NDArray[Any]
    flags: Flags

    def __len__(self) -> int:
        return len(self.timestamps)

    def __getitem__(self, part: slice | Ints) -> Self:
        return type(self)(*(column[part] for column in self._columns()))

    def rows(self) -> list[Row]:
        *plain, flags = (column.tolist() for column in self._columns())
        # What `Row._make` does, without a step of the interpreter for each.
        return list(map(tuple.__new__, repeat(Row), zip(*plain, map(FLAGS.__getitem__, flags), strict=True)))

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Self:
        timestamps, writers, sequences, payloads, flags = zip(*rows, strict=True) if rows else ((),) * 5
        return cls(
            np.array(timestamps, np.int64),
            np.array(writers, np.int64),
            np.array(sequences, np.int64),
            np.fromiter(payloads, object, len(payloads)),
            np.array(flags, np.uint8),
        )

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        filled = [part for part in parts if len(part)] or list(parts[:1])
        if len(filled) == 1:
            return filled[0]
        numbers = ("timestamps", "writers", "sequences", "flags")
        columns = {name: np.concatenate([getattr(part, name) for part in filled]) for name in numbers}
        return cls(**columns, payloads=together([part.payloads for part in filled]))

    def _columns(self) -> tuple[NDArray[Any], ...]:
        return self.timestamps, self.writers, self.sequences, self.payloads, self.flags


class MergeGate(Protocol):
    """What all ways to merge have in common: many writers, and readers that each get every tuple once."""

    def insert(self, item: tuple[int, Any], writer: int) -> None: ...
    def insert_many(self, timestamps: Ints | Sequence[int], payloads: Iterable[Any], writer: int) -> None: ...
    def get(self, reader: int) -> Row | None: ...
    def get_many(self, reader: int, most: int | None = None) -> Rows: ...


FLAGS = tuple(Flag(bits) for bits in range(4))


def together(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Payloads of several writers in one array; of different types they stay what they are, as objects."""
    same = all(column.dtype == columns[0].dtype for column in columns)
    return np.concatenate(columns) if same else np.concatenate(columns, dtype=object)


def batch(timestamps: object, payloads: Iterable[Any]) -> tuple[Ints, NDArray[Any]]:
    """What is to be inserted, as two arrays of one length."""
    value = np.asarray(timestamps)
    if value.ndim != 1 or (value.size and not np.can_cast(value.dtype, np.int64, "safe")) or value.dtype == bool:
        raise SettingError("timestamps", value.dtype.name, "one row of whole milliseconds, such as an int64 array")
    whole = isinstance(payloads, np.ndarray) and payloads.ndim == 1
    column: NDArray[Any] = payloads if whole else np.fromiter(payloads, object)  # type: ignore[assignment]
    if len(column) != len(value):
        raise SettingError("payloads", f"{len(column)} of them", f"one for each of the {len(value)} timestamps")
    return value.astype(np.int64, copy=False), column


def timestamp_of(value: object) -> int:
    """A single timestamp that fits where those of batches do."""
    try:
        timestamp = index(value)  # type: ignore[arg-type]
    except TypeError:
        timestamp = 2**63
    if not -(2**63) <= timestamp < 2**63:
        raise SettingError("timestamp", value, "whole milliseconds")
    return timestamp


def number(key: str, value: object, least: int) -> int:
    """How many of something."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= least:
        return value
    raise SettingError(key, value, f"a whole number of {least} or more")


T = TypeVar("T")


def numbered(of: Sequence[T], value: int, key: str) -> T:
    """The reader or writer with this number."""
    try:
        if value >= 0:
            return of[value]
    except (IndexError, TypeError):
        pass
    raise SettingError(key, value, f"a number from 0 to {len(of) - 1}")
