"""What a view adds up by itself: queue and cost, who waits and who is busy."""

from headway.model.view import MemoryView
from model.making import NOW, query, snapshot, stream


def test_rows_queue_from_the_last_grant_on_and_cost_by_the_row() -> None:
    view = query("a", stream(rows_per_s=2_000.0), stream("b", rows_per_s=500.0), fixed_ms=100.0, per_row_ms=0.1)
    assert view.queued(NOW) == 2_500 and view.cost_ms(NOW) == 350
    assert query("a", granted_at=None).queued(NOW) == 0
    assert query("a", granted_at=NOW + 5).queued(NOW) == 0


def test_a_snapshot_knows_who_waits_and_who_is_busy() -> None:
    seen = snapshot(query("a"), query("b", waiting_since=None), query("c"))
    assert [q.name for q in seen.waiting] == ["a", "c"] and seen.busy == 1
    assert not seen.memory.pressed and MemoryView(0.9, NOW).pressed
