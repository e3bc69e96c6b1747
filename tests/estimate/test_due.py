"""When a query's next batch is wanted."""

from dataclasses import replace
from typing import Any

from headway.estimate.due import SILENT_MOST_MS
from headway.model.deadline import Deadlines, Grid
from headway.model.time import EventMs, WallMs
from headway.model.view import InputView, QueryView
from model.making import NOW, query, stream, viewed

OWED = Deadlines((Grid(3_000),))


def granted(*inputs: InputView, announced: int, swept: int, deadlines: Deadlines = OWED, **more: Any) -> QueryView:
    """A query let through just now, with what it was told before."""
    return viewed("a", inputs, deadlines, granted_at=NOW, announced=EventMs(announced), swept=EventMs(swept), **more)


def test_a_query_that_never_ran_is_due_at_no_known_time() -> None:
    fresh = viewed("a", (InputView("rows", 200),), OWED, waiting_since=NOW)
    assert fresh.due is None and not fresh.pending and not fresh.live


def test_an_announced_watermark_is_due_when_patience_is_over() -> None:
    view = query("a", due_in=700)
    assert view.pending and view.deadline == NOW + 500 and view.due == NOW + 700


def test_after_a_sweep_the_next_window_is_the_deadline() -> None:
    view = granted(stream(), announced=NOW, swept=NOW)
    assert not view.pending and view.deadline == NOW + 3_000 and view.due == NOW + 3_200


def test_before_anything_was_announced_the_coming_window_is_the_deadline() -> None:
    view = viewed("a", (stream(),), OWED, granted_at=NOW)
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


def test_no_window_waits_for_a_stream_that_has_passed_it_and_its_patience() -> None:
    def due(slowest: int | None) -> int | None:
        passed = None if slowest is None else EventMs(slowest)
        silent = replace(stream(live=False), held_until=WallMs(NOW + 9_000), held_most_ms=10_000, slowest=passed)
        return granted(silent, announced=NOW, swept=NOW - 3_000, ripens=WallMs(NOW + 200)).due

    assert due(NOW + 200) == NOW + 200, "stock Spark would not wait either"
    assert due(NOW + 199) == due(None) == NOW + 9_000
