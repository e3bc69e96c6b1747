"""One query's story: messages in, views out."""

from typing import Any

import pytest

from headway.estimate.ripe import ripe
from headway.loop.inputs import late_rows
from headway.loop.liveness import LIVE_MEMORY
from headway.loop.partitions import Partitions
from headway.loop.tracker import QueryTracker
from headway.model.deadline import Deadlines, Grid
from headway.model.message import BatchSeen, InputSeen, InputSpec, PartEnd, PartSeen, QuerySpec, Reached
from headway.model.offset import ControlOffset
from headway.model.slack import Report
from headway.model.time import EventMs, WallMs
from headway.policy.patience import Deadline

T = 1_000_000_000_000 // 3_000 * 3_000  # some moment on the grid
FRESH = ControlOffset()


def tracker(patience_ms: int = 200, **more: Any) -> QueryTracker:
    return QueryTracker(QuerySpec("q", (InputSpec("rows", patience_ms, **more),), Deadlines((Grid(3_000),)), ahead=True))


def rows(count: int, newest: int, delay: float = 50.0, **more: Any) -> InputSeen:
    return InputSeen("rows", count, EventMs(newest), EventMs(newest - 1_000), ((delay, float(count)),), **more)


def batch(number: int, began: int, took: int, seen: InputSeen, watermark: int | None = None, **more: Any) -> BatchSeen:
    return BatchSeen(
        "q", number, WallMs(began), WallMs(began + took), took, seen.rows, None if watermark is None else EventMs(watermark),
        (seen,), **more,
    )  # fmt: skip


def played(
    track: QueryTracker, number: int, at: int, seen: InputSeen, announce: int | None = None, **more: Any
) -> str | None:
    """One round: granted at `at`, a batch of 100 ms, and back at the gate. Returns what was wrong."""
    sweeping = track.announced
    offset = track.granted(WallMs(at), None if announce is None else EventMs(announce))
    trouble = track.saw(batch(number, at, 100, seen, watermark=sweeping or None, **more))
    track.asked(WallMs(at + 100), offset)
    return trouble


def test_before_its_first_batch_nothing_is_known() -> None:
    track = tracker()
    track.asked(WallMs(T), FRESH)
    view = track.view()
    assert view.waiting_since == T and view.granted_at is None and view.due is None
    assert view.inputs[0].delay is None and view.inputs[0].frontier is None and not view.live


def test_a_batch_comes_in_and_a_view_goes_out() -> None:
    track = tracker()
    track.asked(WallMs(T), FRESH)
    assert played(track, 0, T, rows(1_000, T - 50), state_updated=100, state_bytes=64) is None
    assert played(track, 1, T + 2_000, rows(4_000, T + 1_950), announce=T, state_updated=400, state_bytes=128) is None
    view = track.view()
    (seen,) = view.inputs
    assert seen.live and not seen.idle and seen.frontier == T + 1_950
    assert 1_500 < seen.rows_per_s < 2_000  # 4000 rows in the 2 s since the first batch began, 1000 in 1.05 s before it
    assert seen.delay is None  # no window was swept yet, so no epoch is over
    assert (view.granted_at, view.waiting_since) == (T + 2_000, T + 2_100)
    assert (view.announced, view.swept, view.pending) == (T, 0, True)
    assert view.fixed_ms + view.per_row_ms * 2_500 == pytest.approx(100, rel=0.02)
    assert view.state_bytes == 128 and view.selectivity == pytest.approx(0.8 * (0.8 + 0.2 * 0.1) + 0.2 * 0.1)


def test_an_epoch_ends_with_a_sweep_and_not_with_a_batch() -> None:
    """Two batches for a window: one epoch, whose delays are those of all rows of both."""
    track = tracker()
    track.asked(WallMs(T), FRESH)
    played(track, 0, T, rows(300, T - 50, delay=40.0), announce=T)
    played(track, 1, T + 200, rows(100, T + 150, delay=80.0))
    (seen,) = track.view().inputs
    assert seen.delay is not None and (seen.delay.epochs, seen.delay.mean_ms) == (1, 50)
    for number, at in enumerate(range(T + 400, T + 2_400, 200), start=2):
        played(track, number, at, rows(100, at - 50, delay=20.0))
    assert track.view().inputs[0].delay == seen.delay  # no window was swept
    played(track, 12, T + 2_900, rows(1_000, T + 2_850, delay=20.0), announce=T + 3_000)
    played(track, 13, T + 3_200, rows(100, T + 3_150, delay=20.0))
    delay = track.view().inputs[0].delay
    assert delay is not None and (delay.epochs, delay.mean_ms) == (2, 35)


