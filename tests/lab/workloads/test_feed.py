"""Whatever is done to a feed, its rows stay whole and in the order of arrival."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headway.errors import SettingError
from headway.sim.delays import Constant, Delay, Uniform, Zipf
from headway_lab.workloads.feed import Feed, Longs

times = st.integers(1_600_000_000_000, 1_700_000_000_000)
few = st.lists(st.tuples(times, st.integers(0, 20)), max_size=30)  # event time, and a delay short enough to tie
delays = st.sampled_from([Constant(0), Constant(7), Uniform(0, 500), Zipf()])


def longs(values: list[int]) -> Longs:
    return np.array(values, dtype=np.int64)


def made(rows: list[tuple[int, int]], keyed: bool = True) -> Feed:
    """A feed whose bodies and keys name the place of each row in `rows`."""
    event = longs([event for event, _ in rows])
    arrival = longs([event + delay for event, delay in rows])
    names = [b"%d" % place for place in range(len(rows))]
    return Feed.of("made", event, arrival, [b'"place":%b' % name for name in names], names if keyed else None)


def places(feed: Feed) -> list[int]:
    return [int(json.loads(b"{%b}" % body)["place"]) for body in feed.body]


feeds = st.builds(made, few)


@given(rows=few)
def test_rows_are_sorted_by_arrival_and_stay_whole(rows: list[tuple[int, int]]) -> None:
    feed = made(rows)

    # Sorted by arrival, and by the order in which they were given where that ties.
    assert places(feed) == sorted(range(len(rows)), key=lambda place: (sum(rows[place]), place))
    for place, key, event, arrival in zip(places(feed), feed.key or [], feed.event_ms, feed.arrival_ms, strict=True):
        assert (key, event, arrival) == (b"%d" % place, rows[place][0], sum(rows[place]))


@given(rows=few)
def test_a_feed_without_keys_has_none_whatever_is_done_to_it(rows: list[tuple[int, int]]) -> None:
    feed = made(rows, keyed=False)

    for other in (feed, feed.rebased(5), feed.delayed(Uniform(0, 9)), feed.between(0, 2**62)):
        assert other.key is None
        assert all(key is None for _, _, key in other.rows())


@given(feed=feeds, base=times, speed=st.floats(0.01, 1_000_000))
def test_a_faster_replay_keeps_the_order_and_divides_all_differences(feed: Feed, base: int, speed: float) -> None:
    fast = feed.rebased(base, speed)

    assert (fast.body, fast.key) == (feed.body, feed.key)
    assert (np.diff(fast.arrival_ms) >= 0).all()
    by_event = np.argsort(feed.event_ms, kind="stable")
    assert (np.diff(fast.event_ms[by_event]) >= 0).all()
    assert (fast.arrival_ms >= fast.event_ms).all()
    if len(feed):
        assert fast.event_ms.min() == base
        for before, after in ((feed.event_ms, fast.event_ms), (feed.arrival_ms, fast.arrival_ms)):
            apart = (before[:, None] - before[None, :]) / speed
            assert (np.abs(after[:, None] - after[None, :] - apart) <= 1.001).all()


@given(feed=feeds, base=times)
def test_a_replay_at_the_old_speed_only_moves(feed: Feed, base: int) -> None:
    moved = feed.rebased(base)

    first = int(feed.event_ms.min()) if len(feed) else 0
    assert (moved.event_ms - base).tolist() == (feed.event_ms - first).tolist()
    assert (moved.arrival_ms - moved.event_ms).tolist() == (feed.arrival_ms - feed.event_ms).tolist()


@given(feed=feeds, delay=delays, seed=st.integers(0, 2**32))
def test_a_delay_adds_no_more_than_its_longest_and_depends_on_the_seed_alone(feed: Feed, delay: Delay, seed: int) -> None:
    late, again = feed.delayed(delay, seed), feed.delayed(delay, seed)

    assert (late.arrival_ms.tolist(), late.body) == (again.arrival_ms.tolist(), again.body)
    before = dict(zip(places(feed), zip(feed.event_ms.tolist(), feed.arrival_ms.tolist(), strict=True), strict=True))
    assert len(late) == len(feed)
    for place, event, arrival in zip(places(late), late.event_ms.tolist(), late.arrival_ms.tolist(), strict=True):
        assert event == before[place][0]
        assert 0 <= arrival - before[place][1] <= delay.max_ms


def test_another_seed_draws_other_delays() -> None:
    feed = made([(1_600_000_000_000 + place, 0) for place in range(100)])

    assert feed.delayed(Uniform(0, 500), 1).arrival_ms.tolist() != feed.delayed(Uniform(0, 500), 2).arrival_ms.tolist()


@given(feed=feeds, cuts=st.lists(times, min_size=2, max_size=5).map(sorted))
def test_pieces_between_cuts_hold_every_row_once_in_order(feed: Feed, cuts: list[int]) -> None:
    cuts = [0, *cuts, 2**62]

    pieces = [feed.between(since, until) for since, until in pairwise(cuts)]
    for (since, until), piece in zip(pairwise(cuts), pieces, strict=True):
        inside = [place for place, event in zip(places(feed), feed.event_ms, strict=True) if since <= event < until]
        assert places(piece) == inside
        assert piece.key == [b"%d" % place for place in inside]
    assert sum(map(len, pieces)) == len(feed)


@given(feed=feeds)
def test_rows_are_json_with_the_event_time_sent_when_they_arrive(feed: Feed) -> None:
    assume(len(feed))
    columns = zip(places(feed), feed.event_ms.tolist(), feed.arrival_ms.tolist(), strict=True)
    assert [(at, json.loads(row), key) for at, row, key in feed.rows()] == [
        (arrival, {"event_ms": event, "place": place}, b"%d" % place) for place, event, arrival in columns
    ]


def test_a_row_without_a_body_is_still_json() -> None:
    (row,) = Feed("bare", longs([5]), longs([9]), [b""]).rows()

    assert row == (9, b'{"event_ms":5}', None)


def test_an_empty_feed_can_be_replayed() -> None:
    feed = made([])

    assert len(feed.rebased(5, 2.0)) == len(feed.delayed(Zipf())) == len(feed.between(0, 1)) == 0
    assert list(feed.rows()) == []


@pytest.mark.parametrize("speed", [0, -1.0, float("nan")])
def test_a_replay_that_would_never_end_is_refused(speed: float) -> None:
    with pytest.raises(SettingError, match=r"speed = .*: expected more than 0, e\.g\. 10 for ten times as fast"):
        made([(1, 1)]).rebased(0, speed)


def test_rows_out_of_order_are_refused_with_the_way_out() -> None:
    with pytest.raises(SettingError, match=r"feed = 'odd': expected rows in the order of arrival: see Feed\.of"):
        Feed("odd", longs([1, 2]), longs([9, 8]), [b"", b""])


@pytest.mark.parametrize("sizes", [(1, 2, 2, 2), (2, 1, 2, 2), (2, 2, 1, 2), (2, 2, 2, 1), (3, 2, 3, 3), (2, 2, 2, 0)])
def test_columns_of_unequal_length_are_refused_before_a_row_is_lost(sizes: tuple[int, int, int, int]) -> None:
    event, arrival, body, key = sizes
    columns = (longs([1] * event), longs([1] * arrival), [b""] * body, [b""] * key)

    for make in (Feed, Feed.of):
        with pytest.raises(
            SettingError, match="feed = 'odd': expected as many event times as arrival times, bodies and keys"
        ):
            make("odd", *columns)


def test_a_changed_copy_is_checked_too() -> None:
    with pytest.raises(SettingError, match="order of arrival"):
        replace(made([(1, 0), (2, 0)]), arrival_ms=longs([2, 1]))
