"""Beats are found where they are, and the same ones however the signal comes in."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_lab.workloads.bio.ecg import Beat, detected, fed, finished, started
from headway_lab.workloads.bio.ecg.design import QrsDesign
from headway_lab.workloads.bio.ecg.peaks import WavePeak, peaks
from headway_lab.workloads.bio.ecg.rhythm import PeakLevels, Rhythm, judged
from headway_lab.workloads.hashing import Longs
from lab.workloads.bio.ecg.hearts import FS, heart, regular
from tried import tried

DESIGN = QrsDesign(FS)


def wild(seed: int, length: int) -> Longs:
    """A heart without a rule, on a base line that wanders, with bursts."""
    chance = np.random.default_rng(seed)
    beats = np.cumsum(chance.integers(60, 600, 30))
    x = heart(beats[beats < length].tolist(), length, noise=float(chance.integers(0, 40)), seed=seed)
    x = x + np.cumsum(chance.integers(-6, 7, length))
    burst = int(chance.integers(0, length))
    x[burst : burst + 200] += chance.integers(-900, 900, len(x[burst : burst + 200]))
    return x.astype(np.int64)


wild_hearts = st.builds(wild, st.integers(0, 2**32 - 1), st.integers(1, 6_000))


def spaced(gaps: list[tuple[int, int, int, int, int]]) -> list[WavePeak]:
    """Peaks as the filters could give them: further apart than the refractory period."""
    at = np.cumsum([gap for gap, *_ in gaps]).tolist()
    return [WavePeak(one, one + off, *sizes) for one, (_, off, *sizes) in zip(at, gaps, strict=True)]


sizes = (st.integers(1, 10**9), st.integers(1, 10**4), st.integers(1, 10**4))
wave_peaks = st.lists(st.tuples(st.integers(73, 4_000), st.integers(-27, 27), *sizes), max_size=60).map(spaced)


# However it is cut.


@tried(60)
@given(x=wild_hearts, shares=st.lists(st.floats(0, 1), max_size=8))
def test_the_same_samples_give_the_same_beats_however_they_are_cut(x: Longs, shares: list[float]) -> None:
    assert detected(x, FS, [int(share * len(x)) for share in shares]) == detected(x, FS)


@tried(5)
@given(x=st.builds(wild, st.integers(0, 2**32 - 1), st.just(1_500)))
def test_sample_by_sample_is_as_good_as_all_at_once(x: Longs) -> None:
    assert detected(x, FS, range(1, len(x))) == detected(x, FS)


@tried(40)
@given(x=wild_hearts, share=st.floats(0, 1))
def test_the_state_is_the_same_too_and_old_states_stay_as_they_were(x: Longs, share: float) -> None:
    cut = int(share * len(x))
    _, half = fed(started(FS), x[:cut])
    first = fed(half, x[cut:])
    _, whole = fed(started(FS), x)
    assert first[1].rhythm == whole.rhythm and first[1].seen == whole.seen == len(x)
    assert fed(half, x[cut:])[0] == first[0], "a detector that was fed is still what it was"


# Laws.


@tried(60)
@given(x=wild_hearts)
def test_no_two_beats_are_closer_than_the_refractory_period_and_each_tells_its_interval(x: Longs) -> None:
    beats = detected(x, FS)
    assert all(0 <= beat.at < len(x) for beat in beats) and (not beats or beats[0].rr is None)
    apart = [later.at - beat.at for beat, later in pairwise(beats)]
    assert min(apart, default=DESIGN.refractory) >= DESIGN.refractory
    told = [later.rr for later in beats[1:]]
    assert [rr for rr in told if rr is not None] == [a for a, rr in zip(apart, told, strict=True) if rr is not None]


@given(rows=wave_peaks)
def test_whatever_the_peaks_beats_come_in_order_and_never_within_the_refractory_period(rows: list[WavePeak]) -> None:
    rhythm, beats = Rhythm(0), list[Beat]()
    for peak in rows:
        found, rhythm = judged(rhythm, peak, DESIGN)
        beats += found
        assert len(rhythm.passed_over) + len(rhythm.unjudged) <= 60, "what is remembered stays small"
    apart = [later.at - beat.at for beat, later in pairwise(beats)]
    assert min(apart, default=DESIGN.refractory) >= DESIGN.refractory
    assert {beat.at for beat in beats} <= {peak.where for peak in rows}


@tried(30)
@given(x=wild_hearts, first=st.integers(0, 10**9))
def test_a_shift_of_time_shifts_the_beats_and_changes_nothing_else(x: Longs, first: int) -> None:
    shifted = [replace(beat, at=beat.at - first) for beat in detected(x, FS, first=first)]
    assert shifted == detected(x, FS)


@tried(30)
@given(x=wild_hearts, constant=st.integers(-10_000, 10_000))
def test_a_constant_voltage_changes_nothing(x: Longs, constant: int) -> None:
    assert detected(x + constant, FS) == detected(x, FS)


@tried(30)
@given(x=wild_hearts)
def test_no_two_peaks_are_within_a_refractory_period(x: Longs) -> None:
    at = [peak.at for peak in peaks(x, DESIGN, 0)]
    assert min(np.diff(at), default=DESIGN.refractory + 1) > DESIGN.refractory
    assert all(DESIGN.reach <= one < len(x) - DESIGN.reach for one in at)


# What is found.


@pytest.mark.parametrize("rr", [120, 200, 300, 450])
def test_every_beat_of_a_regular_heart_is_found_where_it_is(rr: int) -> None:
    true = regular(30, rr)
    found = [beat.at for beat in detected(heart(true, true[-1] + 400, noise=4.0), FS)]
    assert len(found) == 30
    assert np.abs(np.array(found) - true).max() <= 6


def test_a_high_but_gentle_t_wave_is_no_beat() -> None:
    true = regular(20)
    found = detected(heart(true, true[-1] + 400, t_wave=1.3), FS)
    assert len(found) == 20 and np.abs(np.array([beat.at for beat in found]) - true).max() <= 6


def test_an_early_beat_is_one_although_it_comes_when_t_waves_do() -> None:
    true = sorted([*regular(20), 200 + 300 * 10 + 115])
    assert len(detected(heart(true, true[-1] + 400), FS)) == 21


def test_a_low_beat_is_found_by_the_second_look_and_only_by_that() -> None:
    true = regular(20)
    low = [0.42 if i == 12 else 1.0 for i in range(20)]
    found = detected(heart(true, true[-1] + 400, low, t_wave=0.1), FS)
    assert len(found) == 20
    assert [i for i, beat in enumerate(found) if beat.searched] == [12]


def test_a_pause_is_a_pause() -> None:
    true = [at for at in regular(20) if at != 200 + 300 * 12]
    found = detected(heart(true, true[-1] + 400, t_wave=0.1, noise=2.0), FS)
    assert len(found) == 19 and max(beat.rr or 0 for beat in found) == pytest.approx(600, abs=10)


def test_after_a_burst_of_noise_beats_are_found_again() -> None:
    true = regular(60)
    x = heart(true, true[-1] + 400)
    x[3_000:3_100] += np.random.default_rng(1).integers(-30_000, 30_000, 100)
    found = np.array([beat.at for beat in detected(x, FS)])
    later = [at for at in true if at > 3_100 + 12 * FS]
    assert len(later) > 30 and all(np.abs(found - at).min() <= 6 for at in later)


def test_where_nothing_beats_nothing_is_found() -> None:
    assert detected(np.full(20_000, 1_024, dtype=np.int64), FS) == []
    assert detected(np.zeros(0, dtype=np.int64), FS) == []
    assert finished(started(FS)) == []


def test_a_beat_is_known_once_the_reach_of_the_filters_has_passed_it() -> None:
    true = regular(10)
    x = heart(true, true[-1] + 400)
    known = len(detected(x, FS))
    _, before = fed(started(FS), x[: true[-1]])
    late, _ = fed(before, x[true[-1] : true[-1] + DESIGN.reach + 10])
    assert known == 10 and abs(late[-1].at - true[-1]) <= 6


# The rules.


def test_levels_follow_what_is_heard_and_the_threshold_lies_a_quarter_above_noise() -> None:
    levels = PeakLevels(signal=100, noise=20)
    assert levels.threshold == 40
    assert levels.heard_beat(180, 0.125).signal == 110 and levels.heard_beat(180, 0.25).signal == 120
    assert levels.heard_noise(100).noise == 30


def test_thresholds_are_halved_while_the_heart_is_irregular() -> None:
    assert Rhythm(0, intervals=(300, 300), regular=(300, 300)).strictness == 1.0
    assert Rhythm(0, intervals=(300, 500), regular=(300,)).strictness == 0.5


def test_a_heart_that_changes_its_pace_for_good_is_regular_again() -> None:
    slow = regular(30, 400)
    true = slow + [slow[-1] + 250 * i for i in range(1, 41)]
    x = heart(true, true[-1] + 400)
    beats, detector = fed(started(FS), x)
    assert len(beats) >= 69 and detector.rhythm.strictness == 1.0
    assert detector.rhythm.regular[-1] == pytest.approx(250, abs=6)
