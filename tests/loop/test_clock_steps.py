"""The wall clock is set: what is said, and when it is followed."""

import pytest

from headway.loop.clock_steps import FITS, ClockSteps
from headway.model.time import VirtualClock


def made(clock: VirtualClock) -> tuple[ClockSteps, list[str]]:
    notes: list[str] = []
    return ClockSteps(clock, notes.append), notes


def test_a_step_is_told_once_and_so_is_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    clock = VirtualClock(1_000)
    steps, notes = made(clock)
    assert steps.skew_ms() == 0 and not notes
    clock.skew = -3_600_000
    assert [steps.skew_ms() for _ in range(3)] == [-3_600_000] * 3
    clock.skew = 0
    steps.skew_ms()
    assert len(notes) == 2 and "-3,600.0 s" in notes[0] and steps.said == notes[-1]
    assert capsys.readouterr().err.count("headway: the wall clock was set") == 2


def test_rows_that_fit_to_the_wall_clock_alone_make_it_ours() -> None:
    clock = VirtualClock(5_000_000)
    steps, _ = made(clock)
    clock.skew = 3_600_000
    skew = steps.skew_ms()
    assert [steps.follow([(False, True)], skew) for _ in range(FITS)] == [False] * (FITS - 1) + [True]
    assert clock.now() == 8_600_000 and steps.skew_ms() == 0


def test_one_stream_that_fits_to_ours_keeps_it() -> None:
    clock = VirtualClock(5_000_000)
    steps, _ = made(clock)
    clock.skew = -3_600_000
    skew = steps.skew_ms()
    steps.follow([(True, False)], skew)
    assert not any(steps.follow([(False, True)], skew) for _ in range(10 * FITS))
    assert clock.now() == 5_000_000