def test_a_view_is_made_once_until_something_happens() -> None:
    track = tracker()
    track.asked(WallMs(T), FRESH)
    assert track.view() is track.view()
    first = track.view()
    track.granted(WallMs(T), None)
    assert track.view() is not first and track.view().waiting_since is None


def test_the_offset_carries_the_announcement_and_counts_grants() -> None:
    track = tracker()
    track.asked(WallMs(T), FRESH)
    assert track.granted(WallMs(T), None) == FRESH
    track.saw(batch(0, T, 100, rows(10, T)))
    track.asked(WallMs(T + 100), FRESH)
    assert track.granted(WallMs(T + 100), EventMs(T)) == ControlOffset(1, T, live=True)
    track.asked(WallMs(T + 200), ControlOffset(1, T, live=True))
    assert track.granted(WallMs(T + 200), EventMs(T - 3_000)) == ControlOffset(1, T, live=True)  # never backwards


# ---- live rows and old ones


def test_a_stream_is_live_if_its_fastest_row_came_within_patience() -> None:
    track = tracker(patience_ms=200)
    played(track, 0, T, rows(10, T - 200, delay=200.0))
    assert track.view().live


def test_a_replay_of_old_rows_is_not_live_and_follows_its_own_frontier() -> None:
    track = tracker(patience_ms=200)
    played(track, 0, T, rows(10, T - 86_400_000, delay=86_400_000.0))
    view = track.view()
    assert not view.live and ripe(view, WallMs(T + 100)) == T - 86_400_000 - 200
    assert view.pace_ms == 0 and view.due == T  # as fast as rows come


def test_a_stream_that_falls_behind_is_measured_by_its_rows_until_it_has_caught_up() -> None:
    track = tracker()
    played(track, 0, T, rows(10, T))
    assert track.view().live
    for n in range(1, LIVE_MEMORY):
        played(track, n, T + n * 1_000, rows(10, T + n * 1_000 - 5_000, delay=5_000.0))
        assert not track.view().live and ripe(track.view(), WallMs(T + n * 1_000)) == max(T, T + n * 1_000 - 5_000) - 200
    played(track, LIVE_MEMORY, T + LIVE_MEMORY * 1_000, rows(10, T + LIVE_MEMORY * 1_000))
    assert track.view().live


def test_a_source_that_hands_out_portions_is_never_live() -> None:
    track = tracker(limited=True)
    played(track, 0, T, rows(10, T))
    assert not track.view().live


def test_a_stream_that_falls_silent_is_idle_until_a_row_comes() -> None:
    track = tracker(idle_after_ms=10_000)
    played(track, 0, T, rows(10, T), announce=T - 3_000)
    played(track, 1, T + 9_999, InputSeen("rows", 0))
    assert not track.view().inputs[0].idle
    played(track, 2, T + 10_000, InputSeen("rows", 0))
    assert track.view().inputs[0].idle and track.view().pace_ms == 1_000
    assert track.view().inputs[0].delay is not None  # what was learnt is not forgotten
    played(track, 3, T + 12_000, rows(10, T + 12_000))
    assert not track.view().inputs[0].idle


def test_an_offset_tells_that_the_clock_ruled_if_only_for_the_input_that_speaks() -> None:
    """Else a controller that begins anew would sweep at once what was announced ahead."""
    both = tuple(InputSpec(name, 200, idle_after_ms=5_000) for name in ("rows", "silent"))
    track = QueryTracker(QuerySpec("q", both, Deadlines((Grid(3_000),)), ahead=True))
    track.asked(WallMs(T), FRESH)
    for n in range(6):
        seen = (rows(10, T + 1_000 * n - 50), InputSeen("silent", 0, None, None, ()))
        track.granted(WallMs(T + 1_000 * n), None)
        began = WallMs(T + 1_000 * n)
        track.saw(BatchSeen("q", n, began, WallMs(began + 100), 100, 10, None, seen))
        track.asked(WallMs(began + 100), FRESH)
    assert track.view().leads and track.view().inputs[1].idle
    offset = track.granted(WallMs(T + 5_200), EventMs(T + 6_000))
    assert offset.wm == T + 6_000 and offset.live
    anew = QueryTracker(track.spec)
    anew.asked(WallMs(T + 5_300), offset)
    assert anew.view().due == T + 6_200


