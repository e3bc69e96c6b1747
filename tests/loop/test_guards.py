from headway.loop.guards import STANDARD, never_beyond_ripe, never_sweep_early, within_slots
from headway.model.decision import Grant, Hold
from headway.model.time import EventMs, WallMs
from model.making import NOW, query, snapshot, stream


def test_a_watermark_announced_ahead_is_not_swept_before_it_is_ripe() -> None:
    seen = snapshot(query("a", due_in=300))
    decided = never_sweep_early(Grant("a", None, "just because"), seen)
    assert decided == Hold(WallMs(NOW + 300), f"a would sweep {NOW + 100} before it is ripe, 300 ms too soon")


def test_a_ripe_one_is_swept() -> None:
    seen, wish = snapshot(query("a", due_in=0)), Grant("a", None, "just because")
    assert never_sweep_early(wish, seen) is wish


def test_old_rows_do_not_wait_for_the_clock() -> None:
    seen = snapshot(query("a", stream(live=False), due_in=300, granted_at=NOW, pace_ms=1_000))
    wish = Grant("a", None, "just because")
    assert never_sweep_early(wish, seen) is wish


def test_what_is_not_ripe_is_withheld_where_sources_are_asked_before_the_gate() -> None:
    seen = snapshot(query("a", due_in=-100, ahead=False))
    decided = never_beyond_ripe(Grant("a", EventMs(NOW), "all aboard"), seen)
    assert decided == Grant("a", None, f"all aboard; watermark {NOW} withheld: not ripe")
    ripe = Grant("a", EventMs(NOW - 200), "all aboard")
    assert never_beyond_ripe(ripe, seen) is ripe


def test_where_they_are_asked_after_it_anything_may_be_announced() -> None:
    wish = Grant("a", EventMs(NOW + 3_000), "ahead")
    assert never_beyond_ripe(wish, snapshot(query("a", due_in=0))) is wish


def test_no_more_batches_run_than_there_are_slots() -> None:
    running = [query(name, waiting_since=None) for name in "bc"]
    wish = Grant("a", None, "me too")
    assert within_slots(wish, snapshot(query("a"), *running, slots=3)) is wish
    decided = within_slots(wish, snapshot(query("a"), *running, slots=2))
    assert decided == Hold(WallMs(NOW + 1_000), "2 batches run in 2 slots")


def test_a_hold_passes_every_guard_untouched() -> None:
    hold, seen = Hold(NOW, "so"), snapshot(query("a", waiting_since=None))
    assert all(guard(hold, seen) is hold for guard in STANDARD)
