"""The mean distance of trips by the borough where they begin: a bound for each of them, however few its trips are.

Most trips begin in Manhattan and a few in the Bronx, so a sample that is enough for the one is not for the other.
"""

from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from headway_lab.workloads.approximate.question import BY, RATE, ExactAnswer, exact_struct, shown
from headway_lab.workloads.approximate.taxi import TRIPS, TripDistances, made_distances, real_trips
from headway_lab.workloads.hashing import Longs
from headway_lab.workloads.sql import entry
from headway_lab.workloads.taxi.trips import BOROUGHS, NAMES, ZONES

# Where January's trips begin, where there is no file to say so.
SHARES = {"Manhattan": 0.60, "Queens": 0.25, "Brooklyn": 0.13, "Bronx": 0.02}


class Boroughs(TripDistances):
    """The mean distance of a window's trips, borough by borough."""

    per: ClassVar[str | None] = "borough"
    words: ClassVar[str] = "mean distance of trips by borough, miles"

    def rows(self, events: Any) -> Any:
        borough, hundredths = (entry(column, "cast(ad_id as int)") for column in trips())
        return events.selectExpr(*BY, f"{hundredths} / 100D as distance", f"{borough} as borough")

    def query(self, rows: Any, approx: Any) -> Any:
        rate = [RATE] if RATE in rows.columns else []
        windows = rows.selectExpr(self.window, "borough", "distance", *rate).groupBy("window", "borough")
        pairs = ", ".join(f"{place}, '{name}'" for place, name in enumerate(NAMES))
        key = f"decode(borough, {pairs})"
        if rate:
            return shown(windows.agg(approx.mean("distance").alias("answer")), key)
        means = windows.agg({"distance": "avg", "*": "count"})
        return shown(means.selectExpr("window", "borough", exact_struct("`avg(distance)`", "`count(1)`")), key)

    def of_window(self, events: tuple[Longs, Longs, Longs]) -> dict[str, ExactAnswer]:
        borough, hundredths = (column[events[1]] for column in trips())
        return {
            NAMES[place]: ExactAnswer(float(hundredths[borough == place].mean() / 100), int((borough == place).sum()))
            for place in np.unique(borough).tolist()
        }


@lru_cache
def trips() -> tuple[Longs, Longs]:
    """Place in `NAMES` and hundredths of a mile of each trip: as many of a borough as of its share in January."""
    real = real_trips()
    if real is None:
        counts = np.rint(TRIPS * np.array([SHARES.get(name, 0.0) for name in NAMES])).astype(np.int64)
        counts[NAMES.index("Manhattan")] += TRIPS - counts.sum()
        # Distances are dealt out evenly: no borough has longer trips than another.
        return np.repeat(np.arange(len(NAMES)), counts), np.random.default_rng(0).permutation(made_distances())
    zone, hundredths = real
    place = np.array([0, *(NAMES.index(BOROUGHS[letter]) for letter in ZONES)])
    borough = place[np.where(zone <= len(ZONES), zone, 0)]
    order = np.lexsort((hundredths, borough))
    kept = order[((np.arange(TRIPS) + 0.5) / TRIPS * len(order)).astype(np.int64)]
    return borough[kept], hundredths[kept]
