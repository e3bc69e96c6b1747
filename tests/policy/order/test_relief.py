"""While memory is short: p = queued x (1 - selectivity), at most what fits into a step; ties by slack."""

from dataclasses import replace
from typing import Any

import pytest

from headway.model.deadline import Deadlines, Grid
from headway.model.decision import Decision, Grant, Hold
from headway.model.time import WallMs
from headway.model.view import DelayView, MemoryView, QueryView
from headway.policy.order import Klink
from headway.policy.order.relief import freed_rows
from model.making import NOW, again, query, snapshot, stream

SHORT = MemoryView(0.92, NOW)


def light(name: str, rows_per_s: float, selectivity: float, **more: Any) -> QueryView:
    """Granted a second ago, so a second's rows are queued; nothing is announced ahead."""
    known = {"granted_at": NOW - 1_000, "swept": NOW - 1_000, "announced": NOW - 1_000, "per_row_ms": 0.001}
    return query(name, stream(rows_per_s=rows_per_s), selectivity=selectivity, **(known | more))


def decide(*queries: QueryView) -> Decision:
    return Klink(memory=True).decide(snapshot(*queries, memory=SHORT))


def test_freed_rows_are_queued_rows_that_leave_no_state_behind() -> None:
    assert freed_rows(light("a", 5_000, 0.2), NOW, 120) == pytest.approx(4_000)
    assert freed_rows(light("a", 5_000, 1.0), NOW, 120) == 0
    assert freed_rows(light("a", 5_000, 1.7), NOW, 120) == 0


def test_no_more_rows_count_than_fit_into_a_step() -> None:
    assert freed_rows(light("a", 5_000, 0.2, per_row_ms=0.1), NOW, 120) == pytest.approx(1_200 * 0.8)
    assert freed_rows(light("a", 5_000, 0.2, per_row_ms=0.0), NOW, 120) == pytest.approx(4_000)


def test_the_query_that_frees_most_runs_though_another_is_more_urgent() -> None:
    urgent, big = light("urgent", 100, 0.1, swept=NOW - 9_000, announced=NOW - 9_000), light("big", 5_000, 0.5)
    decision = decide(urgent, big)
    assert isinstance(decision, Grant) and decision.query == "big"
    assert decision.because == "memory 92% in use: frees most, 2500 rows of 5000 queued"


def test_a_longer_queue_frees_less_if_most_of_it_stays_as_state() -> None:
    decision = decide(light("stays", 9_000, 0.9), light("goes", 2_000, 0.0))
    assert isinstance(decision, Grant) and decision.query == "goes"


def test_ties_go_to_the_least_slack_then_to_the_name() -> None:
    late = light("late", 1_000, 0.0, swept=NOW - 9_000, announced=NOW - 9_000)
    decision = decide(light("a", 1_000, 0.0), late, light("b", 1_000, 0.0))
    assert isinstance(decision, Grant) and decision.query == "late"
    decision = decide(light("b", 1_000, 0.0), light("a", 1_000, 0.0))
    assert isinstance(decision, Grant) and decision.query == "a"


def test_a_long_tail_of_delays_makes_no_window_less_urgent() -> None:
    """Both free as much. The window of `tail` is due a second before the other's, whatever its stragglers do."""
    tail = DelayView(50, 900.0, 20.0, 2_000.0, 10.0, 6_000.0)
    other = light("other", 1_000, 0.0, swept=NOW - 1_000, announced=NOW - 1_000, deadlines=Deadlines((Grid(3_000, 2_000),)))
    sooner = light("tail", 1_000, 0.0, swept=NOW - 2_000, announced=NOW - 2_000, deadlines=Deadlines((Grid(3_000, 1_000),)))
    sooner = again(sooner, inputs=tuple(replace(i, delay=tail) for i in sooner.inputs))
    assert other.due == NOW + 2_200 and sooner.due == NOW + 1_200
    decision = decide(other, sooner)
    assert isinstance(decision, Grant) and decision.query == "tail"


def test_a_watermark_announced_ahead_is_not_swept_early_however_short_memory_is() -> None:
    ahead = query("ahead", stream(rows_per_s=50_000.0), due_in=800, selectivity=0.0)
    decision = decide(ahead, light("other", 10, 0.0))
    assert isinstance(decision, Grant) and decision.query == "other"
    assert decide(ahead) == Hold(
        WallMs(NOW + 800), "memory 92% in use, but every waiting query has a watermark announced ahead"
    )


def test_nothing_is_announced_ahead_meanwhile() -> None:
    decision = decide(light("a", 1_000, 0.0, swept=NOW, announced=NOW))
    assert isinstance(decision, Grant) and decision.announce is None


def test_when_no_batch_would_free_anything_what_is_due_still_runs() -> None:
    # The dear one has the least slack but is not due yet: that must not keep the other's window waiting.
    dear = light("dear", 0, 1.0, fixed_ms=9_000.0, swept=NOW, announced=NOW)
    due = light("due", 0, 1.0, swept=NOW - 3_200, announced=NOW - 3_200)
    decision = decide(dear, due)
    assert isinstance(decision, Grant) and decision.query == "due"
    held = decide(dear)
    assert isinstance(held, Hold) and held.because == "memory 92% in use, but no batch would free any"


def test_without_the_memory_policy_slack_decides_as_ever() -> None:
    urgent, big = light("urgent", 100, 0.1, swept=NOW - 9_000, announced=NOW - 9_000), light("big", 5_000, 0.5)
    decision = Klink().decide(snapshot(urgent, big, memory=SHORT))
    assert isinstance(decision, Grant) and decision.query == "urgent"
