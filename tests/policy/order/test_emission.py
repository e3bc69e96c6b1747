"""Which watermark rides with a grant."""

from headway.estimate.due import READ_MOST_MS
from headway.model.deadline import Deadlines, Grid
from headway.model.time import EventMs, WallMs
from headway.model.view import QueryView
from headway.policy.order.emission import announce
from model.making import NOW, again, query, stream


def test_ahead_the_batch_that_sweeps_one_window_announces_the_next() -> None:
    view = query("a", due_in=0)  # its window ended at NOW - 200
    assert announce(view, NOW, ahead=True) == NOW - 200 + 3_000


def test_not_ahead_only_what_is_ripe_is_announced() -> None:
    view = query("a", deadlines=Deadlines((Grid(3_000),)), announced=NOW - 6_000, swept=NOW - 6_000)
    assert announce(view, NOW, ahead=False) == NOW - 3_000  # NOW itself is not ripe for 200 ms
    assert announce(view, WallMs(NOW + 199), ahead=False) == NOW - 3_000
    assert announce(view, WallMs(NOW + 200), ahead=False) == EventMs(NOW)
    assert announce(again(view, announced=EventMs(NOW - 3_000)), NOW, ahead=False) is None


def test_a_query_whose_sources_are_asked_first_gets_only_what_is_ripe() -> None:
    view = query("a", due_in=0, ahead=False)
    assert announce(view, NOW, ahead=True) is None
    assert announce(view, WallMs(NOW + 3_000), ahead=True) == NOW - 200 + 3_000


def test_old_rows_are_announced_by_their_own_frontier_and_never_ahead() -> None:
    old = query("a", stream(live=False, frontier=NOW - 100_000), swept=NOW - 120_000, announced=NOW - 120_000)
    assert announce(old, NOW, ahead=True) == (NOW - 100_200) // 3_000 * 3_000


def test_nothing_known_means_nothing_announced() -> None:
    assert announce(query("a", stream(live=False, frontier=None)), NOW, ahead=True) is None


def test_an_early_batch_announces_the_window_that_it_works_for() -> None:
    view = query("a", deadlines=Deadlines((Grid(3_000, 800),)), announced=NOW - 2_200, swept=NOW - 2_200)
    assert announce(view, NOW, ahead=True) == NOW + 800


# ---- a window is ripe that this batch will not emit: an extra batch, or both by the next one?


def overdue(cost_ms: float) -> QueryView:
    """The window that ended at NOW - 300 was not announced in time; the next one ends at NOW + 2700, due NOW + 2900."""
    owed = Deadlines((Grid(3_000, 2_700),))
    return query("a", deadlines=owed, swept=NOW - 3_300, announced=NOW - 3_300, fixed_ms=cost_ms, per_row_ms=0.0)


def test_with_nobody_in_the_queue_an_overdue_window_gets_a_batch_of_its_own() -> None:
    assert announce(overdue(300), NOW, ahead=True, crowd=0) == NOW - 300


def test_in_a_crowd_the_next_windows_batch_emits_both() -> None:
    # An extra batch spares this window 2900 - 300 = 2600 ms and costs each in the queue 300: worth it for up to 8.6.
    assert announce(overdue(300), NOW, ahead=True, crowd=8.6) == NOW - 300
    assert announce(overdue(300), NOW, ahead=True, crowd=8.7) == NOW + 2_700


def test_a_batch_that_would_not_be_done_in_time_is_not_worth_it() -> None:
    assert announce(overdue(2_950), NOW, ahead=True, crowd=0) == NOW + 2_700


def test_nothing_is_announced_twice_and_nothing_far_ahead() -> None:
    view = query("a", due_in=0)
    for step in range(0, 9_000, 500):
        said = announce(view, WallMs(NOW + step), ahead=True)
        if said is None:
            assert view.deadlines.after(view.announced) + view.patience_ms > NOW + step + READ_MOST_MS
            continue
        assert view.announced < said <= NOW + step + READ_MOST_MS - view.patience_ms
        view = again(view, swept=view.announced, announced=said, granted_at=WallMs(NOW + step))
