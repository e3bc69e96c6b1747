from dataclasses import dataclass
from typing import Any

import pytest

from headway.errors import SettingError
from headway.policy import adaptation, load, order, patience, placement, sampling
from headway.policy.load import KINDS, order_policy, policy_of, question_of


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("klink", order.Klink()),
        ("klink:confidence=0.9,interval=paper", order.Klink(confidence=0.9, interval="paper")),
        ("klink:step_ms=60,split=2,memory=true", order.Klink(step_ms=60, split=2.0, memory=True)),
        ("klink:memory=False,", order.Klink()),
        ("stock", order.Stock()),
        ("fair", order.FairPools()),
        ("fixed-trigger:every_ms=500", order.FixedTrigger(500)),
        ("first-come", order.FirstCome()),
        ("round-robin", order.RoundRobin()),
        ("highest-rate", order.HighestRate()),
        ("streambox", order.StreamBox()),
    ],
)
def test_a_line_of_text_becomes_a_policy(text: str, policy: object) -> None:
    assert order_policy(text) == policy


def test_every_policy_has_a_name() -> None:
    assert {cls.__name__ for cls in KINDS["order"].values()} == set(order.__all__)
    rooms = (("patience", patience), ("sampling", sampling), ("placement", placement), ("adaptation", adaptation))
    for question, room in rooms:
        named = {cls.__name__ for cls in KINDS[question].values()}
        assert named == {name for name in room.__all__ if not name.endswith("Policy")}


@pytest.mark.parametrize(("text", "question", "made"), [
    ("klink", "order", order.Klink()), ("quantile:share=0.9,floor=5 ms", "patience", patience.Quantile(0.9, floor="5 ms")),
    ("fixed:delay=3 s", "patience", patience.Fixed("3 s")), ("aion:error=0.1", "sampling", sampling.Aion(error=0.1)),
])  # fmt: skip
def test_a_name_tells_which_question_is_answered(text: str, question: str, made: object) -> None:
    assert question_of(text) == question and policy_of(question, text) == made


def test_a_name_that_no_question_knows_gets_one_line() -> None:
    with pytest.raises(SettingError, match=r"policy = 'klonk': expected one of fair, .*aion"):
        question_of("klonk")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("klnik", "order = 'klnik': expected one of fair, first-come, fixed-trigger, highest-rate, klink, response-ratio, "),
        ("", "order = '': expected one of fair, "),
        ("klink:confidenze=0.9", "order.confidenze = '0.9': expected a setting of Klink, one of confidence, step_ms, "),
        ("first-come:x=1", "order.x = '1': expected a setting of FirstCome, one of none: it has no settings"),
        ("klink:confidence=high", "order.confidence = 'high': expected a value like 0.95"),
        ("klink:confidence", "order.confidence = '': expected a value like 0.95"),
        ("klink:step_ms=1.5", "order.step_ms = '1.5': expected a value like 120"),
        ("klink:memory=maybe", "order.memory = 'maybe': expected a value like False"),
        ("klink:confidence=2", "order.confidence = 2.0: expected a share between 0 and 1, e.g. 0.95"),
        ("klink:interval=wide", "order.interval = 'wide': expected 'predictive' or 'paper'"),
        ("fixed-trigger:every_ms=0", "order.every_ms = 0: expected more than 0 milliseconds"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line_that_names_key_value_and_way_out(text: str, says: str) -> None:
    with pytest.raises(SettingError) as error:
        order_policy(text)
    assert str(error.value).startswith(says) and "\n" not in str(error.value)


@dataclass(frozen=True)
class Mine:
    must: int
    gated = True

    def decide(self, snap: Any) -> Any: ...


class Entry:
    name = "mine"

    def load(self) -> type[Mine]:
        return Mine


def test_others_add_policies_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "entry_points", lambda group: [Entry()] if group == "headway.order" else [])
    with pytest.raises(SettingError, match=r"order = 'mine': expected settings that Mine takes \(.*must.*\)"):
        order_policy("mine")
    with pytest.raises(SettingError, match="mine"):
        order_policy("nobody's")
