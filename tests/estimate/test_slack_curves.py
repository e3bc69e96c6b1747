"""Curves of what thresholds would do, from what gates have told."""

from dataclasses import replace

import numpy as np
import pytest

from headway.errors import SettingError
from headway.estimate.slack_curves import Learner, all_lessons, overhead_ms
from headway.estimate.slack_reports import History, clock_features, columns, phase_features
from headway.model.slack import Curve, Report

TOP = [0.0, 500.0, 1000.0, 2000.0, 4000.0, 8000.0]


def report(at: float, slt: float, gap: float, extra: float = 5.0) -> Report:
    """A settled gate at 100 fast tuples a second."""
    waits = min(slt, gap)
    return Report("join", at, slt, waits + extra, 100 if gap > slt else 0, 4, 5000.0, gap, waits)


def learner_after(n: int, gap: float = 3000.0, **more: object) -> Learner:
    learner = Learner(TOP, **more)  # type: ignore[arg-type]
    for k in range(n):
        learner.see(report(k, TOP[1 + k % 4], gap))
    return learner


def test_the_features_are_those_of_the_paper() -> None:
    x = clock_features(*columns((report(2 * 3600 + 3 * 60 + 4.5, 700, 0),)))
    assert x.tolist() == [[700, 2, 3, 4.5, 4, 5000]]


def test_a_moment_of_the_cycle_comes_again_after_a_period() -> None:
    one, two = (phase_features(*columns((report(at, 700, 0),)), 70.0)[0] for at in (10.0, 80.0))
    assert one[4:] == pytest.approx(two[4:]) and one[1] != two[1]


def test_a_cut_teaches_nothing_nor_does_a_wait_that_is_not_yet_as_long_as_it_may_be() -> None:
    history = History(10)
    for told in (report(0, 2000, 3000), report(1, 500, 3000), replace(report(2, 2000, 3000), latency_ms=1200.0)):
        history = history.plus(told)
    assert history.teaches == (True, False, False)
    assert len(history.plus(report(3, 2000, 3000)).lessons) == 2


def test_a_history_keeps_the_last() -> None:
    history = History(3)
    for k in range(5):
        history = history.plus(report(k, 1000, 0))
    assert [r.at_s for r in history.reports] == [2, 3, 4] and len(history.teaches) == 3


def test_from_the_gap_is_known_what_the_greatest_threshold_would_have_done() -> None:
    history = History(10).plus(report(0, 1000, 3000)).plus(report(1, 1000, 9000))
    lessons = all_lessons(history, 8000.0)
    # Not of the second: with a gap beyond the greatest threshold nobody knows how many would have been slack-ready.
    assert [(r.slt_ms, r.latency_ms, r.slack_ready) for r in lessons] == [
        (1000, 1005, 100),
        (1000, 1005, 100),
        (8000, 3005, 0),
    ]


def test_nothing_is_said_before_enough_is_known() -> None:
    assert Learner(TOP).curves() is None
    assert learner_after(9, enough=12).curves() is None
    assert learner_after(20, enough=12).curves() is not None


@pytest.mark.parametrize("estimator", ["gp", "linear", "isotonic", "svm"])
def test_curves_obey_what_every_gate_does(estimator: str) -> None:
    curves = learner_after(40, estimator=estimator).curves()
    assert curves is not None
    curve = curves["join"]
    assert (np.diff(curve.latency_ms) >= 0).all() and (np.diff(curve.slack_ready) <= 0).all()
    assert (curve.latency_ms <= curve.slt_ms + 5.0 + 1e-9).all() and (curve.slack_ready >= 0).all()


def test_a_gaussian_process_tells_where_waiting_ends() -> None:
    learner = learner_after(60)
    for k in (60, 61):
        learner.see(report(k, 4000, 3000))
    curves = learner.curves()
    assert curves is not None
    curve = curves["join"]
    assert curve.latency_at(1000) == pytest.approx(1005, abs=50)
    assert curve.latency_at(8000) == pytest.approx(3005, rel=0.25)  # the gap, with a margin
    assert curve.slack_ready_at(1000) > 60 and curve.slack_ready_at(8000) < 20


def test_a_wait_that_grows_is_expected_to_grow_on() -> None:
    learner = Learner(TOP)
    for k in range(30):
        learner.see(report(k, 8000, 200.0 * k))
    curves = learner.curves()
    assert curves is not None and 6000 - 1e-6 <= curves["join"].latency_at(8000) <= 6900


def test_a_delay_that_repeats_is_foreseen() -> None:
    def gap(k: int) -> float:
        return 3000.0 * max(0.0, 1 - abs(k % 40 - 30) / 8)

    learner, said = Learner(TOP, refit_every=20, keep=200), dict[int, float]()
    for k in range(105):
        curves = learner.curves()
        if curves is not None:
            said[k] = curves["join"].latency_at(8000)
        learner.see(report(k, 8000, gap(k)))
    assert learner.cycles["join"] == 40
    # Until the 103rd second nobody waits, and the wait of that second is 375 ms: the third time it is known beforehand.
    assert said[100] < 100 and said[103] > gap(103) == 375


def test_the_overhead_is_what_comes_on_top_of_the_threshold() -> None:
    assert overhead_ms([report(0, 1000, 3000, extra=7.0), report(1, 1000, 100, extra=90.0)]) == 7.0
    assert overhead_ms([]) == 0.0


def test_between_thresholds_a_curve_is_straight() -> None:
    curve = Curve(np.array([0.0, 100.0]), np.array([0.0, 50.0]), np.array([10.0, 0.0]))
    assert curve.latency_at(50) == 25 and curve.slack_ready_at(50) == 5 and curve.latency_at(1e9) == 50


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(SettingError, match="ascending"):
        Learner([2.0, 1.0])
    with pytest.raises(SettingError, match="at least"):
        Learner(TOP, keep=2)
    with pytest.raises(SettingError, match="one of gp"):
        Learner(TOP, estimator="oracle")


@pytest.mark.parametrize("gap", [300.0, 3000.0, 20_000.0])
def test_whichever_model_learns_latencies_differ_by_no_more_than_a_period(gap: float) -> None:
    """What every gate does by its definition leaves a model no more than that to say: docs/policies/sltuner.md."""
    found = []
    for estimator in ("linear", "isotonic", "svm"):
        curves = learner_after(40, gap, estimator=estimator, period_s=1.0).curves()
        assert curves is not None
        found.append(curves["join"].latency_ms)
    assert np.ptp(np.array(found), axis=0).max() <= 1000 + 1e-6
