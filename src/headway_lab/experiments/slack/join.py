"""The join of the traffic application: which congestion events are found in the order in which reports were read.

A bus report and a road sensor's report of the same area, both of them trouble and at most a window apart, are an event.
A report that is read is compared with what the other side's window still holds, and every reading shifts both windows to
within a window of the greatest timestamp read: a report that comes after the shift misses what has been dropped.
"""

import numpy as np
from numpy.typing import NDArray

from headway.model.arrays import Floats


def events(
    ts: Floats, bus: NDArray[np.bool_], area: NDArray[np.int64], hot: NDArray[np.bool_], window_ms: float
) -> tuple[NDArray[np.int64], int]:
    """Reports in reading order -> the readings that found events, once for each, and how many events there were to find."""
    newest = np.maximum.accumulate(ts) if len(ts) else ts
    buses, roads = np.flatnonzero(bus & hot), np.flatnonzero(~bus & hot)
    # Areas one after the other on one axis, far enough apart for no window to reach over.
    apart = float(np.ptp(ts)) + 3 * window_ms if len(ts) else 1.0
    place = ts + area * apart
    roads = roads[np.argsort(place[roads], kind="stable")]
    first = np.searchsorted(place[roads], place[buses] - window_ms, "left")
    last = np.searchsorted(place[roads], place[buses] + window_ms, "right")
    each = last - first
    left = np.repeat(buses, each)
    right = roads[np.repeat(first - np.concatenate([[0], np.cumsum(each)[:-1]]), each) + np.arange(each.sum())]
    sooner, later = np.minimum(left, right), np.maximum(left, right)
    kept = ts[sooner] >= newest[later] - window_ms
    return np.sort(later[kept]), len(later)
