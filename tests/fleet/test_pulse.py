"""For how long a session is sure: never longer than the server that gives it up at the earliest."""

from hypothesis import given
from hypothesis import strategies as st

from headway.fleet.pulse import HOLD, Pulse

moments = st.lists(st.floats(0.0, 100.0, allow_nan=False), max_size=30)


def test_a_new_session_is_sure_for_a_part_of_its_timeout() -> None:
    assert Pulse.born(10.0, at=100.0).until == 100.0 + HOLD * 10.0


def test_it_is_the_beat_before_the_last_that_counts() -> None:
    pulse = Pulse.born(10.0, at=0.0).answered(2.0)
    assert pulse.until == 7.5
    assert pulse.answered(4.0).until == 9.5


def test_after_a_long_silence_one_beat_is_not_enough() -> None:
    """It may have been answered by a server that dies before it has told of it."""
    woken = Pulse.born(10.0, at=0.0).answered(2.0).answered(60.0)
    assert woken.until < 60.0 < woken.answered(61.5).until


def test_two_beats_at_once_are_one() -> None:
    pulse = Pulse.born(10.0, at=0.0).answered(60.0)
    assert pulse.answered(60.5) == pulse


@given(moments, st.floats(0.1, 50.0))
def test_it_is_never_sure_for_longer_than_the_last_beat_but_one_allows(beats: list[float], timeout_s: float) -> None:
    pulse = Pulse.born(timeout_s, at=0.0)
    heard = [0.0]
    for sent in [*sorted(beats), 101.0]:
        pulse = pulse.answered(sent)
        heard.append(sent)
        earlier = [at for at in heard if at < sent] or [0.0]
        assert pulse.until <= max(earlier) + timeout_s * HOLD
