"""Response ratio by hand: rows come at no cost here, so a batch costs its fixed part."""

from typing import Any

from headway.model.decision import Grant
from headway.model.view import QueryView
from headway.policy.order import Klink, ResponseRatio
from model.making import query, snapshot, stream


def one(name: str, overdue_ms: int, fixed_ms: float, **more: Any) -> QueryView:
    return query(name, stream(rows_per_s=0.0), due_in=-overdue_ms, fixed_ms=fixed_ms, per_row_ms=0.0, **more)


def chosen(policy: Klink, *queries: QueryView) -> str:
    decision = policy.decide(snapshot(*queries, slots=1))
    assert isinstance(decision, Grant)
    return decision.query


def test_a_short_batch_goes_before_a_long_one_that_fell_due_a_moment_earlier() -> None:
    # (100 + 50) / 50 = 3 against (120 + 2000) / 2000 = 1.06
    short, long = one("short", 100, 50), one("long", 120, 2_000)
    assert chosen(ResponseRatio(), short, long) == "short"
    assert chosen(Klink(), short, long) == "long"


def test_a_long_one_that_has_waited_its_share_goes_before_a_short_one() -> None:
    # (6000 + 2000) / 2000 = 4 against 3
    assert chosen(ResponseRatio(), one("short", 100, 50), one("long", 6_000, 2_000)) == "long"


def test_of_equal_cost_it_is_klink() -> None:
    queries = [one(name, overdue, 100) for name, overdue in (("a", 10), ("b", 30), ("c", 20))]
    assert chosen(ResponseRatio(), *queries) == chosen(Klink(), *queries) == "b"


def test_who_has_never_run_goes_first() -> None:
    fresh = query("new", stream(), granted_at=None)
    assert chosen(ResponseRatio(), one("old", 9_000, 10), fresh) == "new"


def test_it_says_the_ratio() -> None:
    decision = ResponseRatio().decide(snapshot(one("short", 100, 50), slots=1))
    assert decision.because.startswith("highest response ratio, 3.0: window end ")
