"""The laws that every gated order policy obeys; adding one to the list is the whole registration."""

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headway.estimate.ripe import ripe
from headway.loop.guards import STANDARD, never_sweep_early
from headway.model.decision import Decision, Grant, Hold, OrderPolicy
from headway.model.time import EventMs, WallMs
from headway.model.view import QueryView, Snapshot
from headway.policy.order import FirstCome, HighestRate, Klink, ResponseRatio, RoundRobin, StreamBox
from model.making import ALIGNED_MS, NOW, again, query, shifted, snapshots, stream

KLINKS: list[OrderPolicy] = [Klink(), Klink(interval="paper"), Klink(memory=True), ResponseRatio()]
WORK_CONSERVING: list[OrderPolicy] = [FirstCome(), RoundRobin(), HighestRate(), StreamBox()]

every_order_policy = pytest.mark.parametrize("policy", KLINKS + WORK_CONSERVING, ids=repr)
every_klink = pytest.mark.parametrize("policy", KLINKS, ids=repr)
every_work_conserving_policy = pytest.mark.parametrize("policy", WORK_CONSERVING, ids=repr)


def named(snap: Snapshot, name: str) -> QueryView:
    return next(q for q in snap.queries if q.name == name)


def with_one_changed(snap: Snapshot, changed: QueryView) -> Snapshot:
    return replace(snap, queries=tuple(changed if q.name == changed.name else q for q in snap.queries))


def guarded(decision: Decision, snap: Snapshot) -> Decision:
    for guard in STANDARD:
        decision = guard(decision, snap)
    return decision


def granted(policy: OrderPolicy, snap: Snapshot) -> Grant:
    """What it grants. A law about grants is looked for where there is one, and fails if there never is."""
    decision = policy.decide(snap)
    assume(isinstance(decision, Grant))
    assert isinstance(decision, Grant)
    return decision


def announced(policy: OrderPolicy, snap: Snapshot) -> tuple[QueryView, EventMs]:
    """The query that it grants, and the watermark that it announces with that."""
    grant = granted(policy, snap)
    assume(grant.announce is not None)
    assert grant.announce is not None
    return named(snap, grant.query), grant.announce


def unripe(q: QueryView) -> bool:
    """The next batch would act upon a watermark before patience is over."""
    return q.pending and q.live and q.due is not None and q.due > NOW


@every_order_policy
@given(snap=snapshots())
def test_the_same_snapshot_gets_the_same_answer(policy: OrderPolicy, snap: Snapshot) -> None:
    assert policy.decide(snap) == policy.decide(shifted(snap, 0))


@every_order_policy
@given(snap=snapshots())
def test_a_grant_names_a_query_that_waits(policy: OrderPolicy, snap: Snapshot) -> None:
    assert granted(policy, snap).query in {q.name for q in snap.waiting}


@every_order_policy
@given(snap=snapshots())
def test_every_decision_says_why_in_one_line(policy: OrderPolicy, snap: Snapshot) -> None:
    because = policy.decide(snap).because
    assert because and "\n" not in because and "inf" not in because and "nan" not in because


@every_order_policy
@given(snap=snapshots())
def test_a_hold_ends_later_than_now(policy: OrderPolicy, snap: Snapshot) -> None:
    decision = policy.decide(snap)
    assume(isinstance(decision, Hold))
    assert isinstance(decision, Hold) and decision.until > snap.now


@every_work_conserving_policy
@given(snap=snapshots())
def test_a_work_conserving_policy_never_holds_while_rows_may_wait(policy: OrderPolicy, snap: Snapshot) -> None:
    may_run = [q for q in snap.waiting if (q.granted_at is None or q.granted_at < snap.now) and not unripe(q)]
    assert isinstance(policy.decide(snap), Grant) == bool(may_run)


@every_klink
@given(snap=snapshots())
def test_klink_never_holds_while_something_is_due(policy: OrderPolicy, snap: Snapshot) -> None:
    assume(any(q.due is None or q.due <= snap.now for q in snap.waiting))
    assert isinstance(policy.decide(snap), Grant)


