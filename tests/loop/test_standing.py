"""A hold stands until its time is over or something has changed: a policy that would say the same is not asked."""

from dataclasses import dataclass, field, replace

from headway.loop.questions.order import StandingHold
from headway.model.deadline import Grid, window
from headway.model.decision import Decision, Grant, Hold
from headway.model.message import Use
from headway.model.time import WallMs
from headway.model.view import QueryView, Snapshot
from headway.policy.order import Klink, RoundRobin
from headway.testing import VirtualInput, VirtualQuery, VirtualWorld
from model.making import NOW, query


def test_a_hold_stands_until_it_is_over_or_was_decided_by_something_else() -> None:
    standing = StandingHold()
    assert standing.until(WallMs(0), "one") is None
    standing.hold(Hold(WallMs(50), "nobody is due"), "one")
    assert standing.until(WallMs(49), "one") == 50
    assert standing.until(WallMs(50), "one") is None
    assert standing.until(WallMs(49), "another") is None
    standing.hold(None, "one")  # nobody may run, whoever was chosen
    assert standing.until(WallMs(49), "one") is None


def test_a_grant_that_says_when_another_query_is_wanted_is_a_hold_until_then() -> None:
    standing = StandingHold()
    standing.hold(Grant("orders", None, "it is due"), "one")
    assert standing.until(WallMs(0), "one") is None
    standing.hold(Grant("orders", None, "it is due", then=WallMs(50)), "one")
    assert standing.until(WallMs(49), "one") == 50


def test_a_query_that_comes_back_ends_a_hold_when_it_is_wanted_itself() -> None:
    standing = StandingHold()
    standing.hold(Hold(WallMs(NOW + 400), "nobody is due"), "one", Klink())
    later, sooner, due = (query(name, due_in=ms) for name, ms in (("later", 900), ("sooner", 300), ("due", 0)))
    assert standing.until(NOW, "one", [later]) == NOW + 400
    assert standing.until(NOW, "one", [later, sooner]) == standing.until(NOW, "one") == NOW + 300
    assert standing.until(NOW, "one", [due]) is None
    standing.hold(Hold(WallMs(NOW + 400), "nobody is due"), "one", RoundRobin())  # which runs whatever waits
    assert standing.until(NOW, "one", [later]) is None


@dataclass
class Counting:
    """Klink, and how often it was asked."""

    inner: Klink = field(default_factory=Klink)
    answers: list[Decision] = field(default_factory=list)
    gated = True

    def decide(self, snap: Snapshot) -> Decision:
        self.answers.append(self.inner.decide(snap))
        return self.answers[-1]


@dataclass
class CountingKlink(Counting):
    """The same, and it declares what Klink does."""

    def not_before(self, query: QueryView, now: WallMs) -> float:
        return self.inner.not_before(query, now)


@dataclass
class Forgetting(Counting):
    """Klink that says nothing of the others, so that it is asked whenever something has changed."""

    def decide(self, snap: Snapshot) -> Decision:
        decided = super().decide(snap)
        return replace(decided, then=None) if isinstance(decided, Grant) else decided


def ten_queries(policy: Counting) -> VirtualWorld:
    world = VirtualWorld(policy, slots=2, cores=2, seed=1)
    for n in range(10):
        rows = VirtualInput(rows_per_s=1_000, delays_ms=(0, 250, 500), patience_ms=500)
        world.add(VirtualQuery(f"q{n}", Grid(3_000, 307 * n), rows, fixed_ms=40, per_row_ms=0.005))
    world.run(60_000)
    return world


def test_klink_is_asked_little_more_than_once_a_batch_and_windows_come_out_as_if_it_were_asked_always() -> None:
    standing, asked = CountingKlink(), Forgetting()
    one, other = ten_queries(standing), ten_queries(asked)
    grants = sum(isinstance(answer, Grant) for answer in standing.answers)
    assert grants > 100 and len(standing.answers) <= 1.2 * grants
    assert len(asked.answers) > 1.8 * grants
    assert one.windows == other.windows


def one_query(policy: Counting) -> VirtualWorld:
    world = VirtualWorld(policy, slots=1)
    world.add(VirtualQuery("orders", window("20 s"), VirtualInput(rows_per_s=10)))
    world.run(60_000)
    return world


def test_nobody_is_asked_only_because_the_gauge_was_read() -> None:
    """Once a second, that is: sixty times here."""
    policy = Counting()
    world = one_query(policy)
    grants = [answer for answer in policy.answers if isinstance(answer, Grant)]
    assert world.windows and grants and len(policy.answers) <= 2 * len(grants) + 1


def test_another_policy_is_asked_at_once() -> None:
    world = one_query(Counting())
    other = Counting()
    world.controller.take(Use(other))
    world.controller.turn()
    assert len(other.answers) == 1
