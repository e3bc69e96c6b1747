"""Streams for approximate answers: rows with the moment they happened, the moment they came in, and the value asked about.

    rows = stream("ysb", "EG", rate=5_000, seconds=60, seed=1)

The settings are those of the thesis (Farhat, section 4.2.1), scaled to any rate. Delays are the tables that live runs draw
from, so the longest of the exponential ones is 1,830 ms and of the gamma ones 355 ms: the thesis speaks of more than 1,500
and of 350.
"""

from functools import lru_cache

import numpy as np
import pandas as pd

from headway.model.arrays import Floats
from headway.sim.delays import SLICES, Delay
from headway.sim.sampled_rows import SampledRows
from headway_lab.workloads import data
from headway_lab.workloads.approximate.kmeans import POINTS, tenths
from headway_lab.workloads.approximate.settings import SETTINGS as THESIS
from headway_lab.workloads.hashing import Longs
from headway_lab.workloads.taxi.taxis import DISTANCES

TRIPS = "taxi/green_tripdata_2023-01.parquet"
FURTHEST_MILES = 100.0  # a trip beyond that is a broken meter
NOWHERE = 0.05  # of the trips have no distance: the query leaves them out
VIEWS = 1 / 3  # of the events of the Yahoo benchmark are views; the query counts them


# Ours: what comes late is not like what comes in time, so an early answer is wrong however large its sample is.
SETTINGS = THESIS | {"EV": THESIS["EG"]}
COUPLED = {"EV": 0.5}  # share of the rows whose delay grows with their value
PAPER_SETTINGS = tuple(THESIS)
WORKLOADS = ("ysb", "taxi", "kmeans")


@lru_cache(maxsize=1)  # the policies take turns on the same stream
def stream(workload: str, setting: str, rate: int, seconds: int, seed: int, real: bool = False) -> SampledRows:
    """The rows that happen in so many seconds; `real` taxi trips have the distances of the files."""
    how = SETTINGS[setting]
    rng = np.random.default_rng([seed, WORKLOADS.index(workload), list(SETTINGS).index(setting), rate])
    n = rate * seconds
    gaps = np.ones(n) if how.even else rng.gamma(2.0, 0.5, n)
    event = np.cumsum(gaps) * (1000 / rate)
    points: Longs | None = None
    if workload == "kmeans":
        points = rng.integers(0, POINTS, n)
        value = tenths()[points] / 10
    elif workload == "taxi":
        value = trip_miles(rng, n, real)
    else:
        value = (rng.random(n) < VIEWS).astype(np.float64)
    arrival = event + delays(rng, how.delay, value, COUPLED.get(setting, 0.0))
    order = np.argsort(arrival, kind="stable")
    return SampledRows(
        event[order], arrival[order], value[order], rng.random(n), points[order] if points is not None else None
    )


def delays(rng: np.random.Generator, delay: Delay, value: Floats, coupled: float) -> Floats:
    slices = rng.integers(0, SLICES, len(value))
    if coupled:
        rank = np.empty(len(value), np.int64)
        rank[np.lexsort((rng.random(len(value)), value))] = np.arange(len(value))  # ties in no order
        slices = np.where(rng.random(len(value)) < coupled, rank * SLICES // len(value), slices)
    return delay.table()[slices].astype(np.float64)


# ---- trips


def trip_miles(rng: np.random.Generator, n: int, real: bool) -> Floats:
    if real:
        # In the order in which they happened, day and night, from somewhere on, and over again.
        miles = real_miles()
        return np.take(miles, rng.integers(len(miles)) + np.arange(n), mode="wrap")
    made = np.interp(rng.random(n) * (1 - NOWHERE) + NOWHERE, list(DISTANCES), list(DISTANCES.values()))
    return np.asarray(made / 100)


@lru_cache
def real_miles() -> Floats:
    """Distances of January 2023's green taxis, as they happened."""
    frame = pd.read_parquet(data.find(TRIPS), columns=["lpep_pickup_datetime", "trip_distance"])
    miles = frame.sort_values("lpep_pickup_datetime", kind="stable")["trip_distance"].to_numpy(dtype=np.float64)
    return miles[(miles > 0) & (miles <= FURTHEST_MILES)]
