"""How fast a stream is sent, by the time since it was activated: fixed rates, recurring ones, and streams that sleep first.

A profile says how many rows each second has. It is a pure function of its settings and the second, so any stretch of it can
be asked for at any time, by a producer and by a reader that wants to know what it will send.
"""

from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np

from headway.errors import SettingError
from headway.model.arrays import Floats
from headway_lab.workloads.hashing import Longs, take_bits, xxhash64

NOISE_BITS = (0, 20)
HARMONICS = 3
LONGEST_S = 86_400


class LoadProfile(Protocol):
    """A rate over time."""

    def rows(self, since_s: int, until_s: int) -> Longs:
        """How many rows are sent in each of these whole seconds, counted from the activation of the stream."""
        ...


@dataclass(frozen=True, slots=True)
class SteadyRate:
    """A fixed rate with a fixed variability: each second differs from it by up to that share, by chance."""

    per_s: int
    variability: float = 0.05
    seed: int = 1

    def __post_init__(self) -> None:
        _require_rate(self.per_s, self.variability)

    def rows(self, since_s: int, until_s: int) -> Longs:
        seconds = np.arange(since_s, until_s, dtype=np.int64)
        return _whole(self.per_s * _noise(self.seed, self.variability, seconds))


@dataclass(frozen=True, slots=True)
class RecurringRate:
    """A rate that goes up and down around its mean and recurs after `period_s`, with a little noise on top.

    Its shape is a sum of sines drawn by the seed; it deviates from the mean by `swing` of it at the furthest.
    """

    mean_per_s: int
    period_s: int = 600
    swing: float = 0.6
    variability: float = 0.05
    seed: int = 1

    def __post_init__(self) -> None:
        _require_rate(self.mean_per_s, self.variability)
        if not 2 <= self.period_s <= LONGEST_S:
            raise SettingError("load.period_s", self.period_s, f"2 to {LONGEST_S} s")
        if not 0 <= self.swing <= 1:
            raise SettingError("load.swing", self.swing, "a share of the mean, 0 to 1")

    def rows(self, since_s: int, until_s: int) -> Longs:
        seconds = np.arange(since_s, until_s, dtype=np.int64)
        shape = _waves(self.seed, self.period_s)[seconds % self.period_s]
        return _whole(self.mean_per_s * (1 + self.swing * shape) * _noise(self.seed, self.variability, seconds))


@dataclass(frozen=True, slots=True)
class Dormant:
    """A stream that is silent until it is activated, and follows its profile from then on, counted from there."""

    profile: LoadProfile
    wakes_s: int
    sleeps_s: int | None = None  # silent again from then on

    def __post_init__(self) -> None:
        if self.wakes_s < 0 or (self.sleeps_s is not None and self.sleeps_s < self.wakes_s):
            raise SettingError("load.wakes_s", self.wakes_s, "0 or more, and not after it sleeps again")

    def rows(self, since_s: int, until_s: int) -> Longs:
        rows = np.zeros(max(0, until_s - since_s), dtype=np.int64)
        begins = max(since_s, self.wakes_s)
        ends = until_s if self.sleeps_s is None else min(until_s, self.sleeps_s)
        if begins < ends:
            rows[begins - since_s : ends - since_s] = self.profile.rows(begins - self.wakes_s, ends - self.wakes_s)
        return rows


def times_ms(rows: Longs, since_ms: int) -> Longs:
    """When each row is sent, if these are the rows of consecutive seconds: evenly within its second."""
    ends = np.cumsum(rows)
    number = np.arange(int(ends[-1]) if len(ends) else 0, dtype=np.int64)
    second = np.searchsorted(ends, number, side="right")
    within = number - (ends - rows)[second]
    return np.asarray(since_ms + second * 1_000 + within * 1_000 // rows[second], dtype=np.int64)


@cache
def _waves(seed: int, period_s: int) -> Floats:
    """One period of the shape, between -1 and 1, with a mean of nothing."""
    number = np.arange(1, HARMONICS + 1, dtype=np.int64)
    drawn = xxhash64(seed, -number)
    height = (1 + take_bits(drawn, (0, 10)) / 1_024) / number
    phase = 2 * np.pi * take_bits(drawn, (10, 10)) / 1_024
    at = 2 * np.pi * np.arange(period_s) / period_s
    shape: Floats = (height[:, None] * np.sin(number[:, None] * at + phase[:, None])).sum(axis=0)
    shape = shape - shape.mean()
    waves: Floats = shape / max(np.abs(shape).max(), 1e-12)
    waves.flags.writeable = False
    return waves


def _noise(seed: int, variability: float, seconds: Longs) -> Floats:
    """A factor for each second."""
    drawn = take_bits(xxhash64(seed, seconds), NOISE_BITS) / (1 << NOISE_BITS[1])
    factors: Floats = 1 + variability * (2 * drawn - 1)
    return factors


def _whole(rates: Floats) -> Longs:
    return np.rint(rates).astype(np.int64)


def _require_rate(per_s: int, variability: float) -> None:
    if per_s < 1:
        raise SettingError("load.rate", per_s, "1 row a second or more")
    if not 0 <= variability <= 1:
        raise SettingError("load.variability", variability, "a share of the rate, 0 to 1")
