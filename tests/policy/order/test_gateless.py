import pytest

from headway.errors import SettingError
from headway.model.decision import Hold
from headway.policy.order import FairPools, FirstCome, FixedTrigger, HighestRate, Klink, RoundRobin, Stock, StreamBox
from model.making import query, snapshot


@pytest.mark.parametrize("policy", [Stock(), FairPools(), FixedTrigger()], ids=repr)
def test_a_policy_of_sparks_own_has_no_gate(policy: Stock) -> None:
    assert not policy.gated
    decision = policy.decide(snapshot(query("a", due_in=-5_000)))
    assert isinstance(decision, Hold) and "no gate" in decision.because


@pytest.mark.parametrize("policy", [Klink(), FirstCome(), RoundRobin(), HighestRate(), StreamBox()], ids=repr)
def test_all_others_have_one(policy: Klink) -> None:
    assert policy.gated


def test_only_fair_pools_ask_for_pools() -> None:
    assert FairPools().pools and not Stock().pools and not FixedTrigger().pools


@pytest.mark.parametrize("every_ms", [0, -3_000])
def test_a_trigger_needs_a_period(every_ms: int) -> None:
    with pytest.raises(SettingError, match=rf"order.every_ms = {every_ms}: expected more than 0 milliseconds"):
        FixedTrigger(every_ms=every_ms)
