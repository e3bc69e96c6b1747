"""Hearts that are made: where they beat is known."""

from collections.abc import Sequence

import numpy as np

from headway_lab.workloads.bio.ecg import EcgRecord
from headway_lab.workloads.hashing import Longs

FS = 360


def heart(
    beats: Sequence[int],
    length: int,
    heights: Sequence[float] | None = None,
    t_wave: float = 0.25,
    noise: float = 0.0,
    seed: int = 1,
) -> Longs:
    """A signal with a narrow complex at each of `beats` and a gentle T wave 300 ms after it."""
    at = np.arange(length)
    signal = np.zeros(length)
    for beat, height in zip(beats, heights or [1.0] * len(beats), strict=True):
        for size, later_s, width_s in ((1.0, 0.0, 0.012), (-0.2, 0.03, 0.012), (t_wave, 0.3, 0.06)):
            signal += 200 * height * size * np.exp(-(((at - beat) / FS - later_s) ** 2) / (2 * width_s**2))
    signal += noise * np.random.default_rng(seed).standard_normal(length)
    return np.rint(signal + 1_024).astype(np.int64)


def regular(beats: int, rr: int = 300, first: int = 200) -> list[int]:
    return [first + rr * i for i in range(beats)]


def made_record(name: str, beats: Sequence[int], length: int, seed: int = 1) -> EcgRecord:
    marked = np.array(beats, dtype=np.int64)
    samples = heart(beats, length, noise=4.0, seed=seed)
    return EcgRecord(name, FS, "MLII", samples, marked, ("N",) * len(beats), ())
