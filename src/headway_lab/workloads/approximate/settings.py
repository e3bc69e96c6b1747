"""How rows are spaced and held back in Aion's experiments (Farhat's thesis, section 4.2.1).

There, gaps of 1 ms on average go with every rate; here they are as long as the rate wants and have the same shape.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from headway.errors import SettingError
from headway.sim.delays import SLICES, Constant, Delay, Exponential, Gamma
from headway_lab.workloads.ysb import Ysb


@dataclass(frozen=True)
class StreamSetting:
    """Network delay, and gaps between events: all the same, or Gamma(2, 1/2) of the mean gap."""

    delay: Delay
    even: bool


SETTINGS = {
    "CC": StreamSetting(Constant(150), even=True),
    "GG": StreamSetting(Gamma(60, 4), even=False),
    "EC": StreamSetting(Exponential(240), even=True),
    "EG": StreamSetting(Exponential(240), even=False),
}


def setting_named(name: str) -> StreamSetting:
    if name not in SETTINGS:
        raise SettingError("settings", name, f"one of {', '.join(SETTINGS)}")
    return SETTINGS[name]


def stream(setting: StreamSetting, rate: int, seed: int, epoch_ms: int, ads: tuple[int, int] = (100, 10)) -> Ysb:
    """Ad events at these delays and gaps; `ads` are campaigns, and ads of each."""
    gaps = () if setting.even else gamma_gaps(seed)
    return Ysb(seed, rate, epoch_ms, setting.delay, campaigns=ads[0], ads_per_campaign=ads[1], gaps=gaps)


@lru_cache
def gamma_gaps(seed: int, shape: float = 2.0) -> tuple[int, ...]:
    """When 1,024 events happen whose gaps are Gamma-distributed, in thousandths of the mean gap.

    The gaps are the same for every seed, in another order; and every 1,024 events take as long as any other. So counts in a
    window vary less than those of a stream whose gaps are drawn for ever.
    """
    gaps = Gamma(shape, 1 / shape).quantile((np.arange(SLICES) + 0.5) / SLICES)
    mixed = np.random.default_rng(seed).permutation(gaps)
    begun = np.concatenate([[0.0], np.cumsum(mixed)[:-1]]) / mixed.sum()
    return tuple(np.floor(begun * SLICES * 1_000).astype(np.int64).tolist())
