"""Times and reasons as people read them."""

from datetime import datetime

import pytest

from headway.dashboard.words import clock, hour, lasting, readable, some

AT = round(datetime(2026, 11, 16, 12, 0, 3).timestamp() * 1000)


def test_moments_are_those_of_the_clock_on_the_wall() -> None:
    assert (hour(AT), clock(AT + 250), clock(AT, date=True)) == ("12:00:03", "12:00:03.250", "2026-11-16 12:00:03.000")


def test_a_simulation_has_no_zone() -> None:
    assert clock(27_000, date=True) == "1970-01-01 00:00:27.000"


def test_no_reason_shows_milliseconds_since_1970() -> None:
    because = f"least slack, -1372 ms: window end {AT} due 1375 ms ago, a batch costs 312 ms, 4 due"
    assert readable(because) == "least slack, -1.37 s: window end 12:00:03 due 1.38 s ago, a batch costs 312 ms, 4 due"
    assert readable(f"x; watermark {AT} withheld: not ripe") == "x; watermark 12:00:03 withheld: not ripe"
    assert readable("window end 27000 due 5 ms ago") == "window end 00:00:27 due 5 ms ago"


@pytest.mark.parametrize(
    ("ms", "said"),
    [(0, "0 ms"), (999, "999 ms"), (1_400, "1.40 s"), (-2_500, "-2.50 s"), (61_000, "1.0 min"), (7_200_000, "2.0 h"),
     (10 * 86_400_000, "10 days")],
)  # fmt: skip
def test_durations_have_the_unit_that_fits(ms: int, said: str) -> None:
    assert lasting(ms) == said


def test_of_many_names_some_are_told() -> None:
    assert some(["a", "b", "c"], 2) == "a, b and 1 more" and some(["a"], 2) == "a"
