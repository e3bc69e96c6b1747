"""When a query's next batch is wanted."""

from dataclasses import replace

from headway.estimate.due import SILENT_MOST_MS
from headway.model.deadline import Deadlines, Grid
from headway.model.time import WallMs
from headway.model.view import InputView
from model.making import NOW, query, stream, viewed

OWED = Deadlines((Grid(3_000),))


def test_a_query_that_never_ran_is_due_at_no_known_time() -> None:
    fresh = viewed("a", (InputView("rows", 200),), OWED, waiting_since=NOW)
    assert fresh.due is None and not fresh.pending and not fresh.live


def test_an_announced_watermark_is_due_when_patience_is_over() -> None:
    view = query("a", due_in=700)
    assert view.pending and view.deadline == NOW + 500 and view.due == NOW + 700


def test_after_a_sweep_the_next_window_is_the_deadline() -> None:
    view = viewed("a", (stream(),), OWED, granted_at=NOW, announced=NOW, swept=NOW)
    assert not view.pending and view.deadline == NOW + 3_000 and view.due == NOW + 3_200


def test_before_anything_was_announced_the_coming_window_is_the_deadline() -> None:
    view = viewed("a", (stream(),), OWED, granted_at=NOW)
    assert view.deadline == NOW and view.due == NOW + 200


def test_old_rows_are_due_at_their_pace_and_not_by_the_clock() -> None:
    view = viewed("a", (stream(live=False),), OWED, granted_at=NOW, announced=NOW, swept=NOW, pace_ms=1_000)
    assert view.due == NOW + 1_000


def test_a_silent_query_is_due_with_a_window_now_and_then_once_nothing_is_pending() -> None:
    silent = stream(idle=True)
    pending = viewed("a", (silent,), OWED, granted_at=NOW, announced=NOW + 3_000, swept=NOW)
    assert pending.due == NOW + 3_200
    swept = viewed("a", (silent,), OWED, granted_at=NOW, announced=NOW - 9_000, swept=NOW - 9_000, pace_ms=1_000)
    assert swept.due == NOW + 6_200  # not at NOW + 3_200, which is sooner than a silent query needs to be asked
    hour = viewed("a", (silent,), Deadlines((Grid(3_600_000),)), granted_at=NOW, swept=NOW - 9_000, announced=NOW - 9_000)
    assert hour.due == NOW + SILENT_MOST_MS
    half = viewed("a", (silent, stream("more")), OWED, granted_at=NOW, announced=NOW - 9_000, swept=NOW - 9_000)
    assert half.due == NOW - 6_000 + 200


def test_no_window_waits_for_a_stream_that_has_passed_it_and_its_patience() -> None:
    def due(slowest: int | None) -> int | None:
        silent = replace(stream(live=False), held_until=WallMs(NOW + 9_000), held_most_ms=10_000, slowest=slowest)
        return viewed("a", (silent,), OWED, granted_at=NOW, announced=NOW, swept=NOW - 3_000, ripens=NOW + 200).due

    assert due(NOW + 200) == NOW + 200, "stock Spark would not wait either"
    assert due(NOW + 199) == due(None) == NOW + 9_000
