"""Laws that every order policy keeps in every world: random windows, streams, costs and slots."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from headway.loop.kernel import Entry
from headway.loop.replay import replay
from headway.model.deadline import Grid, window
from headway.model.decision import Grant, OrderPolicy
from headway.model.view import QueryView
from headway.policy.order import FirstCome, HighestRate, Klink, ResponseRatio, RoundRobin, StreamBox
from headway.sim.microbatch import VirtualQuery, VirtualWorld
from headway.sim.streams import VirtualInput

CONSERVING: list[OrderPolicy] = [FirstCome(), RoundRobin(), HighestRate(), StreamBox()]
ALL: list[OrderPolicy] = [Klink(), Klink(interval="paper"), ResponseRatio(), *CONSERVING]
RUN_MS = 12_000
NO_SHRINKING = (Phase.explicit, Phase.generate)

Drawn = tuple[tuple[VirtualQuery, ...], int, float, int]
Law = Callable[[OrderPolicy, Drawn], None]


def a_query(rng: Random) -> VirtualQuery:
    """Of a stream whose patience covers its delays; all together may ask for more than the cores can do."""
    patience, length = rng.randint(0, 1_500), rng.choice([1_000, 1_500, 3_000])
    delays = sorted(rng.randint(0, patience) for _ in range(rng.randint(1, 3)))
    rows = VirtualInput("rows", patience, rng.choice([0, 1, 50, 1_000]), tuple(delays))
    return VirtualQuery(
        "", window(length, start=rng.randrange(length)), rows, rng.uniform(20, 400), rng.choice([0.0, 0.01, 0.1]),
        ahead=rng.random() < 0.5, starts_ms=rng.randint(0, 3_000),
    )  # fmt: skip


def a_world(rng: Random) -> Drawn:
    some = tuple(a_query(rng) for _ in range(rng.randint(1, 8)))
    return some, rng.randint(1, 3), rng.uniform(0, 0.6), rng.randint(0, 99)


PLAYED: dict[tuple[str, Drawn, int], VirtualWorld] = {}
WORLDS = [a_world(Random(number)) for number in range(10)]


def played(policy: OrderPolicy, drawn: Drawn, shift: int = 0) -> VirtualWorld:
    """Laws look at the same runs: a run takes a tenth of a second, and a law no time."""
    run = repr(policy), drawn, shift
    if run not in PLAYED:
        PLAYED[run] = play(policy, drawn, shift)
    return PLAYED[run]


def play(policy: OrderPolicy, drawn: Drawn, shift: int) -> VirtualWorld:
    given_queries, slots, spread, seed = drawn
    world = VirtualWorld(policy, slots=slots, cores=2, spread=spread, seed=seed, poll_ms=50)
    for n, query in enumerate(given_queries):
        world.add(replace(query, name=f"q{n}", starts_ms=query.starts_ms + shift))
    world.run(RUN_MS + shift)
    return world


def laws(*policies: OrderPolicy, examples: int = 10) -> Callable[[Law], Callable[..., None]]:
    """A test of every policy in as many random worlds; where a law has nothing to look at, that world does not count."""

    def wrap(test: Law) -> Callable[..., None]:
        count = min(examples, settings().max_examples // 4)  # `make fast` tries fewer
        some = st.sampled_from(WORLDS[:count])
        many = settings(max_examples=count, phases=NO_SHRINKING)(given(drawn=some)(test))
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


def asked(world: VirtualWorld, wants: Callable[[QueryView, int], bool]) -> list[Entry]:
    """The decisions while a slot is free and somebody waits who wants it then."""
    free = [e for e in world.notebook.entries if e.question == "order" and e.seen.busy < e.seen.slots]
    found = [e for e in free if any(wants(q, e.at) for q in e.seen.waiting)]
    assume(found)
    return found


@laws(*CONSERVING)
def test_work_is_conserved(policy: OrderPolicy, drawn: Drawn) -> None:
    """Nobody who may run is held while a slot is free: only a watermark that is announced and not ripe yet keeps a query."""
    found = asked(played(policy, drawn), lambda q, now: not (q.pending and (q.due or 0) > now))
    assert {type(entry.decided) for entry in found} == {Grant}


@laws(Klink(), Klink(interval="paper"), ResponseRatio())
def test_klink_is_never_idle_while_something_is_due_and_a_slot_is_free(policy: OrderPolicy, drawn: Drawn) -> None:
    found = asked(played(policy, drawn), lambda q, now: q.due is not None and q.due <= now)
    assert {type(entry.decided) for entry in found} == {Grant}


@laws(FirstCome(), RoundRobin())
def test_nobody_is_overtaken_twice(policy: OrderPolicy, drawn: Drawn) -> None:
    """Their bound on starvation: who waits with a window due is passed at most once by each of the others."""
    due: set[str] = set()
    passed: set[tuple[str, str]] = set()
    again: list[tuple[str, str]] = []
    overtaken = False
    for entry in played(policy, drawn).notebook.entries:
        due |= {q.name for q in entry.seen.waiting if q.due is not None and q.due <= entry.at}
        if isinstance(entry.decided, Grant):
            served = entry.decided.query
            due.discard(served)
            passed = {pair for pair in passed if pair[0] != served}
            again += [(name, served) for name in due if (name, served) in passed]
            passed |= {(name, served) for name in due}
            overtaken = overtaken or bool(due)
    assume(overtaken)
    assert not again


@laws(Klink(), Klink(interval="paper"))
def test_nobody_passes_who_fell_due_much_later(policy: OrderPolicy, drawn: Drawn) -> None:
    """Klink's bound: later by its own batch, which slack counts, and by the uncertainty of a watermark, less than patience.

    So a window waits for those that are due within that time after it, whatever comes later. Highest rate has no such
    bound and starves who is expensive; StreamBox comes back to one query until its watermark is through.
    """
    patience = max(query.patience_ms for query in drawn[0])
    too_late: list[tuple[str, float]] = []  # who passed, and by how much more than may be
    for entry in played(policy, drawn).notebook.entries:
        if isinstance(entry.decided, Grant):
            due = {q.name: q for q in entry.seen.waiting if q.due is not None and q.due <= entry.at}
            served = due.pop(entry.decided.query, None)
            for other in due.values():
                if served is not None and served.due is not None and other.due is not None:
                    bound = served.cost_ms(entry.at) + patience + 500
                    too_late.append((served.name, served.due - other.due - bound))
    assume(too_late)
    assert max(by for _, by in too_late) <= 0, max(too_late, key=lambda one: one[1])


@laws(*ALL, examples=5)
def test_a_shift_of_all_times_changes_nothing_but_the_times(policy: OrderPolicy, drawn: Drawn) -> None:
    shift = 6_000  # a multiple of all windows
    here, there = played(policy, drawn, shift), played(policy, drawn, 3 * shift)
    first, second = (
        [(b.query, b.began - by, b.ended - by, b.rows) for b in w.batches] for w, by in ((here, shift), (there, 3 * shift))
    )
    assume(first)
    assert first == second


@laws(*ALL, examples=5)
def test_the_journal_replays_to_the_same_decisions(policy: OrderPolicy, drawn: Drawn) -> None:
    entries = played(policy, drawn).notebook.entries
    assert entries and not list(replay(entries, policy))


@laws(*ALL, examples=5)
def test_cores_do_no_more_than_they_can(policy: OrderPolicy, drawn: Drawn) -> None:
    world = played(policy, drawn)
    assert 0 < world.cores.busy_ms <= 2 * RUN_MS + 1
