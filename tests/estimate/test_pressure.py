"""Relief as a timeline: on at the bound, off when half is freed or after three seconds, then as long a rest."""

from hypothesis import assume, given
from hypothesis import strategies as st

from headway.estimate.pressure import Pressure
from headway.model.time import WallMs


def after(*readings: tuple[int, float], start: Pressure | None = None) -> Pressure:
    pressure = start or Pressure()
    for at, used in readings:
        pressure = pressure.step(WallMs(at), used)
    return pressure


def test_below_the_bound_nothing_happens() -> None:
    assert not after((0, 0.5), (1_000, 0.79)).view().pressed


def test_relief_begins_at_the_bound() -> None:
    view = after((0, 0.5), (1_000, 0.8)).view()
    assert view.pressed and view.pressed_since == 1_000 and view.used == 0.8


def test_relief_goes_on_below_the_bound() -> None:
    assert after((0, 0.9), (1_000, 0.6), (2_000, 0.5)).view().pressed


def test_relief_ends_when_half_is_freed() -> None:
    assert after((0, 0.9), (1_000, 0.46)).view().pressed
    assert not after((0, 0.9), (1_000, 0.45)).view().pressed


def test_relief_ends_after_three_seconds() -> None:
    assert after((0, 0.9), (2_999, 0.9)).view().pressed
    assert not after((0, 0.9), (3_000, 0.9)).view().pressed


def test_after_relief_slack_has_its_turn_for_as_long() -> None:
    ended = after((0, 0.9), (3_000, 0.9))
    assert not after((5_999, 0.95), start=ended).view().pressed
    assert after((6_000, 0.95), start=ended).view().pressed_since == 6_000


def test_bound_and_length_are_settings() -> None:
    assert Pressure(bound=0.5).step(WallMs(0), 0.5).view().pressed
    assert not Pressure(relief_ms=100).step(WallMs(0), 0.9).step(WallMs(100), 0.9).view().pressed


@given(st.lists(st.tuples(st.integers(1, 2_000), st.floats(0, 1)), max_size=50))
def test_relief_never_lasts_much_longer_than_its_time_and_never_starts_below_the_bound(
    steps: list[tuple[int, float]],
) -> None:
    pressure, now = Pressure(), 0
    lasted, reasons = [], []
    for gap, used in steps:
        before, now = pressure, now + gap
        pressure = pressure.step(WallMs(now), used)
        since = pressure.view().pressed_since
        if since is not None:
            lasted.append(now - since)
            reasons.append(before.view().pressed or used >= 0.8)
    assume(lasted)  # there was relief
    assert max(lasted) < 3_000 and all(reasons)
