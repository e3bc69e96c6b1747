"""The filters that bring out a QRS complex: band-pass, derivative, square, moving-window integral.

All of them are sums over a few samples around a moment, of whole numbers. So a result is exact: it does not depend on how
many samples are filtered at once, and a constant added to the signal changes nothing. Each is symmetric, so nothing is
shifted: a value stands at the moment that it is about, and is known as soon as the last of its samples is.
"""

from dataclasses import dataclass

import numpy as np

from headway.errors import SettingError
from headway_lab.workloads.hashing import Longs

SLOWEST_HZ = 100  # below that the derivative would span half a complex
# Where two moving means in a row, and one moving mean taken from the signal, let through 1 / sqrt(2): in lengths of a mean.
TWICE_AT, TAKEN_AT = 0.3195, 0.755


@dataclass(frozen=True, slots=True)
class QrsDesign:
    """The lengths of the filters and the times of the rules, in samples of a signal with `fs` of them a second."""

    fs: int
    low_hz: float = 5.0
    high_hz: float = 15.0

    def __post_init__(self) -> None:
        if self.fs < SLOWEST_HZ:
            raise SettingError("ecg.fs", self.fs, f"{SLOWEST_HZ} samples a second or more")
        if not 0 < self.low_hz < self.high_hz:
            raise SettingError("ecg.low_hz", self.low_hz, f"more than 0 and less than high_hz = {self.high_hz}")

    def _of(self, seconds: float) -> int:
        return round(seconds * self.fs)

    # ---- the filters

    @property
    def smooth(self) -> int:
        """The length of the moving mean that, taken twice, is the low-pass."""
        return max(1, self._of(TWICE_AT / self.high_hz))

    @property
    def half_base(self) -> int:
        """How far the moving mean that is taken from the signal, for the high-pass, reaches to each side."""
        return self._of(TAKEN_AT / self.low_hz / 2)

    @property
    def step(self) -> int:
        """The distance between the five points of the derivative: 5 ms, as in the paper."""
        return max(1, self._of(0.005))

    @property
    def half_window(self) -> int:
        """How far the integral reaches to each side: 150 ms in all."""
        return self._of(0.075)

    @property
    def margin(self) -> int:
        """How many samples to each side a value of the integral depends on."""
        return self.smooth - 1 + self.half_base + 2 * self.step + self.half_window

    # ---- the rules

    @property
    def refractory(self) -> int:
        """No heart beats again so soon."""
        return self._of(0.200)

    @property
    def t_wave(self) -> int:
        """Until so long after a beat a gentle peak is the T wave of that beat."""
        return self._of(0.360)

    @property
    def learn(self) -> int:
        return self._of(2.0)

    @property
    def lost(self) -> int:
        """After so long without a beat, what was learnt is of no use."""
        return self._of(8.0)

    @property
    def reach(self) -> int:
        """How many samples to each side decide whether there is a peak: by so much the detector is behind."""
        return self.margin + self.refractory


def band(x: Longs, design: QrsDesign) -> Longs:
    """What is left of the signal between 5 and 15 Hz, times the length of the longer mean: whole numbers, rounded once."""
    low = moving_sum(moving_sum(x, design.smooth), design.smooth)
    half = design.half_base
    centre, width = low[half : len(low) - half], 2 * half + 1
    passed: Longs = (width * centre - moving_sum(low, width)) // design.smooth**2
    return passed


def slopes(passed: Longs, design: QrsDesign) -> Longs:
    """How steep the band-passed signal is, by five points."""
    s, end = design.step, len(passed)
    steep: Longs = 2 * (passed[4 * s :] - passed[: end - 4 * s]) + passed[3 * s : end - s] - passed[s : end - 3 * s]
    return steep


def integral(steep: Longs, design: QrsDesign) -> Longs:
    """The squares of the slopes, summed over the width of a broad complex."""
    return moving_sum(steep * steep, 2 * design.half_window + 1)


def moving_sum(x: Longs, width: int) -> Longs:
    """The sums of so many values in a row; none of fewer than that."""
    sums = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(x, dtype=np.int64)])
    moved: Longs = sums[width:] - sums[: max(0, len(sums) - width)]
    return moved
