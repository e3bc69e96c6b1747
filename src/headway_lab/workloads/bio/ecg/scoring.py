"""How many of the marked beats were found, and how many of the found ones are marked (as in ANSI/AAMI EC57)."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from headway_lab.workloads.bio.ecg.mitbih import EcgRecord
from headway_lab.workloads.hashing import Longs

TOLERANCE_S = 0.150
LEARNING_S = 300  # the standard leaves the first five minutes to the detector; ours are counted unless told otherwise


@dataclass(frozen=True, slots=True)
class BeatScore:
    """Counts of beats; they may be added up."""

    hit: int  # marked and found
    missed: int  # marked and not found
    false: int  # found and not marked

    @property
    def sensitivity(self) -> float:
        return self.hit / (self.hit + self.missed) if self.hit + self.missed else 1.0

    @property
    def positive_predictivity(self) -> float:
        return self.hit / (self.hit + self.false) if self.hit + self.false else 1.0

    def __add__(self, other: "BeatScore") -> "BeatScore":
        return BeatScore(self.hit + other.hit, self.missed + other.missed, self.false + other.false)


def scored(record: EcgRecord, found: Iterable[int], since_s: float = 0.0) -> BeatScore:
    """How the samples at which beats were found compare with the marks, from `since_s` on."""
    tolerance, since = round(TOLERANCE_S * record.fs), round(since_s * record.fs)
    true, ours = (_counted(record, np.array(sorted(at), dtype=np.int64), since) for at in (record.beats.tolist(), found))
    hit = matched(true, ours, tolerance)
    return BeatScore(hit, len(true) - hit, len(ours) - hit)


def _counted(record: EcgRecord, at: Longs, since: int) -> Longs:
    kept = at >= since
    for begins, ends in record.flutter:
        kept &= (at < begins) | (at > ends)
    return at[kept]


def matched(true: Longs, found: Longs, tolerance: int) -> int:
    """As many pairs of one true and one found beat as there can be, no two of a pair further apart than `tolerance`.

    The earliest of each that fit go together: with one tolerance for all, no other choice has more pairs.
    """
    i = j = pairs = 0
    while i < len(true) and j < len(found):
        apart = int(found[j] - true[i])
        pairs += abs(apart) <= tolerance
        i += apart >= -tolerance
        j += apart <= tolerance
    return pairs