@every_klink
@given(snap=snapshots())
def test_klink_never_sleeps_past_the_next_window(policy: OrderPolicy, snap: Snapshot) -> None:
    """Batches that only read may be put off. If anybody is due it does not sleep, so here nobody is."""
    later = tuple(q for q in snap.waiting if q.due is not None and q.due > snap.now)
    windows = [q.due for q in later if q.due is not None and not q.reads_every_ms]
    decision = policy.decide(replace(snap, queries=later))
    assume(windows and isinstance(decision, Hold))
    assert isinstance(decision, Hold) and decision.until <= min(windows)


@every_order_policy
@given(snap=snapshots(), times=st.integers(-1_000, 1_000))
def test_shifting_all_times_changes_nothing_but_the_times(policy: OrderPolicy, snap: Snapshot, times: int) -> None:
    shift = times * ALIGNED_MS
    then, now = policy.decide(shifted(snap, shift)), policy.decide(snap)
    match now, then:
        case Grant(), Grant():
            assert then.query == now.query
            assert then.announce == (None if now.announce is None else now.announce + shift)
        case Hold(), Hold():
            assert then.until == now.until + shift
        case _:
            pytest.fail(f"{now} became {then}")


@every_order_policy
@given(snap=snapshots(), data=st.data())
def test_the_order_in_which_queries_are_listed_changes_nothing(
    policy: OrderPolicy, snap: Snapshot, data: st.DataObject
) -> None:
    mixed = replace(snap, queries=tuple(data.draw(st.permutations(snap.queries))))
    assert policy.decide(mixed) == policy.decide(snap)


@every_klink
@given(snap=snapshots(grids=1, pressed=False), periods=st.integers(1, 5), ms=st.integers(1, 5_000))
def test_the_chosen_query_made_more_urgent_stays_chosen(policy: OrderPolicy, snap: Snapshot, periods: int, ms: int) -> None:
    decision = policy.decide(snap)
    assume(isinstance(decision, Grant))
    assert isinstance(decision, Grant)
    chosen = named(snap, decision.query)
    assume(chosen.due is not None)
    if chosen.live and chosen.swept:
        earlier = periods * chosen.deadlines.period_ms
        announced, swept = EventMs(chosen.announced - earlier), EventMs(chosen.swept - earlier)
        urgent = again(chosen, announced=announced, swept=swept)
    else:
        assume(not chosen.live and chosen.granted_at is not None)
        urgent = again(chosen, granted_at=WallMs((chosen.granted_at or 0) - ms))
    assume(urgent.due is not None and chosen.due is not None and urgent.due < chosen.due)
    then = policy.decide(with_one_changed(snap, urgent))
    assert isinstance(then, Grant) and then.query == chosen.name


@every_order_policy
@given(snap=snapshots())
def test_an_announcement_never_goes_backwards(policy: OrderPolicy, snap: Snapshot) -> None:
    chosen, watermark = announced(policy, snap)
    assert watermark > chosen.announced


@every_order_policy
@given(snap=snapshots())
def test_an_announcement_is_a_deadline_and_at_most_one_beyond_what_is_ripe(policy: OrderPolicy, snap: Snapshot) -> None:
    chosen, watermark = announced(policy, snap)
    limit = ripe(chosen, snap.now)
    assert limit is not None and chosen.deadlines.upto(watermark) == watermark
    assert watermark <= chosen.deadlines.after(max(limit, chosen.announced))
    assert (chosen.ahead and chosen.live) or watermark <= limit


@every_order_policy
@given(snap=snapshots())
def test_after_the_guards_nothing_is_swept_before_it_is_due_and_no_slot_is_used_twice(
    policy: OrderPolicy, snap: Snapshot
) -> None:
    decision = guarded(policy.decide(snap), snap)
    assume(isinstance(decision, Grant))
    assert isinstance(decision, Grant)
    chosen = named(snap, decision.query)
    assert not unripe(chosen)
    assert snap.busy < snap.slots
    if decision.announce is not None and not (chosen.ahead and chosen.live):
        assert decision.announce <= (ripe(chosen, snap.now) or 0)


@every_order_policy
@given(snap=snapshots())
def test_no_policy_needs_the_guard_against_early_sweeps(policy: OrderPolicy, snap: Snapshot) -> None:
    decision = policy.decide(snap)
    assert never_sweep_early(decision, snap) == decision


