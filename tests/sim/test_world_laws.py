"""Laws that every order policy keeps in every world: random windows, streams, costs and slots."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from headway.loop.replay import replay
from headway.model.deadline import Grid, window
from headway.model.decision import Grant, Hold, OrderPolicy
from headway.policy.order import FirstCome, HighestRate, Klink, ResponseRatio, RoundRobin, StreamBox
from headway.sim.microbatch import Query, World
from headway.sim.streams import Stream

CONSERVING: list[OrderPolicy] = [FirstCome(), RoundRobin(), HighestRate(), StreamBox()]
ALL: list[OrderPolicy] = [Klink(), Klink(interval="paper"), ResponseRatio(), *CONSERVING]
RUN_MS = 12_000
NO_SHRINKING = (Phase.explicit, Phase.generate)  # a world takes a tenth of a second, and shrinking thousands of them

# Streams whose patience covers their delays, and queries that may ask for more than the cores can do.
streams = st.builds(
    lambda patience, rate, parts: Stream("rows", patience, rate, tuple(sorted(int(p * patience) for p in parts))),
    st.integers(0, 1_500),
    st.sampled_from([0, 1, 50, 1_000]),
    st.lists(st.floats(0, 1), min_size=1, max_size=3),
)
queries = st.builds(
    lambda length, shift, stream, fixed, per_row, ahead, starts: Query(
        "", window(length, start=shift % length), stream, fixed, per_row, ahead=ahead, starts_ms=starts
    ),
    st.sampled_from([1_000, 1_500, 3_000]),
    st.integers(0, 2_999),
    streams,
    st.floats(20, 400),
    st.sampled_from([0.0, 0.01, 0.1]),
    st.booleans(),
    st.integers(0, 3_000),
)
worlds = st.tuples(st.lists(queries, min_size=1, max_size=8), st.integers(1, 3), st.floats(0, 0.6), st.integers(0, 99))
Drawn = tuple[list[Query], int, float, int]
Law = Callable[[OrderPolicy, Drawn], None]


def played(policy: OrderPolicy, drawn: Drawn, shift: int = 0) -> World:
    given_queries, slots, spread, seed = drawn
    world = World(policy, slots=slots, cores=2, spread=spread, seed=seed, poll_ms=50)
    for n, query in enumerate(given_queries):
        world.add(replace(query, name=f"q{n}", starts_ms=query.starts_ms + shift))
    world.run(RUN_MS + shift)
    return world


def laws(*policies: OrderPolicy, examples: int = 10) -> Callable[[Law], Callable[..., None]]:
    """A test of every policy in as many random worlds."""

    def wrap(test: Law) -> Callable[..., None]:
        many = settings(max_examples=examples, phases=NO_SHRINKING)(given(drawn=worlds)(test))
        law: Callable[..., None] = pytest.mark.parametrize("policy", policies, ids=repr)(many)
        return law

    return wrap


@laws(*ALL)
def test_nothing_is_swept_early_and_every_window_comes_out_once_and_in_turn(policy: OrderPolicy, drawn: Drawn) -> None:
    world = played(policy, drawn)
    assert not world.early
    assume(world.windows)  # where rows are rare, none may be due before the end
    for n, query in enumerate(drawn[0]):
        assert isinstance(query.windows, Grid)
        ends = [w.end for w in world.windows if w.query == f"q{n}"]
        assert {later - sooner for sooner, later in pairwise(ends)} <= {query.windows.period_ms}


@laws(*CONSERVING)
def test_work_is_conserved(policy: OrderPolicy, drawn: Drawn) -> None:
    """Nobody who may run is held while a slot is free: only a watermark that is announced and not ripe yet keeps a query."""
    for entry in played(policy, drawn).notebook.entries:
        if isinstance(entry.decided, Hold) and entry.seen.busy < entry.seen.slots:
            assert not [q for q in entry.seen.waiting if not (q.pending and (q.due or 0) > entry.at)]


@laws(Klink(), Klink(interval="paper"), ResponseRatio())
def test_klink_is_never_idle_while_something_is_due_and_a_slot_is_free(policy: OrderPolicy, drawn: Drawn) -> None:
    for entry in played(policy, drawn).notebook.entries:
        if isinstance(entry.decided, Hold) and entry.seen.busy < entry.seen.slots:
            assert not [q.name for q in entry.seen.waiting if q.due is not None and q.due <= entry.at]


@laws(FirstCome(), RoundRobin())
def test_nobody_is_overtaken_twice(policy: OrderPolicy, drawn: Drawn) -> None:
    """Their bound on starvation: who waits with a window due is passed at most once by each of the others."""
    due: set[str] = set()
    passed: set[tuple[str, str]] = set()
    for entry in played(policy, drawn).notebook.entries:
        due |= {q.name for q in entry.seen.waiting if q.due is not None and q.due <= entry.at}
        if isinstance(entry.decided, Grant):
            served = entry.decided.query
            due.discard(served)
            passed = {pair for pair in passed if pair[0] != served}
            assert not passed & {(name, served) for name in due}
            passed |= {(name, served) for name in due}


@laws(Klink(), Klink(interval="paper"))
def test_nobody_passes_who_fell_due_much_later(policy: OrderPolicy, drawn: Drawn) -> None:
    """Klink's bound: later by its own batch, which slack counts, and by the uncertainty of a watermark, less than patience.

    So a window waits for those that are due within that time after it, whatever comes later. Highest rate has no such
    bound and starves who is expensive; StreamBox comes back to one query until its watermark is through.
    """
    patience = max(query.patience_ms for query in drawn[0])
    for entry in played(policy, drawn).notebook.entries:
        if isinstance(entry.decided, Grant):
            due = {q.name: q for q in entry.seen.waiting if q.due is not None and q.due <= entry.at}
            served = due.pop(entry.decided.query, None)
            for name, other in due.items():
                if served is not None and served.due is not None and other.due is not None:
                    assert served.due - other.due <= served.cost_ms(entry.at) + patience + 500, f"passed {name}"


@laws(*ALL, examples=5)
def test_a_shift_of_all_times_changes_nothing_but_the_times(policy: OrderPolicy, drawn: Drawn) -> None:
    shift = 30_000  # a multiple of all windows
    here, there = played(policy, drawn, shift), played(policy, drawn, 3 * shift)
    first, second = (
        [(b.query, b.began - by, b.ended - by, b.rows) for b in w.batches] for w, by in ((here, shift), (there, 3 * shift))
    )
    assert first == second


@laws(*ALL, examples=5)
def test_the_journal_replays_to_the_same_decisions(policy: OrderPolicy, drawn: Drawn) -> None:
    assert not list(replay(played(policy, drawn).notebook.entries, policy))


@laws(*ALL, examples=5)
def test_cores_do_no_more_than_they_can(policy: OrderPolicy, drawn: Drawn) -> None:
    world = played(policy, drawn)
    assert world.cores.busy_ms <= 2 * RUN_MS + 1
