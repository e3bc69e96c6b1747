"""Answers from a sample, with an interval; and the exact ones, from all rows.

A row that happened is in the sample if it had come in, and then with the rate of its batch. The chance of both together is
its weight's inverse: that is all that Horvitz and Thompson's total and Hajek's mean need to know.
"""

from dataclasses import dataclass

import numpy as np

from headway.model.arrays import Floats
from headway_lab.workloads.approximate.kmeans import clustered
from headway_lab.workloads.approximate.kmeans import points as table
from headway_lab.workloads.hashing import Longs


@dataclass(frozen=True, slots=True)
class Answer:
    """An estimate, and from where to where the exact answer may be."""

    estimate: float
    lower: float
    upper: float
    rows: int  # of the sample

    def error(self, exact: float) -> float:
        """Relative to the exact answer."""
        return abs(self.estimate - exact) / max(abs(exact), 1e-12)

    @property
    def width(self) -> float:
        """Of its bounds, relative to the estimate."""
        return (self.upper - self.lower) / max(abs(self.estimate), 1e-12)

    def holds(self, exact: float) -> bool:
        hair = 1e-9 * max(1.0, abs(exact))  # sums of the same rows in another order
        return self.lower - hair <= exact <= self.upper + hair


@dataclass(frozen=True, eq=False, slots=True)
class Sample:
    """Rows that were taken, with the rate at which, and the share of the window's rows that had come in."""

    value: Floats
    rate: Floats
    seen: float
    points: Longs | None = None

    @property
    def chance(self) -> Floats:
        return self.rate * self.seen


def answer(kind: str, sample: Sample, z: float) -> Answer:
    """What a query of this kind says of the sample, where it may be off by `z` standard errors."""
    if not len(sample.value):
        return Answer(0.0, -np.inf, np.inf, 0)
    if kind == "ysb":
        return _total(sample, z)
    if kind == "kmeans":
        assert sample.points is not None
        found = clustered(table()[sample.points], 1 / sample.chance)
        return _within(found.estimate, found.variance, z, len(sample.value))
    return _mean(sample.value, sample, z)


def _total(sample: Sample, z: float) -> Answer:
    """Horvitz and Thompson's."""
    weight = 1 / sample.chance
    total = float(weight @ sample.value)
    variance = float(((weight - 1) * weight) @ sample.value**2)
    return _within(total, variance, z, len(weight))


def _mean(value: Floats, sample: Sample, z: float) -> Answer:
    """Hajek's."""
    weight = 1 / sample.chance
    rows = float(weight.sum())
    mean = float(weight @ value) / rows
    fitted = len(weight) / max(1, len(weight) - 1)
    variance = fitted * float(((weight - 1) * weight) @ (value - mean) ** 2) / rows**2
    return _within(mean, variance, z, len(weight))


def _within(middle: float, variance: float, z: float, rows: int) -> Answer:
    half = z * max(0.0, variance) ** 0.5
    return Answer(middle, middle - half, middle + half, rows)


def exact(kind: str, value: Floats, points: Longs | None) -> float:
    """The answer from all rows of a window."""
    if points is not None:
        # The clusters are those of each by itself, but for a point half-way between two; and made in a fraction of the time.
        different, times = np.unique(points, return_counts=True)
        return clustered(table()[different], times.astype(np.float64)).mean
    return answer(kind, Sample(value, np.ones(len(value)), 1.0), 0.0).estimate
