"""The peaks of the integral: the only moments at which a beat may be."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from headway_lab.workloads.bio.ecg.design import QrsDesign, band, integral, slopes
from headway_lab.workloads.hashing import Longs


@dataclass(frozen=True, slots=True)
class WavePeak:
    """A value of the integral that is the greatest within the refractory period to both sides, and what is around it."""

    at: int  # its sample
    where: int  # the sample within the integral's window where the band-passed signal is furthest from zero
    energy: int  # the integral
    height: int  # how far the band-passed signal is from zero there
    slope: int  # the steepest of it within the window


def peaks(x: Longs, design: QrsDesign, first: int) -> Iterator[WavePeak]:
    """The peaks of a stretch of signal that begins with sample `first`, as far as the stretch tells: not at its ends.

    A peak stands `design.reach` samples or more from both ends. Of equal values the first is the peak, so no two peaks are
    within a refractory period.
    """
    r, n = design.refractory, len(x) - 2 * design.margin
    if n < 2 * r + 1:
        return
    passed = band(x, design)
    steep = slopes(passed, design)
    energy = integral(steep, design)
    rises = (energy[r : n - r] > energy[r - 1 : n - r - 1]) & (energy[r : n - r] >= energy[r + 1 : n - r + 1])
    for i in (np.flatnonzero(rises) + r).tolist():
        if energy[i] > energy[i - r : i].max() and energy[i] >= energy[i + 1 : i + r + 1].max():
            yield _peak(i, energy, steep, passed, design, first + design.margin)


def _peak(i: int, energy: Longs, steep: Longs, passed: Longs, design: QrsDesign, first: int) -> WavePeak:
    width = 2 * design.half_window + 1
    around = np.abs(passed[i + 2 * design.step : i + 2 * design.step + width])
    top = int(around.argmax())
    return WavePeak(
        at=first + i,
        where=first + i - design.half_window + top,
        energy=int(energy[i]),
        height=int(around[top]),
        slope=int(np.abs(steep[i : i + width]).max()),
    )
