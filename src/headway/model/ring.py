"""A prediction ring: what a computation is expected to use in each coming window, fine near by and coarse far off.

Three rings of 30 windows of 1, 2 and 3 s look three minutes ahead. A value is the use *per second* of its window, so a
steady load has the same value in every window, however long that is. What it is a use of: see `estimate/rings.py`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from headway.errors import SettingError
from headway.model.arrays import Floats
from headway.model.time import WallMs


@dataclass(frozen=True, slots=True)
class RingShape:
    """How long the windows of each ring are, from the innermost outwards, and how many windows a ring has."""

    lengths_ms: tuple[int, ...] = (1000, 2000, 3000)
    windows: int = 30

    def __post_init__(self) -> None:
        if not self.lengths_ms or any(not length > 0 for length in self.lengths_ms):
            raise SettingError("ring.lengths_ms", self.lengths_ms, "one window length or more, each of 1 ms or more")
        if not self.windows > 0:
            raise SettingError("ring.windows", self.windows, "1 window or more in each ring")

    @property
    def count(self) -> int:
        """Rings."""
        return len(self.lengths_ms)

    @property
    def size(self) -> int:
        """Windows of all rings."""
        return self.count * self.windows

    @property
    def span_ms(self) -> int:
        """How far ahead all of them look together."""
        return self.windows * sum(self.lengths_ms)

    @property
    def starts_ms(self) -> NDArray[np.int64]:
        """When each window begins, after the ring's own moment."""
        return _starts(self)

    @property
    def widths_ms(self) -> NDArray[np.int64]:
        return _widths(self)


@lru_cache(maxsize=64)
def _widths(shape: RingShape) -> NDArray[np.int64]:
    return _kept(np.repeat(np.array(shape.lengths_ms, dtype=np.int64), shape.windows))


@lru_cache(maxsize=64)
def _starts(shape: RingShape) -> NDArray[np.int64]:
    widths = _widths(shape)
    return _kept(np.cumsum(widths) - widths)


def _kept(values: NDArray[np.int64]) -> NDArray[np.int64]:
    values.setflags(write=False)  # all callers get the same array
    return values


NEPTUNE = RingShape()
BEGINNING = WallMs(0)


@dataclass(frozen=True, slots=True, eq=False)
class Ring:
    """All rings of one computation, or the sum of many; the first window begins at `at`. `values` are read-only."""

    shape: RingShape
    at: WallMs
    values: Floats  # shape.size of them

    def __post_init__(self) -> None:
        if self.values.shape != (self.shape.size,):
            raise ValueError(f"a ring of {self.shape.size} windows has no values of shape {self.values.shape}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ring):
            return NotImplemented
        return (self.shape, self.at) == (other.shape, other.at) and np.array_equal(self.values, other.values)

    def __hash__(self) -> int:
        return hash((self.shape, self.at))


@dataclass(frozen=True, slots=True, eq=False)
class Rings:
    """The rings of many computations, all of one moment: a row for each."""

    shape: RingShape
    at: WallMs
    values: Floats  # [n, shape.size]

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.values.shape[1] != self.shape.size:
            raise ValueError(f"rings of {self.shape.size} windows have no values of shape {self.values.shape}")

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, row: int) -> Ring:
        return Ring(self.shape, self.at, self.values[row])

    def __iter__(self) -> Iterator[Ring]:
        return (self[row] for row in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rings):
            return NotImplemented
        return (self.shape, self.at) == (other.shape, other.at) and np.array_equal(self.values, other.values)

    def __hash__(self) -> int:
        return hash((self.shape, self.at, len(self)))


def no_load(shape: RingShape = NEPTUNE, at: WallMs = BEGINNING) -> Ring:
    """The ring of a node on which nothing runs."""
    return Ring(shape, at, np.zeros(shape.size))