def test_a_stream_that_never_had_a_row_is_idle_after_a_while_too() -> None:
    track = tracker(idle_after_ms=10_000)
    for ms in range(0, 11_000, 1_000):
        assert not track.view().inputs[0].idle
        track.asked(WallMs(T + ms), FRESH)
        track.granted(WallMs(T + ms), None)  # Spark finds nothing, runs no batch, and asks again
    track.asked(WallMs(T + 11_000), FRESH)
    assert track.view().inputs[0].idle


def test_the_frontier_never_goes_back() -> None:
    track = tracker()
    played(track, 0, T, rows(10, T + 500))
    played(track, 1, T + 1_000, rows(10, T))
    assert track.view().inputs[0].frontier == T + 500


# ---- watermarks


def test_a_watermark_is_swept_by_the_batch_after_the_one_it_was_announced_with() -> None:
    track = tracker()
    track.asked(WallMs(T), FRESH)
    played(track, 0, T, rows(10, T), announce=T)
    assert track.view().pending and track.view().swept == 0
    played(track, 1, T + 3_000, rows(10, T), announce=T + 3_000)
    assert track.view().pending and track.view().swept == T
    played(track, 2, T + 6_000, rows(10, T))
    assert not track.view().pending and track.view().swept == T + 3_000


def test_a_watermark_that_did_not_take_is_noted() -> None:
    track = tracker()
    track.asked(WallMs(T), FRESH)
    played(track, 0, T, rows(10, T), announce=T)
    track.granted(WallMs(T + 3_000), None)
    trouble = track.saw(batch(1, T + 3_000, 100, rows(10, T), watermark=T - 3_000))
    assert trouble == f"announced watermark {T} did not take: batch 1 ran with {T - 3_000}"
    assert track.view().swept == T  # it will not be waited for again


def test_a_grant_that_finds_nothing_to_do_runs_no_batch_and_costs_nothing() -> None:
    track = tracker()
    track.asked(WallMs(T), FRESH)
    played(track, 0, T, rows(1_000, T), announce=T)
    cost = track.cost
    offset = track.granted(WallMs(T + 3_000), None)
    track.asked(WallMs(T + 3_002), offset)
    view = track.view()
    assert track.cost == cost and not track.ran and view.pace_ms == 1_000
    assert view.swept == T and not view.pending  # there was no state to sweep either


# ---- restarts


def test_after_a_restart_a_pending_watermark_is_not_swept_early() -> None:
    track = tracker(patience_ms=200)
    track.asked(WallMs(T - 1_500), ControlOffset(7, T, live=True))
    view = track.view()
    assert view.pending and not view.live and view.granted_at is None  # whether the clock rules, only rows can tell
    assert (view.announced, view.swept, view.due) == (T, T - 3_000, T + 200)


def test_after_a_restart_in_old_rows_the_wall_clock_has_no_say() -> None:
    track = tracker()
    track.asked(WallMs(T), ControlOffset(7, T - 86_400_000))
    view = track.view()
    assert view.pending and not view.live and view.due is None  # a first batch tells more


def test_a_watermark_off_the_grid_left_by_an_ungated_stretch_is_pending_too() -> None:
    track = tracker()
    track.asked(WallMs(T), ControlOffset(9, T - 1_234, live=True))
    view = track.view()
    assert (view.announced, view.swept, view.due) == (T - 1_234, T - 3_000, T - 1_034)


# ---- late rows


def test_no_row_is_late_unless_the_oldest_is() -> None:
    assert late_rows(InputSeen("rows", 5, oldest=EventMs(T), old=((T - 9_000, 5.0),)), EventMs(T), T, T) == 0
    assert late_rows(InputSeen("rows", 0), EventMs(T), T, T) == 0


