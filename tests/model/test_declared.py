"""What a policy declares: read once, with defaults, whoever wrote it."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from headway.errors import SettingError
from headway.model.deadline import window
from headway.model.decision import Decision, Grant, Hold
from headway.model.declared import (
    ORDER,
    PATIENCE,
    SAMPLING,
    OrderDeclares,
    PatienceDeclares,
    adaptation_declares,
    checked,
    order_declares,
    patience_declares,
    placement_declares,
    slack_declares,
)  # fmt: skip
from headway.model.time import WallMs
from headway.model.view import Snapshot
from headway.policy import adaptation, order, patience, placement
from headway.policy.load import KINDS
from headway.policy.slack import SLTuner, StaticSlack
from headway.testing import VirtualInput, VirtualQuery, VirtualWorld


class MindAlone:
    """A user's own: a mind, and nothing else."""

    def decide(self, snap: Snapshot) -> Decision:
        waiting = [q for q in snap.waiting if q.due is None or q.due <= snap.now]
        return Grant(waiting[0].name, None, "it waits") if waiting else Hold(WallMs(snap.now + 100), "nobody waits")


@dataclass(frozen=True)
class NearlyPatient:
    delay_ms: int = 0
    least_ms: int = 0
    most_ms: int = 0

    def decide(self, seen: Any) -> Any: ...


def test_a_policy_that_declares_nothing_is_gated_and_looks_at_nothing_special() -> None:
    assert order_declares(MindAlone()) == OrderDeclares(True, False, 0, None, False)
    assert patience_declares(patience.Fixed("1 s")) == PatienceDeclares(None)


def test_ours_declare_what_they_can() -> None:
    assert not order_declares(order.Stock()).gated
    assert order_declares(order.FairPools()).pools and order_declares(order.FixedTrigger(500)).every_ms == 500
    klink = order_declares(order.Klink(confidence=0.9, memory=True))
    assert replace(klink, not_before=None) == OrderDeclares(confidence=0.9, memory=True)
    assert order_declares(order.RoundRobin()).confidence is None
    assert patience_declares(patience.SlackGate("2 s")) == PatienceDeclares(2_000)
    assert patience_declares(patience.Deadline("6 s")).tunes == SLTuner(6_000)
    assert patience_declares(patience.Deadline("6 s", StaticSlack(500))).tunes == StaticSlack(500)
    assert slack_declares(StaticSlack(500)).learner is None and slack_declares(SLTuner(6_000)).learner is not None
    assert order_declares(order.Klink()).not_before is not None and order_declares(order.RoundRobin()).not_before is None


def test_a_policy_with_a_mind_and_nothing_else_runs() -> None:
    world = VirtualWorld(MindAlone(), slots=1, seed=1)
    world.add(VirtualQuery("a", window("3 s"), (VirtualInput(),)))
    world.run(10_000)
    assert any(isinstance(entry.decided, Grant) for entry in world.notebook.entries)


NEEDS = {"order": ORDER, "patience": PATIENCE, "sampling": SAMPLING}


@pytest.mark.parametrize(("question", "name"), [(q, name) for q in NEEDS for name in KINDS[q]])
def test_all_of_ours_have_what_their_question_needs(question: str, name: str) -> None:
    made = KINDS[question][name]
    checked(question, made(within="5 s") if name == "deadline" else made(), NEEDS[question], "a policy")


@pytest.mark.parametrize("value", ["klink", None, 7, order.Klink])
def test_what_is_no_policy_is_refused_in_one_line(value: Any) -> None:
    with pytest.raises(SettingError, match="expected an order policy") as error:
        checked("order", value, ORDER, "an order policy such as headway.order.Klink()")
    assert "\n" not in str(error.value)


def test_one_that_is_nearly_a_policy_is_told_what_it_lacks() -> None:
    with pytest.raises(SettingError, match="a patience policy; this one has no memory_rows"):
        checked("patience", NearlyPatient(), PATIENCE, "a patience policy")


def test_policies_of_a_fleet_and_of_a_wide_area_declare_what_is_kept_to_around_them() -> None:
    """How long a node rests after a move, and what the first places of a pipeline keep to."""
    assert placement_declares(placement.PredictionRings(cool_down_ms=7_000)).cool_down_ms == 7_000
    assert placement_declares(MindAlone()).cool_down_ms == 30_000
    wished = adaptation_declares(adaptation.Wasp(alpha=0.5, goal="dollars", budget_usd_h=2.0))
    assert (wished.alpha, wished.goal, wished.budget_usd_h) == (0.5, "dollars", 2.0)
    assert adaptation_declares(adaptation.NoAdapt()).alpha == 0.8
