"""Answers from a sample, each with its bounds: the one place in Python that works them out.

A row that is taken with probability theta stands for u = 1 / theta rows. Of a window of which a share a was there, a row is
in the sample with probability theta a, and stands for w = u / a. The total of y is then sum(w y), with the variance
sum(w (w - 1) y^2) (Horvitz and Thompson), and the mean is the total of y by the total of ones (Hajek).

On Spark `jvm/headway/Answer.java` does the same from the same sums. Both are held to `tests/golden/answers.json`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, inf, sqrt
from typing import Self

import numpy as np

from headway.estimate.delays import normal_half_width
from headway.estimate.sample_size import LEAST, sound_rows
from headway.model.arrays import Floats
from headway.model.offset import MILLION, Sampled

NOTHING = 1e-12  # relative: what is left of a variance of nothing, in a sum of many digits


@dataclass(frozen=True, slots=True)
class Certainty:
    """How much of a window was there when it went out, and how far its bounds are from an answer."""

    z: float  # standard deviations, where the answer is normal
    widest: float  # the same of any answer (Chebyshev)
    seen: float = 1.0
    unsure: float = 0.0  # by which share of it `seen` may be off

    @classmethod
    def of(cls, sampled: Sampled) -> Self:
        """As the control offset of a batch tells it."""
        return cls(sampled.z / MILLION, sampled.widest / MILLION, sampled.seen / MILLION, sampled.unsure / MILLION)

    @classmethod
    def at(cls, confidence: float, seen: float = 1.0, unsure: float = 0.0) -> Self:
        return cls(normal_half_width(confidence), 1 / sqrt(1 - confidence), seen, unsure)


@dataclass(frozen=True, slots=True)
class Answer:
    """An estimate, and from where to where the exact answer may be; None of no rows."""

    estimate: float | None
    lower: float | None
    upper: float | None
    sample: int  # rows
    seen: float = 1.0
    sound: bool = True  # false: no curve can be trusted, and the bounds are Chebyshev's

    def error(self, exact: float) -> float:
        """Relative to the exact answer; an answer that is missing is off by all of it."""
        return abs((self.estimate or 0.0) - exact) / max(abs(exact), NOTHING)

    @property
    def width(self) -> float:
        """Of its bounds, relative to the estimate."""
        if self.estimate is None or self.lower is None or self.upper is None:
            return inf
        return (self.upper - self.lower) / max(abs(self.estimate), NOTHING)

    def holds(self, exact: float) -> bool:
        """Whether the exact answer is within its bounds; an answer that is missing rules nothing out."""
        if self.lower is None or self.upper is None:
            return True
        hair = 1e-9 * max(1.0, abs(exact))  # sums of the same rows in another order
        return self.lower - hair <= exact <= self.upper + hair


def deviations(rows: int, sound: bool, sure: Certainty) -> float:
    """How many standard deviations a bound is away from its estimate."""
    z = sure.z
    student = z + (z * z * z + z) / (4 * max(1, rows - 1))  # for few rows, by its first terms
    return student if sound else max(student, sure.widest)


def bounded(estimate: float, sd: float, rows: int, normal: bool, sure: Certainty) -> Answer:
    """An estimate of that deviation with its bounds; `normal`: its curve can be trusted."""
    exact = sd <= NOTHING * abs(estimate)
    sound = exact or normal
    half = 0.0 if exact else sd * deviations(rows, sound, sure)
    return Answer(estimate, estimate - half, estimate + half, rows, sure.seen, sound)


def none_of(sure: Certainty) -> Answer:
    """The answer of no rows."""
    return Answer(None, None, None, 0, sure.seen, False)


@dataclass(frozen=True, slots=True)
class Sums:
    """Over the rows of a sample: how many, and products of u and y."""

    n: int
    u: float = 0.0
    uu: float = 0.0
    uy: float = 0.0
    uyy: float = 0.0
    uyyy: float = 0.0
    uuy: float = 0.0
    uuyy: float = 0.0

    @classmethod
    def of(cls, value: Floats, rate: Floats) -> Self:
        """Of rows with these values, each taken with its rate."""
        u, y = 1 / rate, value
        uy, uu = u * y, u * u
        products = (u, uu, uy, uy * y, uy * y * y, uu * y, uy * uy)
        return cls(len(value), *(float(np.sum(product)) for product in products))

    def mean(self, sure: Certainty) -> Answer:
        if self.n == 0:
            return none_of(sure)
        mean = self.uy / self.u
        spread = self.uuyy - 2 * mean * self.uuy + mean * mean * self.uu
        spread -= sure.seen * (self.uyy - 2 * mean * self.uy + mean * mean * self.u)
        return bounded(mean, sqrt(max(0.0, spread)) / self.u, self.n, self.sound, sure)

    def total(self, sure: Certainty) -> Answer:
        if self.n == 0:
            return none_of(sure)
        total = self.uy / sure.seen
        left_out = max(0.0, self.uuyy / (sure.seen * sure.seen) - self.uyy / sure.seen)
        return bounded(total, sqrt(left_out + sure.unsure**2 * total**2), self.n, self.sound, sure)

    def number(self, sure: Certainty) -> Answer:
        """The total of ones: where there are none, that is their number."""
        return self.total(sure) if self.n else Answer(0.0, 0.0, 0.0, 0, sure.seen, False)

    def quantile(self, share: float, percentiles: Sequence[float], sure: Certainty) -> Answer:
        """Of percentiles from 0 to 100 and, last, the wanted one: its bounds are those of its rank."""
        if self.n == 0:
            return none_of(sure)
        *percent, wanted = percentiles
        enough, last = self.n >= LEAST, len(percent) - 1
        off = self.rank_off(share, sure.seen, sure.z if enough else sure.widest)
        if off == 0:
            return Answer(wanted, wanted, wanted, self.n, sure.seen, True)
        low, high = max(0, floor((share - off) * last)), min(last, ceil((share + off) * last))
        return Answer(wanted, percent[low], percent[high], self.n, sure.seen, enough)

    def rank_off(self, share: float, seen: float, z: float) -> float:
        """By how much the rank of a quantile may be off."""
        left_out = max(0.0, 1 - self.n * seen / self.u)
        return z * sqrt(share * (1 - share) * left_out / max(1, self.n - 1))

    @property
    def sound(self) -> bool:
        """Whether there are rows enough for a normal curve, given how skewed their values are."""
        return self.n >= sound_rows(self.skew)

    @property
    def skew(self) -> float:
        mean = self.uy / self.u
        second = self.uyy / self.u - mean * mean
        third = self.uyyy / self.u - 3 * mean * self.uyy / self.u + 2 * mean**3
        return float(third / second**1.5) if second > NOTHING * mean * mean else 0.0
