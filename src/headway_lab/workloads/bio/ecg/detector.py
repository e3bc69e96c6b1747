"""The online detector: samples go in as they come, beats come out; its state is a value.

However the samples are cut, the same ones give the same beats: filters and peaks look at a fixed stretch around each sample,
which is kept from one call to the next, and the judge goes from peak to peak. A beat is known 380 ms after it at 360 samples
a second (`QrsDesign.reach`), one that is only found by the second look when the next peak shows that it is missing.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from headway_lab.workloads.bio.ecg.design import QrsDesign
from headway_lab.workloads.bio.ecg.peaks import peaks
from headway_lab.workloads.bio.ecg.rhythm import Beat, Rhythm, judged
from headway_lab.workloads.hashing import Longs


@dataclass(frozen=True, eq=False)
class QrsDetector:
    """All that is known of a signal from sample `began` up to, not including, sample `seen`."""

    design: QrsDesign
    began: int
    seen: int
    rhythm: Rhythm
    tail: Longs | None = None  # the last samples; None before the first


def started(fs: int, first: int = 0) -> QrsDetector:
    """A detector that has seen nothing; the first sample that it will be given has this number."""
    return QrsDetector(QrsDesign(fs), first, first, Rhythm(first))


def fed(detector: QrsDetector, samples: Longs) -> tuple[list[Beat], QrsDetector]:
    """The beats that are known with these samples, and the detector that has seen them."""
    if not len(samples):
        return [], detector
    design, rhythm = detector.design, detector.rhythm
    kept = 2 * design.reach
    # Before the first sample the signal is taken to have been as it is then: a step would look like a complex.
    tail = np.full(kept, samples[0], dtype=np.int64) if detector.tail is None else detector.tail
    x = np.concatenate([tail, samples.astype(np.int64)])
    beats: list[Beat] = []
    for peak in peaks(x, design, detector.seen - kept):
        if peak.where >= detector.began:
            found, rhythm = judged(rhythm, peak, design)
            beats += found
    return beats, replace(detector, seen=detector.seen + len(samples), rhythm=rhythm, tail=x[len(x) - kept :].copy())


def finished(detector: QrsDetector) -> list[Beat]:
    """The beats that are only known once no more samples come: the signal is taken to stay as it is."""
    if detector.tail is None:
        return []
    beats, _ = fed(detector, np.full(detector.design.reach, detector.tail[-1], dtype=np.int64))
    return [beat for beat in beats if beat.at < detector.seen]


def detected(samples: Longs, fs: int, cuts: Iterable[int] = (), first: int = 0) -> list[Beat]:
    """The beats of a whole signal, handed over in pieces that end at `cuts`."""
    detector, beats = started(fs, first), list[Beat]()
    for piece in np.split(samples, sorted(cuts)):
        found, detector = fed(detector, piece)
        beats += found
    return beats + finished(detector)
