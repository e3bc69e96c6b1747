"""K-means over the points of a window: the expensive question. Each ad stands for a point.

The ads of a window are collected when it closes, and scikit-learn clusters their points in Python. What is asked is how far
points are from their centre on average, and where the centres are. As in HiBench's k-means they have twenty dimensions and
lie in crowds: ten, unequal in number and in width, which overlap a little. K-means starts by chance, and one start in six
ends with two crowds taken for one, so the best of ten counts: that is what makes it dear.
"""

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headway.estimate.bounds import Answer, Certainty, bounded
from headway.estimate.sample_size import LEAST
from headway_lab.workloads.approximate.question import BY, RATE, ExactAnswer, WindowQuestion
from headway_lab.workloads.approximate.settings import StreamSetting, stream
from headway_lab.workloads.hashing import Longs
from headway_lab.workloads.sql import entry

Floats = NDArray[np.float64]

POINTS = 4_096
DIMENSIONS = 20
STARTS = 10  # of k-means; the best counts
CONFIDENCE = 0.95  # of the bounds
RESULT = (
    "end_ms bigint, key string, estimate double, lower double, upper double, sample bigint, seen double, sound boolean, "
    "centres array<double>"
)

CROWDS = np.array([0.2, 0.16, 0.14, 0.12, 0.1, 0.08, 0.07, 0.06, 0.04, 0.03])
WIDTHS = np.linspace(0.5, 1.9, len(CROWDS))  # the fewer, the wider
CENTRES = np.random.default_rng(7).uniform(0, 4, (len(CROWDS), DIMENSIONS))