@every_order_policy
@given(snap=snapshots())
def test_who_does_not_wait_does_not_matter(policy: OrderPolicy, snap: Snapshot) -> None:
    assert policy.decide(replace(snap, queries=snap.waiting)) == policy.decide(snap)


@every_order_policy
def test_nobody_at_the_gate_means_nobody_runs(policy: OrderPolicy) -> None:
    busy = Snapshot(NOW, (query("a", waiting_since=None),))
    assert isinstance(policy.decide(busy), Hold) and isinstance(policy.decide(Snapshot(NOW, ())), Hold)


@every_order_policy
def test_a_query_that_never_ran_goes_first(policy: OrderPolicy) -> None:
    fresh = query("new", stream(live=False, frontier=None, rows_per_s=0.0), granted_at=None)
    decision = policy.decide(Snapshot(NOW, (query("a", due_in=-5_000), again(fresh, waiting_since=WallMs(NOW - 9_000)))))
    assert isinstance(decision, Grant) and decision.query == "new" and decision.announce is None


@every_order_policy
@pytest.mark.parametrize("many", [1_000, 10_000])
def test_one_in_thousands_is_found(policy: OrderPolicy, many: int) -> None:
    decision = policy.decide(crowd_around_a_needle(many))
    assert isinstance(decision, Grant) and decision.query == "needle"


@cache
def crowd_around_a_needle(many: int) -> Snapshot:
    crowd = [query(f"q{n:05}", due_in=1_000 + n % 7, waiting_since=None if n % 3 else NOW - 5) for n in range(many)]
    urgent = query(
        "needle", stream(rows_per_s=5_000.0), due_in=-10, period_ms=500, granted_at=NOW - 9_000, waiting_since=NOW - 9_000
    )
    crowd.insert(many // 2, urgent)
    return Snapshot(NOW, tuple(crowd), slots=4)


@every_klink
@given(snap=snapshots())
def test_how_late_rows_are_decides_nothing_where_we_send_the_watermarks(policy: OrderPolicy, snap: Snapshot) -> None:
    """A window goes out when patience ends, whatever the tail of its delays: of two worlds that differ in nothing else,
    the same query is served."""
    calm = [again(q, inputs=tuple(replace(i, delay=None) for i in q.inputs)) for q in snap.queries]
    assert policy.decide(snap) == policy.decide(replace(snap, queries=tuple(calm)))


def by_columns(snap: Snapshot) -> Snapshot:
    """The same, looked at as many queries are."""
    seen = replace(snap)
    object.__setattr__(seen, "_few", False)
    return seen


@every_klink
@given(snap=snapshots())
def test_few_queries_are_decided_about_as_many_are(policy: OrderPolicy, snap: Snapshot) -> None:
    one, other = policy.decide(snap), policy.decide(by_columns(snap))
    assert one == other
    assert getattr(one, "then", None) == getattr(other, "then", None)


@every_klink
@given(snap=snapshots(pressed=False), later=st.integers(0, 5_000))
def test_no_query_is_granted_before_klink_says_it_may_be(policy: Klink, snap: Snapshot, later: int) -> None:
    at = WallMs(snap.now + later)
    grant = granted(policy, replace(snap, now=at))
    assert policy.not_before(named(snap, grant.query), snap.now) <= at + 1e-6


@every_klink
@given(snap=snapshots(pressed=False), share=st.floats(0, 1, exclude_max=True))
def test_after_a_grant_no_other_query_is_granted_before_klink_said_one_is_wanted(
    policy: OrderPolicy, snap: Snapshot, share: float
) -> None:
    first = granted(policy, snap)
    calm = [q for q in snap.queries if q.name == first.query or (q.due is not None and q.due > snap.now + 500)]
    only = replace(snap, queries=tuple(calm))  # most others are not due then
    grant = granted(policy, only)
    assume(grant.then is not None)
    assert grant.then is not None and grant.then > snap.now
    left = with_one_changed(only, again(named(only, grant.query), waiting_since=None))
    at = WallMs(snap.now + int(share * (grant.then - snap.now)))
    assert isinstance(policy.decide(replace(left, now=at)), Hold)
