"""Which windows came out with which batch, and how late."""

from headway.dashboard.lines import BatchLine
from headway.dashboard.windows import MOST_AT_ONCE, cumulated, quantiles, windows_in, windows_of
from headway.model.deadline import Deadlines, Grid
from headway.model.time import EventMs, WallMs

NOON = 1_794_830_400_000
THREE = Deadlines((Grid(3_000),))


def batch(number: int, at: int, watermark: int | None) -> BatchLine:
    mark = None if watermark is None else EventMs(watermark)
    return BatchLine(number, WallMs(at), "q", number, WallMs(at - 100), 100, 10, mark, 0, 0, 0, 0)


def test_a_window_is_late_by_the_time_since_its_end_and_the_patience() -> None:
    (window,) = windows_of(EventMs(NOON), batch(1, NOON + 3_900, NOON + 3_000), THREE, 500)
    assert (window.end, window.due, window.latency_ms) == (NOON + 3_000, NOON + 3_500, 400)


def test_a_batch_that_moves_no_watermark_emits_nothing() -> None:
    assert windows_of(EventMs(NOON), batch(1, NOON + 100, NOON), THREE, 500) == ()
    assert windows_of(EventMs(NOON), batch(1, NOON + 100, None), THREE, 500) == ()


def test_of_windows_that_come_out_together_each_has_its_own_latency() -> None:
    out = windows_of(EventMs(NOON), batch(1, NOON + 10_000, NOON + 9_000), THREE, 0)
    assert [w.latency_ms for w in out] == [7_000, 4_000, 1_000]


def test_no_more_are_told_apart_than_are_read_by_people() -> None:
    out = windows_of(EventMs(NOON), batch(1, NOON + 3_600_000, NOON + 3_600_000), THREE, 0)
    assert len(out) == MOST_AT_ONCE and out[0].end == NOON + 3_000


def test_before_the_first_watermark_nobody_knows_how_many_windows_there_were() -> None:
    for nothing in (NOON - 10 * 365 * 86_400_000, None):  # Spark's own, or none
        out = windows_in([batch(0, NOON, nothing), batch(1, NOON + 3_200, NOON + 3_000)], THREE, lambda at: 0)
        assert [(w.end, w.batch) for w in out] == [(NOON + 3_000, 1)]


def test_a_batch_of_which_nobody_knows_what_was_before_is_not_guessed_at() -> None:
    told = [batch(7, NOON, NOON), batch(8, NOON + 3_200, NOON + 3_000)]
    assert [w.batch for w in windows_in(told, THREE, lambda at: 0)] == [8]
    assert [w.batch for w in windows_in(told[1:], THREE, lambda at: 0, EventMs(NOON))] == [8]


def test_nobody_waits_for_the_windows_of_another_year() -> None:
    old = NOON - 400 * 86_400_000
    assert windows_in([batch(0, NOON, old), batch(1, NOON + 1_000, old + 6_000)], THREE, lambda at: 0) == []


def test_the_patience_is_that_of_the_moment() -> None:
    told = [batch(0, NOON, NOON), batch(1, NOON + 4_000, NOON + 3_000), batch(2, NOON + 7_000, NOON + 6_000)]
    out = windows_in(told, THREE, lambda at: 900 if at > NOON + 5_000 else 100)
    assert [w.latency_ms for w in out] == [900, 100]


def test_quantiles_and_shares_of_nothing_are_unknown() -> None:
    assert quantiles([], (0.5, 0.99)) == [None, None] and cumulated([]) == []
    assert quantiles([1, 2, 3], (0.5,)) == [2.0]
    assert cumulated([30, 10, 20, 40]) == [(10.0, 0.25), (20.0, 0.5), (30.0, 0.75), (40.0, 1.0)]
