"""Shares of answers, and between what the true share lies."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.estimate.bounds import Certainty, deviations
from headway_lab.experiments.aion.covered import WindowResult, added_up, by_key, judge, totals, wilson
from tried import tried

SURE = Certainty.at(0.95)


def answer(end: int, key: str, estimate: float, half: float, sample: int = 100, sound: bool = True) -> WindowResult:
    return WindowResult(end, key, estimate, estimate - half, estimate + half, sample, 1.0, sound)


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [(95, 100, 0.8882, 0.9785), (10, 10, 0.7225, 1.0), (0, 10, 0.0, 0.2775), (1, 2, 0.0945, 0.9055), (0, 0, 0.0, 1.0)],
)
def test_wilsons_interval_is_that_of_the_books(hits: int, n: int, low: float, high: float) -> None:
    share = wilson(hits, n)
    assert (share.low, share.high) == pytest.approx((low, high), abs=1e-4)


@given(n=st.integers(1, 5_000), data=st.data(), confidence=st.floats(0.5, 0.999))
@tried(100)
def test_wilsons_interval_holds_the_share_and_stays_within_0_and_1(n: int, data: st.DataObject, confidence: float) -> None:
    hits = data.draw(st.integers(0, n))
    share = wilson(hits, n, confidence)
    assert 0 <= share.low <= hits / n <= share.high <= 1
    assert share.high > share.low
    mirrored = wilson(n - hits, n, confidence)
    assert mirrored.low == pytest.approx(1 - share.high, abs=1e-9)


def test_wilsons_interval_holds_the_true_share_as_often_as_it_says() -> None:
    hits = np.random.default_rng(1).binomial(60, 0.95, 2_000)
    held = sum(wilson(int(h), 60).low <= 0.95 <= wilson(int(h), 60).high for h in hits)
    assert 0.93 < held / 2_000 < 0.99


def test_answers_are_judged_by_their_error_and_by_their_own_bound() -> None:
    truth = {(1, "a"): 100.0, (1, "b"): 50.0, (2, "a"): 10.0, (2, "b"): 5.0}
    listed = [answer(1, "a", 104, 5), answer(1, "b", 53, 2), answer(2, "a", 10, 0)]
    judged = judge(listed, truth, 0.05)
    assert (judged.within.hits, judged.within.n) == (2, 3)
    assert (judged.covered.hits, judged.covered.n, judged.missing) == (2, 3, 1)
    assert judged.error_max == pytest.approx(0.06) and judged.error_mean == pytest.approx(0.1 / 3)
    assert judged.width == pytest.approx((10 / 104 + 4 / 53 + 0) / 3)


def test_an_estimate_of_nothing_has_no_relative_width() -> None:
    judged = judge([answer(1, "a", 0, 3), answer(1, "b", 50, 5)], {(1, "a"): 0.0, (1, "b"): 50.0}, 0.05)
    assert judged.width == pytest.approx(0.2) and judge([], {}, 0.05).width == 0


def test_an_answer_about_nothing_is_wrong_and_no_answers_are_no_shares() -> None:
    judged = judge([answer(1, "ghost", 3, 1)], {}, 0.05)
    assert judged.error_max == inf and judged.within.hits == judged.covered.hits == 0
    none = judge([], {(1, ""): 3.0}, 0.05)
    assert none.missing == 1 and none.error_max == 0 and str(none.within) == "-" and none.within.share == 0


def test_sums_in_another_order_are_the_same_sums() -> None:
    total = sum([0.1] * 10)
    assert answer(1, "", total, 0).holds(1.0) and total != 1.0


def test_keys_add_up_with_their_variances() -> None:
    of = [
        answer(1, "a", 100, 2 * deviations(40, True, SURE), 40),
        answer(1, "b", 50, 1.5 * deviations(20, False, SURE), 20, False),
    ]
    (total, other) = added_up([*of, answer(2, "a", 7, 0, 3)])
    assert (total.end_ms, total.key, total.estimate, total.sample, total.sound) == (1, "", 150, 60, True)
    assert total.upper - total.estimate == pytest.approx(2.5 * deviations(60, True, SURE))
    assert (other.lower, other.upper, other.sound) == (7, 7, True)
    assert deviations(20, False, SURE) > deviations(20, True, SURE) > deviations(10_000, True, SURE) > 1.959
    assert totals({(1, "a"): 1.0, (1, "b"): 2.0, (2, "a"): 4.0}) == {(1, ""): 3.0, (2, ""): 4.0}


def test_bounds_of_a_sum_hold_as_often_as_they_say() -> None:
    """Twenty keys of fifteen rows each, of which a third is taken: none of them is enough, together they are."""
    rng, held = np.random.default_rng(3), 0
    for _ in range(400):
        taken = rng.binomial(15, 1 / 3, 20)
        # Horvitz and Thompson's deviation of a count is the root of n w (w - 1).
        widths = [(n * 3 * 2) ** 0.5 * deviations(n, False, SURE) for n in taken.tolist()]
        listed = [answer(1, "k", 3.0 * n, width, n, False) for n, width in zip(taken.tolist(), widths, strict=True)]
        held += added_up(listed)[0].holds(300.0)
    assert 0.92 < held / 400 < 0.985


def test_answers_by_key() -> None:
    found = by_key([answer(1, "b", 1, 0), answer(1, "a", 2, 0), answer(2, "b", 3, 0)])
    assert {key: [a.end_ms for a in of] for key, of in found.items()} == {"a": [1], "b": [1, 2]}
