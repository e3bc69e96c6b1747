"""How long the network holds an event back: delay models as tables that SQL and numpy read alike.

A model is reduced to 1,024 whole milliseconds, its inverse distribution function at the mid-points of 1,024 equal
slices. Ten random bits then pick a delay, with no arithmetic on which two engines could round differently. The last
slice ends unbounded models at their quantile 1 - 1/2048.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from headway.errors import SettingError

SLICES = 1_024  # a power of two: the index is ten bits of a hash


class Delay(ABC):
    """A distribution of network delays, in milliseconds, none of them negative."""

    @abstractmethod
    def quantile(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """The delay that a share `p` of the events does not exceed."""

    def table(self) -> NDArray[np.int64]:
        """1,024 equally likely delays, ascending."""
        return _table(self)

    @property
    def max_ms(self) -> int:
        """No event is held back longer than this."""
        return int(self.table()[-1])


@lru_cache
def _table(delay: Delay) -> NDArray[np.int64]:
    middles = (np.arange(SLICES) + 0.5) / SLICES
    table = np.rint(delay.quantile(middles)).astype(np.int64)
    table.flags.writeable = False  # shared by every caller
    return table


@dataclass(frozen=True)
class Constant(Delay):
    """Every event is held back equally long."""

    ms: int = 0

    def __post_init__(self) -> None:
        _require(self.ms >= 0, self, "0 ms or more")

    def quantile(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.full_like(p, self.ms)


@dataclass(frozen=True)
class Uniform(Delay):
    """Any delay between two bounds is equally likely."""

    low_ms: float
    high_ms: float

    def __post_init__(self) -> None:
        _require(0 <= self.low_ms <= self.high_ms, self, "0 <= low_ms <= high_ms")

    def quantile(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.low_ms + p * (self.high_ms - self.low_ms)


@dataclass(frozen=True)
class Zipf(Delay):
    """A delay of `r` ms has a weight of `r ** -exponent`, for r = 1 .. max_ms: mostly short, with a heavy tail."""

    exponent: float = 0.99
    max_ms: int = 500  # the model's own bound, in place of the table's

    def __post_init__(self) -> None:
        _require(self.exponent >= 0 and self.max_ms >= 1, self, "exponent >= 0 and max_ms >= 1")

    def quantile(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        weights = np.arange(1, self.max_ms + 1, dtype=np.float64) ** -self.exponent
        reached = np.cumsum(weights) / weights.sum()
        return np.minimum(np.searchsorted(reached, p) + 1, self.max_ms).astype(np.float64)


@dataclass(frozen=True)
class Gamma(Delay):
    """The sum of `shape` exponential hops of `scale_ms` each; the mean is `shape * scale_ms`."""

    shape: float
    scale_ms: float

    def __post_init__(self) -> None:
        _require(self.shape > 0 and self.scale_ms > 0, self, "shape > 0 and scale_ms > 0")

    def quantile(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self.scale_ms * gammaincinv(self.shape, p), dtype=np.float64)


@dataclass(frozen=True)
class Exponential(Delay):
    """One hop that forgets how long it has already taken."""

    mean_ms: float

    def __post_init__(self) -> None:
        _require(self.mean_ms > 0, self, "mean_ms > 0")

    def quantile(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        return -self.mean_ms * np.log1p(-p)


KINDS: dict[str, type[Any]] = {
    "constant": Constant,
    "uniform": Uniform,
    "zipf": Zipf,
    "gamma": Gamma,
    "exponential": Exponential,
}


def parse(text: str) -> Delay:
    """The delay that a text such as `uniform:0:500` or `zipf` names; numbers follow in the order of the fields."""
    kind, *numbers = text.strip().split(":")
    if kind not in KINDS:
        raise SettingError("delay", text, f"one of {', '.join(_usage(name) for name in KINDS)}")
    model = KINDS[kind]
    try:
        values = [int(n) if f.type is int else float(n) for f, n in zip(fields(model), numbers, strict=False)]
        if len(values) < len(numbers) or not np.isfinite(values).all():
            raise ValueError(text)
        delay: Delay = model(*values)
    except (TypeError, ValueError):
        raise SettingError("delay", text, _usage(kind)) from None
    return delay


def _usage(kind: str) -> str:
    return ":".join([kind, *(field.name for field in fields(KINDS[kind]))])


def _require(fits: bool, delay: Delay, want: str) -> None:
    if not fits:
        raise SettingError("delay", delay, want)
