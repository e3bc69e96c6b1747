"""What `headway bench aion` makes of a run."""

import pytest

from headway.errors import SettingError
from headway.model.sampling import StreamView
from headway.policy.sampling import Aion, AionMinus, AQKSlack, Everything
from headway.policy.sampling.promise import Promise
from headway_lab.experiments.aion.covered import WindowResult
from headway_lab.experiments.aion.run import ERROR, FixedRate, LiveCase, Ran, policy_named, turns
from headway_lab.workloads.approximate import ExactAnswer

COUNTS = {(3_000, "a"): 60, (3_000, "b"): 40, (6_000, "a"): 50, (6_000, "b"): 50}
TRUTH = {pane: ExactAnswer(float(n), n) for pane, n in COUNTS.items()}
ANSWERS = [
    WindowResult(3_000, "a", 66.0, 58.0, 74.0, 20), WindowResult(3_000, "b", 36.0, 30.0, 42.0, 10),
    WindowResult(6_000, "a", 30.0, 25.0, 35.0, 10), WindowResult(6_000, "b", 50.0, 45.0, 55.0, 20),
]  # fmt: skip


def ran(adds_up: bool = True) -> Ran:
    return Ran(
        LiveCase(), "aion", 1, [100.0, 300.0], ANSWERS, TRUTH, adds_up, rows=1_000, late=50, cpu_ms=20.0, thought_ms=4.0
    )


def test_figures_tell_of_windows_and_of_results() -> None:
    figures = ran().figures()
    assert (figures["mean_ms"], figures["windows"], figures["rate"]) == (200.0, 2, 0.3)
    # 102 of 100 and 80 of 100.
    assert (figures["within"], figures["error_max"], figures["error_mean"], figures["accuracy"]) == (0.5, 0.2, 0.11, 0.89)
    assert (figures["covered"], figures["results"], figures["missing"]) == (0.75, 4, 0)
    assert (figures["late_share"], figures["cpu_us_row"], figures["overhead_share"]) == (0.05, 20.0, 0.01)
    assert figures["p95_ms"] == 290.0 and figures["p99_ms"] == 298.0


def test_where_keys_do_not_add_up_each_answer_is_a_window() -> None:
    assert ran(adds_up=False).windows.within.n == 4
    assert ran().of_key("a").covered.hits == 1 and ran().of_key("b").covered.hits == 2 and ran().keys == ["a", "b"]


def test_policies_go_by_their_names() -> None:
    kinds = {"aion": Aion, "aion-minus": AionMinus, "aq-k-slack": AQKSlack, "everything": Everything}
    for name, kind in kinds.items():
        made = policy_named(name, "sum", least=100)
        assert isinstance(made, Promise) and type(made) is kind
        assert made.of == "sum" and made.error == ERROR and made.least == 100
    assert policy_named("plain") is None
    with pytest.raises(SettingError, match="policies = 'rate-x': expected one of aion, everything"):
        policy_named("rate-x")


def test_a_fixed_rate_takes_that_share_and_waits_for_all() -> None:
    third = policy_named("rate-30")
    assert isinstance(third, FixedRate)
    seen = StreamView(600, 3_000, 3_000, known=5, rows=600, longest_ms=900.0, delays=((100.0, 0.5), (900.0, 1.0)))
    decided = third.decide(seen)
    assert decided.wait_ms == 900 and [decided.rate(place) for place in range(5)] == [0.3] * 5


def test_policies_take_turns_at_being_first() -> None:
    assert list(turns(["a", "b", "c"], [7, 8])) == [(7, "a"), (7, "b"), (7, "c"), (8, "b"), (8, "c"), (8, "a")]


def test_a_case_is_told_in_full() -> None:
    case = LiveCase("kmeans", "GG", 25_000, 6)
    assert case.told() == {"workload": "kmeans", "setting": "GG", "rate": 25_000, "window_s": 6}
    assert str(case) == "kmeans, GG, 25,000/s, windows of 6 s"
    assert isinstance(LiveCase("taxi").told()["real"], bool)
    assert case.over(1, 1_700_000_000_000).stream.rate == 25_000