def test_late_rows_are_those_below_the_watermark_that_refused_them() -> None:
    old = ((T - 300, 4.0), (T - 100, 3.0), (T, 90.0))
    assert late_rows(InputSeen("rows", 97, oldest=EventMs(T - 300), old=old), EventMs(T), T, T) == 7


def test_at_least_the_oldest_row_is_late() -> None:
    assert late_rows(InputSeen("rows", 97, oldest=EventMs(T - 1)), EventMs(T), T, T) == 1


def test_of_rows_younger_than_patience_their_delays_tell_whether_they_are_late() -> None:
    """Read at T + 400; rows older than T are told by the tenth of a second, and the watermark is at T + 300."""
    seen = InputSeen(
        "rows", 10, oldest=EventMs(T - 100), foremost=EventMs(T + 390), old=((T - 100, 2.0),),
        delays=((500.0, 2.0), (150.0, 5.0), (10.0, 3.0)),
    )  # fmt: skip
    assert late_rows(seen, EventMs(T + 300), T, T + 400) == 7
    assert late_rows(seen, EventMs(T + 1_000), T, T + 400) == 10, "all of them"


def test_late_rows_are_counted_against_the_watermark_of_the_batch_before() -> None:
    track = tracker()
    track.asked(WallMs(T - 2_000), FRESH)
    straggler: dict[str, Any] = {"old": ((T - 500, 3.0),)}
    played(track, 0, T - 2_000, rows(10, T), announce=T)
    played(track, 1, T + 200, rows(10, T + 100, **straggler), announce=T + 3_000)  # emits T, refuses nothing yet
    assert track.view().inputs[0].late_rows == 0
    played(track, 2, T + 3_200, rows(10, T + 500, **straggler))
    assert track.view().inputs[0].late_rows == 3


# ---- rows from a log in partitions

LOG = "KafkaV2[Subscribe[ads]]@here"


def told(log: Partitions, at: int, ends: dict[int, tuple[int, int]] | None) -> Partitions:
    """The broker says of each partition: its end, and its newest timestamp. Or it does not answer."""
    parts = None if ends is None else {("ads", p): PartEnd(end, WallMs(newest)) for p, (end, newest) in ends.items()}
    log.reached(Reached(LOG, WallMs(at), None if parts is None else {**parts}))
    return log


def read(ends: dict[int, int]) -> Any:
    """A batch has read so far."""
    return ((LOG.partition("@")[0], {("ads", p): end for p, end in ends.items()}),)


def test_a_window_waits_for_a_partition_that_is_behind_and_says_so() -> None:
    track, log = tracker(source=LOG, idle_after_ms=5_000), Partitions()
    track.asked(WallMs(T), FRESH)
    played(track, 0, T + 100, rows(10, T), announce=T + 3_000)
    assert track.view().due == T + 3_200
    for at in range(T, T + 2_000, 200):
        changed, news = track.reached(LOG, told(log, at, {0: (at - T, at), 1: (at - T, at)}))
        assert news is None
    for at in range(T + 2_000, T + 3_200, 200):
        changed, news = track.reached(LOG, told(log, at, {0: (at - T, at), 1: (1_800, T + 1_800)}))
        if news:
            assert changed and news == "windows wait for ads-1"
    view = track.view()
    assert view.due is not None and view.due > T + 3_200 and view.pending
    for at in range(T + 3_400, T + 4_200, 200):
        changed, news = track.reached(LOG, told(log, at, {0: (at - T, at), 1: (at - T, at)}))
        assert news in (None, "windows wait for no partition any more")
    assert track.view().due == T + 3_200


def test_a_backlog_is_reckoned_with_if_it_is_not_what_was_expected() -> None:
    track, log = tracker(source=LOG), Partitions()
    track.asked(WallMs(T), FRESH)
    played(track, 0, T + 100, rows(10, T), read=read({0: 1_000}))
    track.reached(LOG, told(log, T + 300, {0: (1_500, T + 300)}))
    assert track.view().queued(WallMs(T + 300)) < 500, "a few hundred rows are no news"
    changed, _ = track.reached(LOG, told(log, T + 500, {0: (50_000, T + 500)}))
    assert changed and track.view().queued(WallMs(T + 500)) >= 49_000
    played(track, 1, T + 600, rows(49_000, T), read=read({0: 50_000}))
    assert track.view().backlog == 0, "they are read"


