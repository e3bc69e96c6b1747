"""A window goes when each of its sub-streams has its rows, or when patience ends (Aion, Algorithm 4)."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.estimate.complete import hold_ms
from headway.model.sampling import Sampling, StreamView
from headway.policy.sampling import Aion, AionMinus, AQKSlack, Everything

# Five sub-streams of 600 ms to a window, 1,200 rows each; a row takes up to 1 s, any delay as likely as another.
SEEN = StreamView(
    600, 3_000, 3_000, known=10, rows=1_200.0, rows_sd=35.0, longest_ms=1_000.0, delays=((0.0, 0.0), (1_000.0, 1.0)),
    value_mean=10.0, value_sd=5.0,
)  # fmt: skip
SAID = Aion().decide(SEEN)


def expected(read_ms: float) -> list[float]:
    return [SEEN.rows * SEEN.arrived(max(-600, read_ms + (4 - place) * 600)) for place in range(5)]


def test_each_sub_stream_must_have_the_rows_that_its_part_of_the_sample_is_taken_from() -> None:
    assert SAID.wait_ms == 0 and SAID.until_ms == 1_000 and len(SAID.least) == 5
    for place, least in enumerate(SAID.least):
        assert 0 < least < SEEN.rows * SAID.arrived[place]
        # Of those rows, and as many as chance may leave out, so many are taken as the place has of the sample.
        taken = (least + 3 * SEEN.rows_sd) * SAID.rate(place)
        assert taken == pytest.approx(SAID.needed / 5, rel=0.01)


@pytest.mark.parametrize("read_ms", [-1_800, -600, 0, 400])
def test_a_window_with_its_usual_rows_is_not_held(read_ms: float) -> None:
    assert hold_ms(SAID, SEEN, expected(read_ms), read_ms) == SAID.wait_ms


def test_a_sub_stream_whose_rows_are_late_is_waited_for_until_it_will_have_enough() -> None:
    rows = expected(0)
    rows[4] = SAID.least[4] * 0.8
    held = hold_ms(SAID, SEEN, rows, 0)
    assert 0 < held < SAID.until_ms
    there = rows[4] * SEEN.arrived(held) / SEEN.arrived(0)
    assert there >= SAID.least[4] > rows[4] * SEEN.arrived(held - 2) / SEEN.arrived(0)


def test_what_will_not_come_any_more_is_waited_for_until_patience_ends() -> None:
    rows = expected(0)
    rows[0] = SAID.least[0] / 2  # all of its rows should have come two seconds ago
    assert hold_ms(SAID, SEEN, rows, 0) == SAID.until_ms == 1_000
    assert hold_ms(replace(SAID, until_ms=300), SEEN, rows, 0) == 300
    assert hold_ms(SAID, SEEN, [0.0] * 5, 0) == SAID.until_ms


def test_what_had_not_ended_when_it_was_read_says_nothing() -> None:
    assert hold_ms(SAID, SEEN, [0.0] * 5, -3_000) == SAID.wait_ms
    rows = expected(-600)
    assert rows[4] == 0 and hold_ms(SAID, SEEN, rows, -600) == SAID.wait_ms


@given(st.lists(st.floats(0, 5_000), min_size=5, max_size=5), st.integers(-3_000, 2_000), st.integers(0, 4))
def test_no_window_goes_before_its_wait_nor_after_patience_and_more_rows_never_hold_it_longer(
    rows: list[float], read_ms: int, place: int
) -> None:
    held = hold_ms(SAID, SEEN, rows, read_ms)
    assert SAID.wait_ms <= held <= SAID.until_ms
    more = [n + 100 * (p == place) for p, n in enumerate(rows)]
    assert hold_ms(SAID, SEEN, more, read_ms) <= held


@pytest.mark.parametrize("policy", [AionMinus(), AQKSlack(), Everything()], ids=repr)
def test_its_rivals_wait_for_nobody_in_particular(policy: Aion) -> None:
    said: Sampling = policy.decide(SEEN)
    assert said.least == () and hold_ms(said, SEEN, [0.0] * 5, 500) == said.wait_ms
