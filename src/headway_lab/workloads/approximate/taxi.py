"""The mean distance of taxi trips in sliding windows: each ad stands for a trip.

The 4,096 trips are quantiles of January 2023's green taxis where `HEADWAY_DATA` has them, and otherwise of a lognormal
distribution with their mean and spread. Which trip happens when is drawn anew for every event, so days and nights are mixed.
"""

import json
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri

from headway.errors import HeadwayError
from headway_lab.workloads.approximate.question import BY, RATE, ExactAnswer, WindowQuestion, exact_struct, shown
from headway_lab.workloads.approximate.settings import StreamSetting, stream
from headway_lab.workloads.hashing import Longs
from headway_lab.workloads.sql import entry
from headway_lab.workloads.taxi.trips import FURTHEST, trips

TRIPS = 4_096
MIDDLES = (np.arange(TRIPS) + 0.5) / TRIPS
MEAN, SPREAD = 281.0, 277.0  # hundredths of a mile: January's trips
SLIDE_MS = 3_000  # of windows longer than this


class TripDistances(WindowQuestion):
    """The mean distance of the trips of a window."""

    value: ClassVar[str] = "distance"
    of: ClassVar[str] = "mean"
    words: ClassVar[str] = "mean distance of trips, miles"

    @classmethod
    def over(cls, setting: StreamSetting, rate: int, window_ms: int, seed: int, epoch_ms: int) -> "TripDistances":
        return cls(stream(setting, rate, seed, epoch_ms, (4, TRIPS // 4)), window_ms, min(SLIDE_MS, window_ms))

    def rows(self, events: Any) -> Any:
        return events.selectExpr(*BY, f"{entry(distances(), 'cast(ad_id as int)')} / 100D as distance")

    def query(self, rows: Any, approx: Any) -> Any:
        rate = [RATE] if RATE in rows.columns else []
        windows = rows.selectExpr(self.window, "distance", *rate).groupBy("window")
        if rate:
            return shown(windows.agg(approx.mean("distance").alias("answer")))
        means = windows.agg({"distance": "avg", "*": "count"})
        return shown(means.selectExpr("window", exact_struct("`avg(distance)`", "`count(1)`")))

    def of_window(self, events: tuple[Longs, Longs, Longs]) -> dict[str, ExactAnswer]:
        ad = events[1]
        return {"": ExactAnswer(float(distances()[ad].mean() / 100), len(ad))} if len(ad) else {}


@lru_cache
def distances() -> Longs:
    """Of the trips, in hundredths of a mile, ascending."""
    real = real_trips()
    return made_distances() if real is None else np.asarray(np.quantile(real[1], MIDDLES, method="inverted_cdf"), np.int64)


def made_distances() -> Longs:
    """Of the lognormal distribution."""
    width = np.sqrt(np.log1p((SPREAD / MEAN) ** 2))
    made = MEAN * np.exp(width * ndtri(MIDDLES) - width**2 / 2)
    return np.asarray(np.clip(np.rint(made), 1, FURTHEST), dtype=np.int64)


@lru_cache
def real_trips() -> tuple[Longs, Longs] | None:
    """Pickup zone, and hundredths of a mile, of those of January's trips that have a distance, and none of more than 100
    miles; None where the file is not there."""
    try:
        feed = trips()
    except HeadwayError:
        return None
    said = json.loads(b"[{%b}]" % b"},{".join(feed.body))
    zone = np.array([trip["pickup_zone"] for trip in said], dtype=np.int64)
    hundredths = np.asarray(np.rint([100 * trip["distance"] for trip in said]), dtype=np.int64)
    kept = (hundredths >= 1) & (hundredths <= FURTHEST)
    return zone[kept], hundredths[kept]
