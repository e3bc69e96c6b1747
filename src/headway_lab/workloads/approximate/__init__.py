"""Questions that a sample can answer: views by campaign, the mean distance of trips, k-means over points.

All read the stream of ad events (`headway_lab.workloads.ysb`), whose every row is known beforehand, and look up by the ad
what they ask about. So each knows its exact answer, window by window, without Spark.
"""

from collections.abc import Mapping

from headway.errors import SettingError
from headway_lab.workloads.approximate.boroughs import Boroughs
from headway_lab.workloads.approximate.kmeans import Crowds
from headway_lab.workloads.approximate.question import BY, ExactAnswer, WindowQuestion
from headway_lab.workloads.approximate.settings import SETTINGS, setting_named
from headway_lab.workloads.approximate.taxi import TripDistances
from headway_lab.workloads.approximate.ysb import SampledViews

WORKLOADS: Mapping[str, type[WindowQuestion]] = {
    "ysb": SampledViews,
    "taxi": TripDistances,
    "kmeans": Crowds,
    "boroughs": Boroughs,
}

__all__ = [
    "BY",
    "SETTINGS",
    "WORKLOADS",
    "Boroughs",
    "Crowds",
    "ExactAnswer",
    "SampledViews",
    "TripDistances",
    "WindowQuestion",
    "question",
    "setting_named",
]  # fmt: skip


def question(workload: str, setting: str, rate: int, window_s: int, seed: int, epoch_ms: int) -> WindowQuestion:
    """One of the workloads by its name, over a stream that begins at `epoch_ms`."""
    if workload not in WORKLOADS:
        raise SettingError("workloads", workload, f"one of {', '.join(WORKLOADS)}")
    return WORKLOADS[workload].over(setting_named(setting), rate, window_s * 1_000, seed, epoch_ms)
