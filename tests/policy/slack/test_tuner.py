"""SLTuner: when it acts, and what it climbs to."""

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import SettingError
from headway.model.graph import Edge, Graph
from headway.model.slack import Curve
from headway.policy.slack import SlackSeen, SLTuner
from headway.policy.slack.tuner import climb, latency_ms
from tried import tried

JOIN = Graph(("join",))
CHAIN = Graph(("join", "alarm"), (Edge("join", "alarm", 10.0),))
TUNER = SLTuner(6000.0, alpha=0.1)


def curve(gap: float, tuner: SLTuner = TUNER, weight: float = 1.0) -> Curve:
    """A gate whose streams are a gap apart: who may wait that long waits so long, and is not slack-ready."""
    slt = np.array(tuner.thresholds())
    return Curve(slt, np.minimum(slt, gap) + 5.0, weight * np.maximum(0.0, gap - slt))


def seen(curves: Mapping[str, Curve] | None, slts: Mapping[str, float], graph: Graph = JOIN, n: int = 50) -> SlackSeen:
    return SlackSeen(graph, slts, periods=n, curves=curves)


def test_a_deadline_in_danger_is_kept_with_as_much_patience_as_it_leaves() -> None:
    tuner = SLTuner(6000.0, most_ms=10_000)
    said = tuner.decide(seen({"join": curve(8000, tuner)}, {"join": 10_000.0}))
    assert 5850 < said.ms["join"] < 5995
    assert said.because == "8005 ms expected, over the deadline of 6000 ms"


def test_a_deadline_far_away_leaves_room_for_patience() -> None:
    said = TUNER.decide(seen({"join": curve(3000)}, {"join": 1000.0}))
    assert said.ms["join"] >= 3000 and "4995 ms of the deadline left" in said.because


def test_a_deadline_neither_near_nor_far_changes_nothing() -> None:
    said = TUNER.decide(seen({"join": curve(8000)}, {"join": 5500.0}))
    assert said.ms == {"join": 5500.0} and "near enough" in said.because


def test_alpha_says_how_far_is_far() -> None:
    look = seen({"join": curve(8000)}, {"join": 3000.0})
    assert SLTuner(6000.0, alpha=0.6).decide(look).ms == {"join": 3000.0}
    assert SLTuner(6000.0, alpha=0.4).decide(look).ms["join"] > 5800


def test_patience_goes_where_it_spares_most() -> None:
    curves = {"join": curve(8000, weight=1.0), "alarm": curve(8000, weight=3.0)}
    said = TUNER.decide(seen(curves, {"join": 9000.0, "alarm": 9000.0}, CHAIN))
    assert said.ms["alarm"] > 5800 and said.ms["join"] < 100


def test_an_operator_that_needs_no_patience_leaves_it_to_the_other() -> None:
    curves = {"join": curve(500, weight=3.0), "alarm": curve(8000)}
    said = TUNER.decide(seen(curves, {"join": 9000.0, "alarm": 9000.0}, CHAIN))
    assert said.ms["join"] >= 500 and 5200 < said.ms["alarm"] < 5500


def test_what_no_threshold_can_keep_gets_the_least() -> None:
    slow = Curve(np.array([0.0, 100.0]), np.array([7000.0, 7100.0]), np.array([5.0, 0.0]))
    assert TUNER.decide(seen({"join": slow}, {"join": 100.0})).ms == {"join": 0.0}


def test_before_anything_is_known_it_tries_thresholds_that_are_safe_on_every_path() -> None:
    tried = [TUNER.decide(seen(None, {"join": 0.0, "alarm": 0.0}, CHAIN, n)).ms for n in range(12)]
    assert len({ms["join"] for ms in tried}) == 6 and all(ms["join"] + ms["alarm"] <= 4500 for ms in tried)


def test_thresholds_ascend_and_the_deadline_is_none_of_them() -> None:
    for tuner in (TUNER, SLTuner(6000, most_ms=20_000), SLTuner(6000, most_ms=2000)):
        offered = tuner.thresholds()
        assert offered[0] == 0 and offered == sorted(set(offered)) and 6000 not in offered
    assert TUNER.thresholds()[-1] < 6000 and SLTuner(6000, most_ms=20_000).thresholds()[-1] == 20_000


curves_ = st.builds(curve, st.floats(0, 20_000), st.just(TUNER), st.floats(0.1, 5))


@tried(100)
@given(join=curves_, alarm=curves_, now=st.tuples(st.floats(0, 5900), st.floats(0, 5900)))
def test_it_keeps_the_deadline_and_nothing_more_could_be_raised(join: Curve, alarm: Curve, now: tuple[float, float]) -> None:
    curves = {"join": join, "alarm": alarm}
    look = seen(curves, dict(zip(curves, now, strict=True)), CHAIN)
    said = TUNER.decide(look)
    assert said == TUNER.decide(look)
    assert latency_ms(CHAIN, curves, said.ms) < 6000
    if "near enough" not in said.because:
        for o, c in curves.items():
            higher = c.slt_ms[c.slt_ms > said.ms[o] + 1e-6]
            assert not len(higher) or latency_ms(CHAIN, curves, {**said.ms, o: float(higher[0])}) >= 6000


@tried(50)
@given(gap=st.floats(0, 20_000), tight=st.floats(500, 3000), loose=st.floats(3000, 9000))
def test_a_longer_deadline_never_makes_more_slack_ready(gap: float, tight: float, loose: float) -> None:
    curves = {"join": curve(gap)}
    first, second = (climb(JOIN, curves, {"join": 0}, d)["join"] for d in (tight, loose))
    assert second >= first


def test_bad_settings_are_refused() -> None:
    for wrong, key in (
        ({"deadline_ms": 0}, "deadline_ms"),
        ({"deadline_ms": 1, "alpha": 1.0}, "alpha"),
        ({"deadline_ms": 1, "most_ms": 0}, "most_ms"),
        ({"deadline_ms": 1, "estimator": "x"}, "estimator"),
    ):
        with pytest.raises(SettingError, match=f"slack.{key}"):
            SLTuner(**wrong)
