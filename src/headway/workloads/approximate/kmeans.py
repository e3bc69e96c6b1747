"""K-means over the points of a window: the expensive question. Each ad stands for a point.

The points of a window are collected when it closes, and scikit-learn clusters them in Python. What is asked is how far
points are from their centre on average, and where the centres are. They lie in eight crowds, unequal in number and in width.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headway.workloads.approximate.question import BY, RATE, Exact, Question
from headway.workloads.approximate.settings import Setting, stream
from headway.workloads.ysb import Longs, entry

Floats = NDArray[np.float64]

POINTS = 4_096
ROUNDS = 100  # of k-means, at most
LEAST_SAMPLE = 30  # fewer points than this cannot be trusted to be like the others
Z, WIDEST = 1.96, 4.47  # standard errors that a bound of 95 % is away: of a normal curve, and of any (Chebyshev)
RESULT = (
    "end_ms bigint, key string, estimate double, lower double, upper double, sample bigint, seen double, sound boolean, "
    "centres array<double>"
)

CENTRES = 10 + np.array([[10.0 * (c % 4), 14.0 * (c // 4) + 3 * (c % 2)] for c in range(8)])
CROWDS = np.array([0.24, 0.18, 0.15, 0.12, 0.11, 0.09, 0.06, 0.05])
WIDTHS = np.array([0.5, 0.7, 0.9, 1.1, 1.3, 1.5, 1.7, 1.9])
# Where k-means begins, on all points and on samples alike: off by a standard deviation or so.
GUESS = CENTRES + 1.5 * np.array([[np.cos(c), np.sin(c)] for c in range(8)])


class Crowds(Question):
    """How far the points of a window are from the nearest of eight centres, on average."""

    value: ClassVar[str] = "spread"
    of: ClassVar[str] = "mean"
    words: ClassVar[str] = "mean distance of points to their centre"

    @classmethod
    def over(cls, setting: Setting, rate: int, window_ms: int, seed: int, epoch_ms: int) -> "Crowds":
        return cls(stream(setting, rate, seed, epoch_ms, (4, POINTS // 4)), window_ms, window_ms)

    def rows(self, events: Any) -> Any:
        """`spread`, from where the centres are said to be, stands for what k-means will find: it has not run yet."""
        near = np.rint(100 * np.sqrt(((points()[:, None] / 100 - CENTRES) ** 2).sum(axis=2).min(axis=1))).astype(np.int64)
        return events.selectExpr(*BY, f"{entry(near, 'cast(ad_id as int)')} / 100D as spread")

    def query(self, rows: Any, approx: Any) -> Any:
        # The points are looked up where only those of the sample are left.
        sampled = RATE in rows.columns
        x, y = (f"{entry(column, 'cast(ad_id as int)')} as {name}" for name, column in zip("xy", points().T, strict=True))
        placed = rows.selectExpr(self.window, x, y, RATE if sampled else f"1.0D as {RATE}")
        functions = approx.F  # Spark's own: only one room of the house imports them
        collected = [functions.collect_list(functions.struct("x", "y", RATE)).alias("points")]
        if sampled:
            collected.append(approx.count().alias("counted"))
        seen = "counted.seen" if sampled else "1.0D as seen"
        columns = ("points.x", "points.y", f"points.{RATE} as rate", seen)
        windows = placed.groupBy("window").agg(*collected).selectExpr("unix_millis(window.end) as end_ms", *columns)
        return windows.mapInPandas(answers, RESULT)

    def of_window(self, events: tuple[Longs, Longs, Longs]) -> dict[str, Exact]:
        ad = events[1]
        if not len(ad):
            return {}
        return {"": Exact(clustered(points()[ad] / 100, np.ones(len(ad))).mean, len(ad))}


@lru_cache
def points() -> Longs:
    """In hundredths, two whole numbers each."""
    return np.asarray(np.rint(100 * mixture(np.random.default_rng(7), POINTS)), dtype=np.int64)


def mixture(rng: np.random.Generator, n: int) -> Floats:
    """So many points of the crowds."""
    crowd = rng.choice(len(CROWDS), n, p=CROWDS)
    return np.asarray(CENTRES[crowd] + rng.standard_normal((n, 2)) * WIDTHS[crowd][:, None])


@dataclass(frozen=True, eq=False)
class Clusters:
    """What k-means makes of some points."""

    centres: Floats
    apart: Floats  # of each point from its centre
    weight: Floats

    @property
    def mean(self) -> float:
        return float(self.weight @ self.apart / self.weight.sum())

    @property
    def variance(self) -> float:
        """Of the mean, by what was left out: Hajek's, for points taken with the inverse of their weight each."""
        left_out = float((self.weight * (self.weight - 1)) @ (self.apart - self.mean) ** 2) / float(self.weight.sum()) ** 2
        return left_out * len(self.weight) / max(1, len(self.weight) - len(self.centres))


def clustered(at: Floats, weight: Floats) -> Clusters:
    """Eight clusters of points that stand for so many each."""
    centres = GUESS
    if len(at) >= len(GUESS):
        from sklearn.cluster import KMeans  # takes a second to load
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

        with threadpool_limits(1):  # a batch has one core
            fitted = KMeans(len(GUESS), init=GUESS, n_init=1, max_iter=ROUNDS).fit(at, sample_weight=weight)
        centres = fitted.cluster_centers_
    distance = np.sqrt(((at[:, None] - centres) ** 2).sum(axis=2))
    which = distance.argmin(axis=1)
    # A centre is nearer to the points that it is the mean of than to all others: as with a deviation, n - 1 makes up for it.
    size = np.bincount(which, minlength=len(centres))
    apart = distance[np.arange(len(at)), which] * np.sqrt(size / np.maximum(1, size - 1))[which]
    return Clusters(centres, apart, weight)


def answers(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """An answer for each row, which is a closed window with all that was taken of it; runs in Spark's Python workers."""
    for windows in batches:
        each = zip(*(windows[name].tolist() for name in ("end_ms", "x", "y", "rate", "seen")), strict=True)
        made = [answer(end_ms, np.column_stack([x, y]) / 100, rate, seen) for end_ms, x, y, rate, seen in each]
        yield pd.DataFrame(made, columns=[column.split()[0] for column in RESULT.split(", ")])


def answer(end_ms: int, at: Floats, rate: Floats, seen: float) -> tuple[Any, ...]:
    """The row that `RESULT` says."""
    n = len(at)
    found = clustered(at, 1 / (np.asarray(rate) * seen))
    sound = n >= LEAST_SAMPLE
    width = Z + (Z**3 + Z) / (4 * max(1, n - 1)) if sound else WIDEST
    half = width * found.variance**0.5
    mean = found.mean
    return end_ms, "", mean, mean - half, mean + half, n, seen, sound or half == 0, found.centres.ravel().tolist()
