"""The rivals do what their papers say."""

import pytest

from headway.errors import SettingError
from headway.model.graph import Graph
from headway.model.slack import Report
from headway.policy.slack import MaxTimestamp, SlackSeen, StaticSlack, TcpAdaptation

JOIN = Graph(("join",))


def seen(now: float, then: float, slt: float = 4000.0) -> SlackSeen:
    last, before = (Report("join", at, slt, ms, 0) for at, ms in ((2.0, now), (1.0, then)))
    return SlackSeen(JOIN, {"join": slt}, {"join": last}, {"join": before}, {"join": 7000.0}, 2)


def test_a_fixed_threshold_stays() -> None:
    assert StaticSlack(1500).decide(seen(9000, 1)).ms == {"join": 1500}


def test_the_greatest_delay_seen_is_the_threshold() -> None:
    said = MaxTimestamp().decide(seen(1, 1))
    assert said.ms == {"join": 7000} and "7000 ms" in said.because
    assert MaxTimestamp().decide(SlackSeen(JOIN, {"join": 0.0})).ms == {"join": 0}


def test_tcp_halves_when_latency_rises_and_adds_a_second_when_it_falls() -> None:
    tcp = TcpAdaptation()
    assert tcp.decide(seen(20, 10)).ms == {"join": 2000}
    assert tcp.decide(seen(10, 20)).ms == {"join": 5000}
    assert tcp.decide(seen(10, 10)).ms == {"join": 4000}
    assert tcp.decide(SlackSeen(JOIN, {"join": 4000.0})).ms == {"join": 4000}


def test_bad_settings_are_refused() -> None:
    with pytest.raises(SettingError, match="ms = -1"):
        StaticSlack(-1)
    with pytest.raises(SettingError, match="step_ms = 0"):
        TcpAdaptation(0)