def test_a_broker_that_does_not_answer_is_let_go_after_idle_after_and_the_journal_is_told() -> None:
    track, log = tracker(source=LOG, idle_after_ms=5_000), Partitions()
    track.asked(WallMs(T), FRESH)
    played(track, 0, T + 100, rows(10, T), announce=T + 3_000)
    for at in range(T, T + 2_000, 200):
        track.reached(LOG, told(log, at, {0: (at - T, at)}))
    news = [track.reached(LOG, told(log, at, None)) for at in range(T + 2_000, T + 20_000, 200)]
    assert [text for _, text in news if text] == [
        "windows wait for the broker, which does not answer",
        "windows wait no longer for the broker, which does not answer",
    ]
    assert [changed for changed, _ in news].count(True) == 2, "in between there is nothing to think about"
    assert track.view().due == T + 3_200


def test_no_window_waits_longer_than_idle_after_whoever_falls_silent_meanwhile() -> None:
    """One partition after the other: each is waited for in its turn, but not by the same window."""
    track, log = tracker(source=LOG, idle_after_ms=5_000), Partitions()
    track.asked(WallMs(T), FRESH)
    played(track, 0, T + 100, rows(10, T), announce=T + 3_000)
    ends = dict.fromkeys(range(4), (0, T))
    for at in range(T, T + 20_000, 200):
        silent = (at - T) // 4_000  # the next one falls silent before the last one is idle
        ends = {p: end if p < silent else (at - T, at) for p, end in ends.items()}
        track.reached(LOG, told(log, at, ends))
        due = track.view().due
        assert due is not None and due <= T + 3_200 + 5_000
    track.swept, track._view = EventMs(T + 15_000), None
    assert track.view().inputs[0].held_until is not None
    assert ripe(track.view(), WallMs(T + 20_000)) == T + 20_000 - 200 - 5_000, "another window waits for who is behind now"


def test_a_topic_that_is_gone_is_told_to_its_readers() -> None:
    track, other, log = tracker(source=LOG), tracker(source="elsewhere"), Partitions()
    assert track.reached(LOG, told(log, T, {0: (10, T)})) == (False, None)
    told(log, T + 200, {})
    assert track.reached(LOG, log) == (False, "topic ads is gone")
    assert other.reached(LOG, log) == (False, None)
    assert track.reached(LOG, told(log, T + 400, {})) == (False, None)


def test_a_partition_that_the_query_does_not_know_yet_is_read_from_its_beginning() -> None:
    track, log = tracker(source=LOG), Partitions()
    track.asked(WallMs(T), FRESH)
    played(track, 0, T + 100, rows(10, T), read=read({0: 50_000}))
    track.reached(LOG, told(log, T + 200, {0: (50_000, T)}))
    track.reached(LOG, told(log, T + 400, {0: (50_000, T), 1: (7_000, T)}))
    assert track.view().backlog == 7_000
    played(track, 1, T + 600, rows(10, T), read=read({0: 50_000, 1: 7_000, 2: 60_000}))
    changed, _ = track.reached(LOG, told(log, T + 800, {0: (55_000, T), 1: (7_000, T)}))
    assert changed and track.view().backlog == 5_000, "what was read of one that the broker was not asked for hides nothing"
    track.reached(LOG, told(log, T + 1_000, {0: (60_000, T), 1: (7_000, T), 2: (65_000, T)}))
    assert track.view().backlog == 15_000


def test_a_topic_that_is_made_again_hides_no_backlog_and_leaves_none() -> None:
    track, log = tracker(source=LOG), Partitions()
    track.asked(WallMs(T), FRESH)
    track.reached(LOG, told(log, T, {0: (90_000, T), 1: (20_000, T)}))
    played(track, 0, T + 100, rows(10, T), read=read({0: 80_000, 1: 20_000}))
    track.reached(LOG, told(log, T + 200, {0: (90_000, T), 1: (20_000, T)}))
    assert track.view().backlog == 10_000
    changed, _ = track.reached(LOG, told(log, T + 400, {0: (100, T), 1: (20_000, T)}))
    assert changed and track.view().backlog == 0, "the 10,000 rows are gone, and nobody reads what is below 80,000"
    track.reached(LOG, told(log, T + 600, {0: (200, T), 1: (30_000, T)}))
    assert track.view().backlog == 10_000, "80,000 rows read of the one do not hide those of the other"


