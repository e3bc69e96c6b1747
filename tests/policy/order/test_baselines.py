"""What each baseline of the paper looks at, and the reason it gives."""

from headway.model.decision import Grant, Hold, OrderPolicy
from headway.model.time import WallMs
from headway.model.view import QueryView
from headway.policy.order import FirstCome, HighestRate, RoundRobin, StreamBox
from model.making import NOW, query, snapshot, stream


def granted(policy: OrderPolicy, *queries: QueryView) -> Grant:
    decision = policy.decide(snapshot(*queries))
    assert isinstance(decision, Grant)
    return decision


def test_first_come_serves_the_oldest_queued_row() -> None:
    decision = granted(FirstCome(), query("a", granted_at=NOW - 500), query("b", granted_at=NOW - 900))
    assert (decision.query, decision.because) == ("b", "oldest queued row, 900 ms")


def test_round_robin_serves_who_has_stood_at_the_gate_longest() -> None:
    decision = granted(RoundRobin(), query("a", waiting_since=NOW - 30), query("b", waiting_since=NOW - 20))
    assert (decision.query, decision.because) == ("a", "its turn, at the gate for 30 ms")


def test_highest_rate_serves_who_puts_out_most_per_millisecond() -> None:
    dear, cheap = query("dear", selectivity=0.5, fixed_ms=990.0), query("cheap", selectivity=0.5, fixed_ms=90.0)
    decision = granted(HighestRate(), dear, cheap)  # 1000 rows at .01 ms: 500 rows out in 100 ms
    assert (decision.query, decision.because) == ("cheap", "highest rate, 5 rows out per ms of work")
    assert granted(HighestRate(), query("few", selectivity=0.1), query("many", selectivity=0.9)).query == "many"


def test_stream_box_stays_with_the_earliest_window_until_it_is_through() -> None:
    early, late = query("early", due_in=-100), query("late", due_in=-50)
    decision = granted(StreamBox(), late, early)
    assert (decision.query, decision.because) == ("early", f"earliest window end, {NOW - 300}")


def test_a_query_that_read_its_rows_this_millisecond_is_not_polled() -> None:
    decision = FirstCome().decide(snapshot(query("a", granted_at=NOW, waiting_since=NOW)))
    assert decision == Hold(WallMs(NOW + 10), because="no query has rows waiting")


def test_a_watermark_that_another_policy_announced_ahead_keeps_nobody_else_waiting() -> None:
    left_over = query("a", due_in=2_000, granted_at=NOW - 9_000, waiting_since=NOW - 9_000)
    for policy in (FirstCome(), RoundRobin(), HighestRate(), StreamBox()):
        assert granted(policy, left_over, query("b", stream(), due_in=-10)).query == "b"


def test_they_announce_only_what_is_ripe() -> None:
    view = query("a", due_in=0)
    assert granted(FirstCome(), view).announce is None