class Crowds(WindowQuestion):
    """How far the points of a window are from the nearest of ten centres, on average."""

    value: ClassVar[str] = "spread"
    of: ClassVar[str] = "mean"
    words: ClassVar[str] = "mean distance of points to their centre"
    # A hundred for each centre. With 300, of which the spread of distances would be content, one window of twenty is off by
    # more than 5 %; with 500 hardly any, but the smallest crowd has a dozen points, and ten starts cost nearly as much.
    least: ClassVar[int] = 1_000

    @classmethod
    def over(cls, setting: StreamSetting, rate: int, window_ms: int, seed: int, epoch_ms: int) -> "Crowds":
        return cls(stream(setting, rate, seed, epoch_ms, (4, POINTS // 4)), window_ms, window_ms)

    def rows(self, events: Any) -> Any:
        # In tenths: an error is relative, and a division for every row is not free.
        return events.selectExpr(*BY, f"{entry(tenths(), 'cast(ad_id as int)')} as spread")

    def query(self, rows: Any, approx: Any) -> Any:
        # Points have twenty numbers: they are looked up in Python, after the ads have been collected.
        end, ad = "unix_millis(window.end) as end_ms", "cast(ad_id as int) as ad"
        if RATE not in rows.columns:
            windows = rows.selectExpr(self.window, ad).groupBy("window").agg({"ad": "collect_list"})
            columns = (end, "`collect_list(ad)` as ad", "array(1.0D) as rate", "1.0D as seen")
        else:
            windows = rows.selectExpr(self.window, ad, RATE).groupBy("window").agg(approx.collect("ad").alias("taken"))
            columns = (end, "taken.rows.ad", f"taken.rows.{RATE} as rate", "taken.seen")
        return windows.selectExpr(*columns).mapInPandas(answers, RESULT)

    def of_window(self, events: tuple[Longs, Longs, Longs]) -> dict[str, ExactAnswer]:
        ad = np.sort(events[1])  # as in `answer`
        return {"": ExactAnswer(clustered(points()[ad], np.ones(len(ad))).mean, len(ad))} if len(ad) else {}


@lru_cache
def points() -> Floats:
    """Where the points are. That there are only so many is to know them; a window has a point as often as its ad comes, and
    k-means is not told which of them are the same."""
    rng = np.random.default_rng(8)
    crowd = rng.choice(len(CROWDS), POINTS, p=CROWDS)
    return np.asarray(CENTRES[crowd] + rng.standard_normal((POINTS, DIMENSIONS)) * WIDTHS[crowd][:, None])


@lru_cache
def tenths() -> Longs:
    """How far each point is from the nearest crowd's middle. It stands for what k-means will find, which has not run yet;
    below 128, a look-up costs least."""
    apart = np.linalg.norm(points()[:, None] - CENTRES, axis=2).min(axis=1)
    return np.asarray(np.minimum(np.rint(10 * apart), 127), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Clusters:
    """What k-means makes of some points, which stand for so many each."""

    centres: Floats
    which: Longs  # the centre of each point
    apart: Floats  # how far it is
    weight: Floats

    @property
    def mean(self) -> float:
        """How far the points are, as they are."""
        return float(self.weight @ self.apart / self.weight.sum())

    @property
    def estimate(self) -> float:
        """How far all would be, around centres of their own.

        A centre is nearer to the points that it is the mean of than to all others: as with a deviation, n - 1 makes up for
        it. That of all points would be so too, with a larger n: where none is missing, nothing is made up for.
        """
        size, stands_for = (np.bincount(self.which, weights=w) for w in (np.ones(len(self.which)), self.weight))
        with np.errstate(divide="ignore", invalid="ignore"):
            wider = np.sqrt((1 - 1 / stands_for) / (1 - 1 / size))
        wider[size <= 1] = 1.0  # nothing can be said of a crowd by a single point
        return float((self.weight * wider[self.which]) @ self.apart / self.weight.sum())

    @property
    def variance(self) -> float:
        """Of the estimate, by what was left out: Hajek's, for points taken with the inverse of their weight each.

        To it comes what was made up for, squared: that is right on average, and in a single window only of about that size.
        """
        left_out = self.weight * (self.weight - 1)
        if not left_out.any():
            return 0.0
        free = len(self.weight) - len(self.centres)
        if free < 1:
            return np.inf  # each point is its own centre
        spread = float(left_out @ (self.apart - self.mean) ** 2) / float(self.weight.sum()) ** 2
        return spread * len(self.weight) / free + (self.estimate - self.mean) ** 2

    def answer(self, sure: Certainty) -> Answer:
        """The estimate with its bounds; with fewer points than a normal curve needs they are any curve's."""
        return bounded(self.estimate, self.variance**0.5, len(self.weight), len(self.weight) >= LEAST, sure)


def clustered(at: Floats, weight: Floats) -> Clusters:
    """Ten clusters of points that stand for so many each; of fewer points, as many as there are."""
    if len(at) <= len(CROWDS):
        return Clusters(at, np.arange(len(at)), np.zeros(len(at)), weight)
    from sklearn.cluster import KMeans  # takes a second to load
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    with threadpool_limits(1):  # a batch has one core
        found = KMeans(len(CROWDS), n_init=STARTS, random_state=0).fit(at, sample_weight=weight)
    centres, which = found.cluster_centers_, found.labels_.astype(np.int64)
    return Clusters(centres, which, np.linalg.norm(at - centres[which], axis=1), weight)


def answers(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """An answer for each row, which is a closed window with all that was taken of it; runs in Spark's Python workers."""
    for windows in batches:
        each = zip(*(windows[name].tolist() for name in ("end_ms", "ad", "rate", "seen")), strict=True)
        yield pd.DataFrame([answer(*window) for window in each], columns=[c.split()[0] for c in RESULT.split(", ")])


def answer(end_ms: int, ad: Longs, rate: Floats, seen: float) -> tuple[Any, ...]:
    """The row that `RESULT` says; `rate` is that of each ad, or one for all."""
    n = len(ad)
    # By number, since a start depends on the order of the points, and Spark has none.
    order = np.argsort(ad, kind="stable")
    found = clustered(points()[ad[order]], 1 / (np.broadcast_to(rate, n)[order] * seen))
    said = found.answer(Certainty.at(CONFIDENCE, seen))
    return end_ms, "", *astuple(said), found.centres.ravel().tolist()