def test_a_partition_whose_rows_are_old_decides_how_far_the_stream_has_come() -> None:
    track = tracker(idle_after_ms=5_000)
    track.asked(WallMs(T), FRESH)
    parts = (PartSeen(0, EventMs(T), 50.0), PartSeen(1, EventMs(T - 30_000), 30_000.0))
    played(track, 0, T + 100, rows(10, T, parts=parts))
    (view,) = track.view().inputs
    assert not view.live and view.frontier == T - 30_000
    assert ripe(track.view(), WallMs(T + 100)) == T - 30_200
    played(track, 1, T + 6_000, rows(10, T + 6_000, parts=(PartSeen(0, EventMs(T + 6_000), 50.0),)))
    (view,) = track.view().inputs
    assert view.live and view.frontier == T + 6_000, "silent for so long, it is left out"


def test_rows_without_an_event_time_are_counted() -> None:
    track = tracker()
    track.asked(WallMs(T), FRESH)
    played(track, 0, T + 100, rows(10, T, timeless=3))
    played(track, 1, T + 400, rows(10, T, timeless=1))
    assert track.view().inputs[0].timeless == 4


def learning(reports: list[Report]) -> QueryTracker:
    """A query with a deadline, that notes what its tuner is told instead of learning from it."""
    policy = Deadline("6 s")
    track = tracker(policy.delay_ms, policy=policy, slt_ms=policy.slt_ms)
    assert track.threshold is not None
    track.threshold.reports = reports
    track.asked(WallMs(T), FRESH)
    return track


def test_a_tuner_learns_nothing_from_spark_s_own_watermark_of_ten_years_ago() -> None:
    reports: list[Report] = []
    track = learning(reports)
    offset = track.granted(WallMs(T), EventMs(T))
    track.saw(batch(0, T, 100, rows(1_000, T - 50), watermark=T - 315_360_000_000))
    track.asked(WallMs(T + 100), offset)
    assert reports == []
    played(track, 1, T + 3_000, rows(1_000, T + 2_950), announce=T + 3_000)
    assert [report.latency_ms for report in reports] == [3_100]


def test_a_wait_is_put_down_to_the_threshold_under_which_its_watermark_was_announced() -> None:
    reports: list[Report] = []
    track = learning(reports)
    played(track, 0, T, rows(1_000, T - 50), announce=T)
    assert track.threshold is not None
    track.threshold.slts = {"query": 750.0}  # from the next batch on
    played(track, 1, T + 3_000, rows(1_000, T + 2_950), announce=T + 3_000)
    played(track, 2, T + 6_000, rows(1_000, T + 5_950), announce=T + 6_000)
    played(track, 3, T + 9_000, rows(1_000, T + 8_950))
    assert [report.slt_ms for report in reports] == [3_000, 3_000, 750]


def test_of_windows_that_come_out_together_the_first_has_waited_longest() -> None:
    reports: list[Report] = []
    track = learning(reports)
    played(track, 0, T, rows(1_000, T - 50), announce=T)
    played(track, 1, T + 3_000, rows(1_000, T + 2_950), announce=T + 9_000)
    played(track, 2, T + 12_000, rows(1_000, T + 11_950), announce=T + 12_000)
    assert [report.latency_ms for report in reports] == [3_100, 12_100 - 3_000]


def test_rows_ahead_of_our_clock_are_by_rows_whatever_the_wall_clock_says() -> None:
    """Ours began ninety seconds behind, and then somebody set the wall clock back by hours."""
    track = tracker(arrives=True)
    track.asked(WallMs(T), FRESH)
    for n in range(3):
        at, event = T + 1_000 * n, T + 1_000 * n + 90_000
        track.granted(WallMs(at), None)
        seen = InputSeen("rows", 10, None, EventMs(event), ((50.0, 10.0),), foremost=EventMs(event))
        track.saw(batch(n, at, 100, seen), skew_ms=-36_000_000)
        track.asked(WallMs(at + 100), FRESH)
        assert not track.view().live and track.view().inputs[0].frontier == event
