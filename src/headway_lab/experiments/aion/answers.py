"""What the three queries make of a window: of all its rows, and of a sample with its bounds."""

from dataclasses import dataclass

import numpy as np

from headway.estimate.bounds import Answer, Certainty, Sums, none_of
from headway.sim.sampled_rows import WindowSample
from headway.sim.samples import Aggregate
from headway_lab.workloads.approximate.kmeans import Clusters, clustered
from headway_lab.workloads.approximate.kmeans import points as table


@dataclass(frozen=True, slots=True)
class Total:
    """The sum of the values; views are counted as ones."""

    dear: bool = False

    def exact(self, all_rows: WindowSample) -> float:
        return float(all_rows.value.sum())

    def answer(self, sample: WindowSample, sure: Certainty) -> Answer:
        return Sums.of(sample.value, sample.rate).total(sure)


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of the values."""

    dear: bool = False

    def exact(self, all_rows: WindowSample) -> float:
        return float(all_rows.value.mean()) if len(all_rows) else 0.0

    def answer(self, sample: WindowSample, sure: Certainty) -> Answer:
        return Sums.of(sample.value, sample.rate).mean(sure)


@dataclass(frozen=True, slots=True)
class KMeans:
    """How far points are from the nearest of ten centres, on average."""

    dear: bool = True

    def exact(self, all_rows: WindowSample) -> float:
        assert all_rows.points is not None
        # The clusters are those of each by itself, but for a point half-way between two; and made in a fraction of the time.
        different, times = np.unique(all_rows.points, return_counts=True)
        return clustered(table()[different], times.astype(np.float64)).mean

    def answer(self, sample: WindowSample, sure: Certainty) -> Answer:
        assert sample.points is not None
        if not len(sample):
            return none_of(sure)
        # As above; but bounds go by how many points were taken, so they are told apart again.
        weight = 1 / (sample.rate * sure.seen)
        different, which = np.unique(sample.points, return_inverse=True)
        found = clustered(table()[different], np.bincount(which, weights=weight).astype(np.float64))
        return Clusters(found.centres, found.which[which], found.apart[which], weight).answer(sure)


AGGREGATES: dict[str, Aggregate] = {"ysb": Total(), "taxi": Mean(), "kmeans": KMeans()}
