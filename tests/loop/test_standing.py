"""A hold stands until its time is over or something has changed: a policy that would say the same is not asked."""

from dataclasses import dataclass, field

from headway.loop.questions.order import StandingHold
from headway.model.deadline import window
from headway.model.decision import Decision, Grant, Hold
from headway.model.message import Use
from headway.model.time import WallMs
from headway.model.view import Snapshot
from headway.policy.order import Klink
from headway.testing import VirtualInput, VirtualQuery, VirtualWorld


def test_a_hold_stands_until_it_is_over_or_was_decided_by_something_else() -> None:
    standing = StandingHold()
    assert standing.until(WallMs(0), "one") is None
    standing.hold(Hold(WallMs(50), "nobody is due"), "one")
    assert standing.until(WallMs(49), "one") == 50
    assert standing.until(WallMs(50), "one") is None
    assert standing.until(WallMs(49), "another") is None
    standing.hold(None, "one")  # nobody may run, whoever was chosen
    assert standing.until(WallMs(49), "one") is None


@dataclass
class Counting:
    """Klink, and how often it was asked."""

    inner: Klink = field(default_factory=Klink)
    answers: list[Decision] = field(default_factory=list)
    gated = True

    def decide(self, snap: Snapshot) -> Decision:
        self.answers.append(self.inner.decide(snap))
        return self.answers[-1]


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
