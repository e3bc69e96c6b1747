"""When the clock tells how far a stream has come, and when its rows do."""

from headway.loop.liveness import LEAD_MS, LIVE_MEMORY, Liveness
from headway.model.time import EventMs, WallMs

T = 1_000_000_000_000
HOUR_MS = 3_600_000


def looked(stream: Liveness, at: int, delay_ms: float | None = None, patience_ms: int = 500) -> Liveness:
    """A look that found one row of this delay, or none."""
    event = None if delay_ms is None else EventMs(round(at - delay_ms))
    near = None if event is None or event > at + LEAD_MS else event
    stream.saw(() if delay_ms is None else ((delay_ms, 1.0),), near, event, WallMs(at), patience_ms)
    return stream


def test_nothing_is_live_before_a_row_was_seen() -> None:
    assert not Liveness(10_000, 500).live(limited=False)
    assert not looked(Liveness(10_000, 500), T).live(limited=False)


def test_it_is_live_while_its_newest_row_is_no_older_than_patience() -> None:
    stream = looked(Liveness(10_000, 500), T, 100)
    assert stream.live(limited=False)
    assert looked(stream, T + 400).live(limited=False), "an empty look says nothing yet"
    assert not looked(stream, T + 401).live(limited=False)
    assert looked(stream, T + 3_000, 100).live(limited=False), "it has caught up"


def test_a_window_that_was_announced_waits_for_a_silent_stream_as_long_as_it_may_be_silent() -> None:
    stream = looked(looked(Liveness(10_000, 500), T, 100), T + 3_000)
    assert stream.held_until == T + 10_000
    idle = looked(stream, T + 10_000)
    assert idle.held_until is None and idle.idle and idle.live(limited=False)


def test_never_idle_means_never_by_the_clock() -> None:
    stream = looked(Liveness(None, 500), T, 100)
    assert not stream.live(limited=False)
    assert not looked(stream, T + HOUR_MS).live(limited=False) and not stream.idle and stream.held_until is None


def test_portions_are_by_the_clock_only_when_nothing_has_come_for_long() -> None:
    stream = looked(Liveness(10_000, 500), T, 100)
    assert not stream.live(limited=True)
    assert looked(stream, T + 10_000).live(limited=True) and stream.caught_at == T + 10_000


def test_a_stream_by_another_clock_is_measured_by_its_own() -> None:
    stream = looked(Liveness(10_000, 500), T, -9.0 * HOUR_MS)
    assert stream.ahead and not stream.live(limited=False) and stream.newest == T + 9 * HOUR_MS


def test_rows_that_came_in_time_by_their_broker_are_by_rows_if_our_clock_is_wrong() -> None:
    """Their delays are by the broker's clock; ours is an hour ahead, and would refuse them all."""
    stream = Liveness(10_000, 500, watched=True)
    stream.saw(((100.0, 1.0),), EventMs(T - HOUR_MS), EventMs(T - HOUR_MS), WallMs(T), 500)
    assert stream.recent and not stream.live(limited=False)


def test_rows_that_came_in_time_by_their_broker_are_by_rows_if_our_clock_is_far_behind() -> None:
    """Ninety seconds behind, after a restart: no row is near our clock, and the watermark must not stand still for that."""
    stream = Liveness(None, 500)
    for step in range(3):
        event = EventMs(T + 90_000 + 100 * step)
        stream.saw(((250.0, 10.0),), None, event, WallMs(T + 100 * step), 500)
        assert stream.newest == event and not stream.live(limited=False)


def test_one_row_from_the_future_changes_nothing() -> None:
    stream = looked(looked(Liveness(10_000, 500), T, 100), T + 200, 100)
    assert looked(stream, T + 300, -9.0 * HOUR_MS).live(limited=False) and stream.newest == T + 100


def test_old_rows_are_not_live_and_silence_does_not_make_them_so() -> None:
    stream = looked(Liveness(10_000, 500), T, 86_400_000.0)
    assert not stream.live(limited=False)
    assert not looked(stream, T + 20_000).live(limited=False) and stream.idle


def test_that_it_was_live_is_forgotten_after_twenty_batches() -> None:
    stream = looked(Liveness(10_000, 500), T, 100)
    for n in range(LIVE_MEMORY):
        looked(stream, T + 1_000 * n, 5_000)
    assert not looked(stream, T + 60_000).live(limited=False)


def test_a_stream_that_is_silent_again_and_again_goes_by_its_rows() -> None:
    stream = looked(Liveness(10_000, 500), T, 100)
    assert not looked(stream, T + 900).live(limited=False)
    assert looked(stream, T + 1_000, 100).live(limited=False), "once is an accident"
    looked(stream, T + 1_900)
    assert not looked(stream, T + 2_000, 100).live(limited=False), "twice in twenty looks is what this stream is like"
    for step in range(LIVE_MEMORY):
        looked(stream, T + 3_000 + 100 * step, 100)
    assert stream.live(limited=False), "twenty looks without show that it has changed"
    assert looked(stream, T + 60_000).live(limited=False), "long silence is another matter"
