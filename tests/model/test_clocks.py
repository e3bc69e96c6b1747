"""Time that passes evenly, whoever sets the wall clock."""

from headway.model.time import SystemClock


class Machine:
    """A wall clock that can be set, and a monotonic one that cannot."""

    def __init__(self) -> None:
        self.steady_s, self.ahead_s = 50.0, 1_000_000.0

    def clock(self) -> SystemClock:
        return SystemClock(lambda: self.steady_s + self.ahead_s, lambda: self.steady_s)


def test_it_begins_with_the_wall_clock_and_goes_on_with_the_monotonic_one() -> None:
    machine = Machine()
    clock = machine.clock()
    assert clock.now() == 1_000_050_000
    machine.steady_s += 2.5
    assert clock.now() == 1_000_052_500 and clock.skew_ms() == 0


def test_setting_the_wall_clock_moves_nothing_and_is_seen() -> None:
    machine = Machine()
    clock = machine.clock()
    machine.ahead_s -= 3_600
    machine.steady_s += 1
    assert clock.now() == 1_000_051_000 and clock.skew_ms() == -3_600_000


def test_a_small_correction_is_followed_but_never_backwards() -> None:
    machine = Machine()
    clock = machine.clock()
    before = clock.now()
    machine.ahead_s -= 0.4
    assert clock.skew_ms() == 0 and clock.now() == before
    machine.steady_s += 1
    assert clock.now() == before + 600


def test_the_wall_clock_can_be_followed() -> None:
    machine = Machine()
    clock = machine.clock()
    machine.ahead_s -= 3_600
    clock.follow_wall()
    assert clock.skew_ms() == 0 and clock.now() == 1_000_050_000 - 3_600_000
