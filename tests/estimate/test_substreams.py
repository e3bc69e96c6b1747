from math import ceil, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import SettingError
from headway.estimate.substreams import GROUPS_SHOWN, MOST_GROUPS, SubStreams, fitting_sub_ms, within_correlation
from headway.model.arrays import Floats
from headway.model.sampling import GroupSeen, SubStreamSeen
from tried import tried

SUB, WINDOW = 600, 3000


def read(history: SubStreams, time: Floats, delay: Floats, value: Floats) -> SubStreams:
    """What a batch with these rows tells."""
    index, at = np.unique((time // SUB).astype(int), return_inverse=True)
    sums = (np.bincount(at, x).tolist() for x in (delay, delay**2, value, value**2, value**3, delay * value))
    seen = [SubStreamSeen(*each) for each in zip(index.tolist(), np.bincount(at).tolist(), *sums, strict=True)]
    held, edges = np.histogram(delay, 32)
    middle = (edges[1:] + edges[:-1]) / 2
    return history.add(seen, (), [(float(ms), float(n)) for ms, n in zip(middle, held, strict=True) if n], 0.0)


def stream(time: Floats, delay: Floats, value: Floats, batch_ms: float = 500.0) -> SubStreams:
    """All rows that come in until the last event, batch by batch."""
    history = SubStreams(SUB, WINDOW, WINDOW)
    batch = ((time + delay) // batch_ms).astype(int)
    for each in range(int(time.max() // batch_ms)):
        if (now := batch == each).any():
            history = read(history, time[now], delay[now], value[now])
    return history


def some(rows: int = 60_000, seed: int = 1) -> tuple[np.random.Generator, Floats]:
    rng = np.random.default_rng(seed)
    return rng, np.sort(rng.uniform(0, 30_000, rows))


def test_a_stream_is_known_as_it_is() -> None:
    rng, time = some()
    value = rng.gamma(4, 2, len(time))
    seen = stream(time, rng.exponential(240, len(time)), value).view()
    assert (seen.known, seen.places) == (10, 5)
    assert seen.rows == pytest.approx(1200, rel=0.03)
    assert seen.window_rows == pytest.approx(6000, rel=0.03)
    assert seen.rows_sd == pytest.approx(np.sqrt(1200), rel=0.6)
    assert (seen.delay_ms, seen.delay_sd_ms) == pytest.approx((240, 240), rel=0.05)
    assert (seen.value_mean, seen.value_sd) == pytest.approx((8, 4), rel=0.05)
    assert seen.value_skew == pytest.approx(1.0, abs=0.15)
    assert abs(seen.correlation) < 0.03
    assert seen.correlated_rows > 40_000


def test_the_table_of_delays_is_that_of_the_stream() -> None:
    rng, time = some()
    seen = stream(time, rng.exponential(240, len(time)), np.ones(len(time))).view()
    ms, share = np.array(seen.delays).T
    assert (np.diff(ms) > 0).all()
    assert (np.diff(share) >= 0).all()
    assert share[-1] == 1.0
    grid = np.arange(20, 1500, 20.0)
    assert abs(seen.within(grid) - (1 - np.exp(-grid / 240))).max() < 0.03
    by_hand = 1 - 240 / 600 * (1 - np.exp(-600 / 240))  # the mean over a sub-stream of 600 ms
    assert seen.arrived(0) == pytest.approx(by_hand, abs=0.02)


def test_a_constant_delay_is_a_step() -> None:
    _, time = some()
    seen = stream(time, np.full(len(time), 150.0), np.ones(len(time))).view()
    assert seen.within(np.array([140.0, 160.0])).tolist() == [0.0, 1.0]
    assert seen.arrived(0) == pytest.approx(0.75, abs=0.01)


def test_rows_without_delay_are_all_there_at_once() -> None:
    history = SubStreams(SUB, WINDOW, WINDOW)
    for at in range(8):
        history = history.add([SubStreamSeen(at, 10)], (), [(0.0, 10.0)])
    seen = history.view()
    assert seen.delays == ((0.0, 1.0),)
    assert (seen.arrived(0), seen.longest_ms) == (1.0, 0.0)


def test_a_sub_stream_counts_when_its_stragglers_are_there_and_not_before() -> None:
    rng, time = some()
    delay = np.where(rng.random(len(time)) < 0.2, 1700.0, 100.0)
    seen = stream(time, delay, np.ones(len(time))).view()
    assert seen.rows == pytest.approx(1200, rel=0.03)


def test_in_which_batches_rows_come_makes_no_difference() -> None:
    rng, time = some(20_000)
    delay, value = rng.exponential(240, len(time)), rng.normal(10, 2, len(time))
    one, other = (stream(time, delay, value, batch_ms).view() for batch_ms in (100.0, 300.0))
    assert one.rows == pytest.approx(other.rows, rel=0.02)
    assert one.value_sd == pytest.approx(other.value_sd, rel=0.02)
    assert one.correlation == pytest.approx(other.correlation, abs=1e-3)


def test_who_began_in_the_middle_waits_for_sub_streams_that_it_saw_from_the_start() -> None:
    history = SubStreams(SUB, WINDOW, WINDOW)
    for at in range(100, 104):  # the first batch brings a straggler of long ago, and the rest of a sub-stream
        history = history.add([SubStreamSeen(at, 7 if at == 100 else 50), SubStreamSeen(at - 20, 1)], (), [(10.0, 50.0)])
    assert history.view().known == 1
    assert history.view().rows == 50


def test_time_without_rows_counts() -> None:
    history = SubStreams(SUB, WINDOW, WINDOW)
    for at in range(0, 40, 2):
        history = history.add([SubStreamSeen(at, 10)], (), [(10.0, 10.0)])
    assert (history.view().known, history.view().rows) == (10, 5)


@pytest.mark.parametrize("pause", [10**6, -(10**6)])
def test_after_a_long_pause_or_back_in_the_past_all_begins_anew(pause: int) -> None:
    history = SubStreams(SUB, WINDOW, WINDOW)
    for at in range(20):
        history = history.add([SubStreamSeen(10**7 + at, 10)], (), [(10.0, 10.0)])
    history = history.add([SubStreamSeen(10**7 + pause, 99)], (), [(10.0, 10.0)])
    assert history.view().known == 0
    for at in range(20):
        history = history.add([SubStreamSeen(10**7 + pause + at, 30)], (), [(10.0, 10.0)])
    assert (history.view().known, history.view().rows) == (10, 30)


def test_a_few_rows_from_the_future_change_nothing() -> None:
    history = SubStreams(SUB, WINDOW, WINDOW)
    for at in range(30):
        history = history.add([SubStreamSeen(at, 10), SubStreamSeen(10**9, 2)], (), [(10.0, 10.0)])
    assert (history.view().known, history.view().rows, history.newest) == (10, 10, 29)


def test_the_mean_follows_a_drift() -> None:
    rng, time = some()
    value = rng.normal(10, 1, len(time)) * 1.1 ** (time / WINDOW)
    seen = stream(time, rng.exponential(240, len(time)), value).view()
    assert seen.value_mean == pytest.approx(10 * 1.1**10, rel=0.1)
    assert seen.value_sd > 1.1**8


def test_delay_that_goes_with_value_is_seen_even_through_a_drift() -> None:
    rng, time = some()
    value = rng.normal(10, 2, len(time)) + time / 3000
    plain = rng.exponential(240, len(time))
    assert abs(stream(time, plain + time / 100, value).view().correlation) < 0.03
    late = plain * np.where(value > 12 + time / 3000, 3, 1)
    assert stream(time, late, value).view().correlation > 0.2


@pytest.mark.parametrize("value", [5.0, 1e9, 0.0])
def test_a_value_that_does_not_vary_has_neither_skew_nor_correlation(value: float) -> None:
    rng, time = some(5000)
    seen = stream(time, rng.exponential(240, len(time)), np.full(len(time), value)).view()
    assert seen.value_mean == pytest.approx(value)
    assert (seen.value_skew, seen.correlation) == (0.0, 0.0)
    assert seen.value_sd <= 1e-4 * abs(value)


def test_what_is_not_a_number_stays_so_and_breaks_nothing() -> None:
    rng, time = some(5000)
    value = np.where(np.arange(len(time)) % 100, 1.0, nan)
    seen = stream(time, rng.exponential(240, len(time)), value).view()
    assert np.isnan(seen.value_mean)
    assert (seen.value_skew, seen.correlation) == (0.0, 0.0)


def test_without_rows_nothing_is_known() -> None:
    seen = SubStreams(SUB, WINDOW, WINDOW).view()
    assert (seen.known, seen.rows, seen.delays, seen.groups) == (0, 0.0, (), ())
    assert SubStreams(SUB, WINDOW, WINDOW).add([]).view() == seen
    assert within_correlation(np.empty((0, 7))) == 0.0


def test_groups_are_scaled_to_a_window_and_come_largest_first() -> None:
    history = SubStreams(SUB, WINDOW, WINDOW)
    for at in range(60):
        groups = [GroupSeen(-5, 10, 50.0, 260.0), GroupSeen(2**62, 40, 400.0, 4000.0)]
        history = history.add([SubStreamSeen(at, 50)], groups, [(10.0, 50.0)], rows=50)
    small, large = history.view().groups[::-1]
    assert (large.key, small.key) == (2**62, -5)
    assert (large.rows, large.mean, large.sd) == pytest.approx((200, 10, 0), abs=1e-6)
    assert (small.rows, small.mean, small.sd) == pytest.approx((50, 5, 1), abs=1e-6)


def test_a_group_that_is_gone_is_forgotten() -> None:
    history = SubStreams(SUB, WINDOW, WINDOW)
    for at in range(300):
        groups = [GroupSeen(1 if at < 50 else 2, 100)]
        history = history.add([SubStreamSeen(at, 100)], groups, [(10.0, 50.0)], rows=100)
    assert history.view().groups[0].key == 2
    assert history.view().groups[1].rows < 0.01


def test_there_is_no_end_of_groups_but_one_of_memory() -> None:
    history = SubStreams(SUB, WINDOW, WINDOW)
    for at in range(4):
        groups = [GroupSeen(at * 3000 + k, 1 + (k == 0)) for k in range(3000)]
        history = history.add([SubStreamSeen(at, 3000)], groups, [(0.0, 3000.0)], rows=3000)
    assert len(history.groups.keys) == MOST_GROUPS
    assert len(history.view().groups) == GROUPS_SHOWN


@given(st.integers(1, 100_000))
@tried(100)
def test_sub_streams_fit_between_two_ends_of_windows(slide: int) -> None:
    sub = fitting_sub_ms(slide)
    assert slide % sub == 0
    assert sub <= 600 or sub == slide or slide > 36_000  # of long windows each has sixty at most
    assert sub >= min(slide, 100) * 0.5


@pytest.mark.parametrize(
    ("slide", "sub"), [(3000, 600), (6000, 600), (1000, 500), (2000, 500), (250, 250), (10_007, 10_007), (3_600_000, 60_000)]
)
def test_they_are_six_hundred_milliseconds_where_that_fits(slide: int, sub: int) -> None:
    assert fitting_sub_ms(slide) == sub


def test_a_length_of_nothing_is_refused() -> None:
    with pytest.raises(SettingError, match=r"approximate.slide_ms = 0: expected more than 0"):
        SubStreams(600, 3000, 0)


@given(st.lists(st.lists(st.tuples(st.integers(0, 300), st.integers(1, 50)), max_size=5), max_size=30))
@tried(60)
def test_no_row_is_counted_twice_or_lost_while_it_is_remembered(batches: list[list[tuple[int, int]]]) -> None:
    history = SubStreams(SUB, WINDOW, WINDOW)
    for batch in batches:
        history = history.add([SubStreamSeen(index, rows) for index, rows in batch], (), [(5.0, 1.0)])
    total = sum(rows for batch in batches for _, rows in batch)
    assert history.sums[:, 0].sum() <= total
    if all(index < 50 for batch in batches for index, _ in batch):
        assert history.sums[:, 0].sum() == total
    assert history.view().known <= 10
    assert history.span == 10 + 1 + ceil(60_000 / SUB)
