"""Which peaks are beats: adaptive thresholds, refractory period, T waves, and a second look where a beat is missing.

The rules are those of Pan and Tompkins (1985). `Rhythm` is all that is remembered between two peaks, and `judged` the only
way from one to the next, so what is found depends on the peaks and their order alone.
"""

from dataclasses import dataclass, replace
from statistics import fmean

from headway_lab.workloads.bio.ecg.design import QrsDesign
from headway_lab.workloads.bio.ecg.peaks import WavePeak

REMEMBERED = 8  # intervals
IN_LIMITS = 0.92, 1.16  # of the mean of regular intervals: those that are regular, too
MISSED = 1.66  # of that mean: if there is no beat for so long, one was missed


@dataclass(frozen=True, slots=True)
class Beat:
    """A QRS complex."""

    at: int  # its sample
    rr: int | None  # samples since the beat before; None for the first
    height: int  # of the band-passed signal
    searched: bool  # found by the second look


@dataclass(frozen=True, slots=True)
class PeakLevels:
    """What a peak of a beat and a peak of noise measure, by running means."""

    signal: float
    noise: float = 0.0

    @property
    def threshold(self) -> float:
        return self.noise + 0.25 * (self.signal - self.noise)

    def heard_beat(self, value: float, weight: float) -> "PeakLevels":
        return replace(self, signal=weight * value + (1 - weight) * self.signal)

    def heard_noise(self, value: float) -> "PeakLevels":
        return replace(self, noise=0.125 * value + 0.875 * self.noise)


@dataclass(frozen=True, slots=True)
class Rhythm:
    """What is known of a heart before its next peak."""

    began: int  # the sample since which it is learnt from
    unjudged: tuple[WavePeak, ...] = ()  # while nothing is learnt yet
    energy: PeakLevels | None = None  # None: nothing is learnt yet
    height: PeakLevels = PeakLevels(0.0)
    last: WavePeak | None = None  # that was a beat
    intervals: tuple[int, ...] = ()
    regular: tuple[int, ...] = ()  # the last intervals within limits
    outside: int = 0  # how many intervals in a row were not
    passed_over: tuple[WavePeak, ...] = ()  # since the last beat

    @property
    def strictness(self) -> float:
        """Thresholds are halved while the heart is irregular."""
        return 1.0 if self.intervals == self.regular else 0.5


def judged(rhythm: Rhythm, peak: WavePeak, design: QrsDesign) -> tuple[list[Beat], Rhythm]:
    """The beats that are known once this peak is, oldest first, and what is remembered."""
    since = rhythm.began if rhythm.last is None else rhythm.last.at
    if rhythm.energy is not None and peak.at - since > design.lost:
        # A burst of noise can lift the thresholds so high that no beat reaches them any more: begin anew.
        rhythm = Rhythm(peak.at, unjudged=rhythm.passed_over)
    if rhythm.energy is None:
        return _learnt(replace(rhythm, unjudged=(*rhythm.unjudged, peak)), design)
    beats, rhythm = _searched(rhythm, peak.at, design)
    more, rhythm = _weighed(rhythm, peak, design)
    return beats + more, rhythm


def _learnt(rhythm: Rhythm, design: QrsDesign) -> tuple[list[Beat], Rhythm]:
    """Thresholds from the first peaks, which are then judged by them."""
    peaks, beats = rhythm.unjudged, list[Beat]()
    if peaks[-1].at - rhythm.began < design.learn:
        return beats, rhythm
    # Half of the greatest: a first complex that is twice its neighbours must not hide them.
    energy = PeakLevels(max(peak.energy for peak in peaks) / 2)
    height = PeakLevels(max(peak.height for peak in peaks) / 2)
    rhythm = replace(rhythm, unjudged=(), energy=energy, height=height)
    for peak in peaks:
        found, rhythm = judged(rhythm, peak, design)
        beats += found
    return beats, rhythm


def _searched(rhythm: Rhythm, now: int, design: QrsDesign) -> tuple[list[Beat], Rhythm]:
    """Where a beat is missing, the greatest peak that was passed over is one if it reaches half of the thresholds."""
    beats = []
    while (peak := _missed(rhythm, now, design)) is not None:
        beat, rhythm = _taken(rhythm, peak, searched=True)
        beats.append(beat)
    return beats, rhythm


def _missed(rhythm: Rhythm, now: int, design: QrsDesign) -> WavePeak | None:
    if not rhythm.regular or rhythm.last is None or now - rhythm.last.where <= MISSED * fmean(rhythm.regular):
        return None
    last = rhythm.last
    fit = [
        peak
        for peak in rhythm.passed_over
        if peak.where - last.where >= design.refractory
        and not _t_wave(peak, last, design)
        and _reaches(peak, rhythm, 0.5 * rhythm.strictness)
    ]
    return max(fit, key=lambda peak: peak.energy, default=None)


def _weighed(rhythm: Rhythm, peak: WavePeak, design: QrsDesign) -> tuple[list[Beat], Rhythm]:
    levels, last = rhythm.energy, rhythm.last
    assert levels is not None
    if last is not None and peak.where - last.where < design.refractory:
        return [], rhythm
    t_wave = last is not None and _t_wave(peak, last, design)
    if not t_wave and _reaches(peak, rhythm, rhythm.strictness):
        beat, rhythm = _taken(rhythm, peak, searched=False)
        return [beat], rhythm
    energy, height = levels.heard_noise(peak.energy), rhythm.height.heard_noise(peak.height)
    passed_over = rhythm.passed_over if t_wave else (*rhythm.passed_over, peak)
    return [], replace(rhythm, energy=energy, height=height, passed_over=passed_over)


def _t_wave(peak: WavePeak, last: WavePeak, design: QrsDesign) -> bool:
    """A peak soon after a beat and less than half as steep."""
    return peak.where - last.where < design.t_wave and 2 * peak.slope < last.slope


def _reaches(peak: WavePeak, rhythm: Rhythm, share: float) -> bool:
    assert rhythm.energy is not None
    return peak.energy > share * rhythm.energy.threshold and peak.height > share * rhythm.height.threshold


def _taken(rhythm: Rhythm, peak: WavePeak, searched: bool) -> tuple[Beat, Rhythm]:
    """This peak is a beat: levels, intervals and the peaks that may still have been missed."""
    assert rhythm.energy is not None
    rr = None if rhythm.last is None else peak.where - rhythm.last.where
    weight = 0.25 if searched else 0.125
    rhythm = replace(
        rhythm if rr is None else _heard_interval(rhythm, rr),
        energy=rhythm.energy.heard_beat(peak.energy, weight),
        height=rhythm.height.heard_beat(peak.height, weight),
        last=peak,
        passed_over=tuple(other for other in rhythm.passed_over if other.at > peak.at),
    )
    return Beat(peak.where, rr, peak.height, searched), rhythm


def _heard_interval(rhythm: Rhythm, rr: int) -> Rhythm:
    low, high = IN_LIMITS
    intervals = (*rhythm.intervals, rr)[-REMEMBERED:]
    mean = fmean(rhythm.regular) if rhythm.regular else rr
    if low * mean <= rr <= high * mean:
        return replace(rhythm, intervals=intervals, regular=(*rhythm.regular, rr)[-REMEMBERED:], outside=0)
    outside = rhythm.outside + 1
    # A heart that has changed its pace for good: what it does now is its rule.
    regular = intervals if outside >= REMEMBERED else rhythm.regular
    return replace(rhythm, intervals=intervals, regular=regular, outside=outside % REMEMBERED)
