"""What a view works out by itself: deadline, due time, ripe watermark, queue and cost."""

from dataclasses import replace
from typing import Any

from headway.model.deadline import Deadlines, Grid
from headway.model.time import EventMs, WallMs
from headway.model.view import SILENT_MOST_MS, InputView, MemoryView, QueryView
from model.making import NOW, query, snapshot, stream

OWED = Deadlines((Grid(3_000),))


def granted(*inputs: InputView, announced: int, swept: int, deadlines: Deadlines = OWED, **more: Any) -> QueryView:
    """A query let through just now, with what it was told before."""
    return QueryView("a", inputs, deadlines, granted_at=NOW, announced=EventMs(announced), swept=EventMs(swept), **more)


def test_a_query_that_never_ran_is_due_at_no_known_time() -> None:
    fresh = QueryView("a", (InputView("rows", 200),), OWED, waiting_since=NOW)
    assert fresh.due is None and not fresh.pending and not fresh.live


def test_an_announced_watermark_is_due_when_patience_is_over() -> None:
    view = query("a", due_in=700)
    assert view.pending and view.deadline == NOW + 500 and view.due == NOW + 700


def test_after_a_sweep_the_next_window_is_the_deadline() -> None:
    view = granted(stream(), announced=NOW, swept=NOW)
    assert not view.pending and view.deadline == NOW + 3_000 and view.due == NOW + 3_200


def test_before_anything_was_announced_the_coming_window_is_the_deadline() -> None:
    view = QueryView("a", (stream(),), OWED, granted_at=NOW)
    assert view.deadline == EventMs(NOW) and view.due == NOW + 200


def test_old_rows_are_due_at_their_pace_and_not_by_the_clock() -> None:
    view = granted(stream(live=False), announced=NOW, swept=NOW, pace_ms=1_000)
    assert view.due == NOW + 1_000


def test_a_silent_query_is_due_with_a_window_now_and_then_once_nothing_is_pending() -> None:
    silent = stream(idle=True)
    pending = granted(silent, announced=NOW + 3_000, swept=NOW)
    assert pending.due == NOW + 3_200
    swept = granted(silent, announced=NOW - 9_000, swept=NOW - 9_000, pace_ms=1_000)
    assert swept.due == NOW + 6_200  # not at NOW + 3_200, which is sooner than a silent query needs to be asked
    hour = granted(silent, announced=NOW - 9_000, swept=NOW - 9_000, deadlines=Deadlines((Grid(3_600_000),)))
    assert hour.due == NOW + SILENT_MOST_MS
    half = granted(silent, stream("more"), announced=NOW - 9_000, swept=NOW - 9_000)
    assert half.due == NOW - 6_000 + 200


def test_the_slowest_input_says_what_is_ripe_and_an_idle_one_says_nothing() -> None:
    quick, slow, old = stream("quick", 200), stream("slow", 900), stream("old", 100, live=False, frontier=NOW - 5_000)
    assert query("a", quick).ripe(NOW) == NOW - 200
    assert query("a", quick, slow).ripe(NOW) == NOW - 900
    assert query("a", quick, old).ripe(NOW) == NOW - 5_100
    assert query("a", quick, stream("slow", 900, idle=True)).ripe(NOW) == NOW - 200
    # When all are silent the wall clock goes on: the windows that are open must still come out.
    assert query("a", stream(idle=True)).ripe(NOW) == NOW - 200
    assert query("a", quick, InputView("new", 0)).ripe(NOW) is None


def test_rows_queue_from_the_last_grant_on_and_cost_by_the_row() -> None:
    view = query("a", stream(rows_per_s=2_000.0), stream("b", rows_per_s=500.0), fixed_ms=100.0, per_row_ms=0.1)
    assert view.queued(NOW) == 2_500 and view.cost_ms(NOW) == 350
    assert query("a", granted_at=None).queued(NOW) == 0
    assert query("a", granted_at=NOW + 5).queued(NOW) == 0


def test_a_snapshot_knows_who_waits_and_who_is_busy() -> None:
    seen = snapshot(query("a"), query("b", waiting_since=None), query("c"))
    assert [q.name for q in seen.waiting] == ["a", "c"] and seen.busy == 1
    assert not seen.memory.pressed and MemoryView(0.9, NOW).pressed


def test_no_window_waits_for_a_stream_that_has_passed_it_and_its_patience() -> None:
    def due(slowest: int | None) -> int | None:
        passed = None if slowest is None else EventMs(slowest)
        silent = replace(stream(live=False), held_until=WallMs(NOW + 9_000), held_most_ms=10_000, slowest=passed)
        return granted(silent, announced=NOW, swept=NOW - 3_000, ripens=WallMs(NOW + 200)).due

    assert due(NOW + 200) == NOW + 200, "stock Spark would not wait either"
    assert due(NOW + 199) == due(None) == NOW + 9_000
