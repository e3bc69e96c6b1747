from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import SettingError
from headway.estimate.sample_size import needed
from headway.model.sampling import GroupView, SamplingPolicy, StreamView
from headway.policy.sampling import Aion, AionMinus, AQKSlack, Everything
from headway.policy.sampling.aion import slide_arrived
from tried import tried

GRID = np.linspace(0, 2000, 200)
EXPONENTIAL = (*zip(GRID.tolist(), (1 - np.exp(-GRID / 240)).tolist(), strict=True), (2400.0, 1.0))
VIEW = StreamView(
    600, 3000, 3000, known=10, rows=3000.0, rows_sd=40.0, delay_ms=240.0, delay_sd_ms=240.0, longest_ms=2400.0,
    delays=EXPONENTIAL, value_mean=10.0, value_sd=5.0, correlated_rows=30_000.0,
)  # fmt: skip

groups = st.lists(st.tuples(st.floats(0.01, 1e5), st.floats(-100, 100), st.floats(0, 100)), max_size=8)
views = st.builds(
    lambda known, rows, stray, scale, mean, sd, skew, slide, of_groups: StreamView(
        600, 6000, slide, known, rows, rows * stray, scale, scale, 10 * scale,
        tuple((ms * scale / 240, share) for ms, share in EXPONENTIAL), mean, sd, skew, 0.0, rows * known,
        tuple(GroupView(i, *each) for i, each in enumerate(of_groups)),
    ),
    st.integers(0, 10), st.floats(0.1, 1e5), st.floats(0, 0.5), st.floats(0.1, 4000), st.floats(-100, 100),
    st.floats(0, 100), st.floats(-20, 20), st.sampled_from([600, 3000, 6000]), groups,
)  # fmt: skip
kinds = st.sampled_from(["mean", "sum", "count", "quantile"])
policies = st.one_of(
    *(
        st.builds(kind, error=st.floats(0.001, 0.5), confidence=st.floats(0.5, 0.999), of=kinds)
        for kind in (Aion, AionMinus, AQKSlack, Everything)
    )
)
few = tried(100)


# What is asked for


@pytest.mark.parametrize("kind", [Aion, AionMinus, AQKSlack, Everything])
@pytest.mark.parametrize("error", [0, 1, -0.1, 5, float("nan"), "5%"])
def test_an_error_that_is_no_share_is_refused(kind: type[Aion], error: float) -> None:
    with pytest.raises(SettingError, match=r"approximate.error = .*: expected a share between 0 and 1, e.g. 0.05"):
        kind(error=error)


@pytest.mark.parametrize("confidence", [0, 1, 95, None])
def test_so_is_a_confidence(confidence: float) -> None:
    with pytest.raises(SettingError, match=r"approximate.confidence = .*: expected a share between 0 and 1, e.g. 0.95"):
        Aion(confidence=confidence)


@pytest.mark.parametrize("of", ["max", "min", "distinct", ""])
def test_answers_that_no_sample_can_give_are_refused(of: str) -> None:
    with pytest.raises(SettingError, match="expected one of mean, sum, count, quantile"):
        Aion(of=of)


def test_a_negative_wait_is_refused() -> None:
    with pytest.raises(SettingError, match=r"approximate.most_ms = -1: expected 0 or more milliseconds"):
        Aion(most_ms=-1)


@pytest.mark.parametrize("least", [0, -5, 0.5, "30"])
def test_a_least_sample_of_no_rows_is_refused(least: int) -> None:
    with pytest.raises(SettingError, match=r"approximate.least = .*: expected a whole number of rows, 1 or more"):
        Aion(least=least)


# Aion, case by case


def test_a_large_window_goes_at_its_end_with_few_rows() -> None:
    said = Aion().decide(VIEW)
    assert said.wait_ms == 0
    assert 0.02 < said.share < 0.05
    assert said.arrived == pytest.approx((1, 1, 0.998, 0.97, 0.632), abs=0.01)
    assert said.because.startswith("421 of 15,000 rows are enough, takes 3.1%; ")
    assert said.because.endswith("goes at the window's end with 92.0% of the window, 63% of its last 600 ms")


def test_from_a_sub_stream_of_which_stragglers_are_missing_more_is_taken() -> None:
    said = Aion().decide(VIEW)
    assert said.rate(4) / said.rate(0) == pytest.approx(1 / 0.632, rel=0.01)


def test_a_window_whose_last_sub_stream_lacks_rows_takes_more_of_the_others() -> None:
    seen = replace(VIEW, rows=250.0, rows_sd=5.0)
    wish, said = Aion(of="sum").wish(seen), Aion(of="sum").decide(seen)
    assert said.wait_ms == 0
    assert seen.arrived(0) < wish.share < said.share < seen.window_arrived(0)
    assert said.rate(4) == 1
    assert np.mean([said.rate(p) * said.arrived[p] for p in range(5)]) == pytest.approx(wish.share)


def test_a_window_that_lacks_too_many_rows_waits_just_until_they_are_there() -> None:
    seen = replace(
        VIEW, rows=250.0, rows_sd=5.0, delays=tuple((4 * ms, share) for ms, share in EXPONENTIAL), longest_ms=9600
    )
    wish, said = Aion(of="sum").wish(seen), Aion(of="sum").decide(seen)
    assert 0 < said.wait_ms < 1000
    assert seen.window_arrived(said.wait_ms) >= wish.share > seen.window_arrived(said.wait_ms - 1)
    assert f"waits {said.wait_ms} ms for " in said.because


def test_a_small_window_is_taken_whole_but_not_waited_for_to_the_last_row() -> None:
    said = Aion().decide(replace(VIEW, rows=10.0, rows_sd=1.0))
    assert said.share == 1.0
    assert 0.95 < VIEW.window_arrived(said.wait_ms) < 1
    assert 0 < said.wait_ms < 1000
    assert "window too small for sampling" in said.because


def test_a_delay_that_goes_with_value_is_waited_for() -> None:
    said = Aion().decide(replace(VIEW, correlation=-0.1))
    assert said.wait_ms == 2400
    assert said.arrived[-1] > 0.999
    assert said.because.startswith(
        "delay goes with value, r = -0.10: 421 of 15,000 rows are enough, takes 3.1%; waits 2400 ms"
    )
    assert said.share == Aion().decide(VIEW).share


@pytest.mark.parametrize(("r", "rows"), [(0.04, 1e9), (0.3, 200), (0.0, 1e9)])
def test_not_if_it_is_weak_or_may_be_chance(r: float, rows: float) -> None:
    assert Aion().decide(replace(VIEW, correlation=r, correlated_rows=rows)).wait_ms == 0


def test_a_count_does_not_mind_what_delay_goes_with() -> None:
    assert Aion(of="count").decide(replace(VIEW, correlation=0.5)).wait_ms == 0


def test_a_skewed_value_needs_more_rows() -> None:
    plain, skewed = (Aion().decide(replace(VIEW, value_skew=skew)) for skew in (0.0, 8.0))
    assert skewed.needed > 25 * 8**2 * 0.8 > plain.needed


@pytest.mark.parametrize("kind", [Aion, AionMinus])
def test_no_sample_is_smaller_than_the_least(kind: type[Aion]) -> None:
    calm = replace(VIEW, value_sd=0.5)
    assert kind().decide(calm).needed == 30  # by the spread alone it would be five
    asked = kind(least=1_000).decide(calm)
    assert asked.needed == 1_000
    assert asked.share * calm.window_rows > asked.needed
    assert "1,000 of 15,000 rows are enough, takes 7." in asked.because
    small = kind(least=1_000).decide(replace(calm, rows=240.0))  # of 1,200
    assert (small.needed, small.share * 1_200 > 1_000) == (1_000, True)
    assert kind(least=1_000).decide(replace(calm, rows=100.0)).share == 1.0
    # Who needs more by the spread is not asked for less.
    assert kind(least=100).decide(VIEW) == kind().decide(VIEW)


def test_the_rivals_take_no_notice_of_a_least() -> None:
    for kind in (AQKSlack, Everything):
        assert kind(least=1_000).decide(VIEW) == kind().decide(VIEW)


def test_a_stream_that_strays_is_sampled_more() -> None:
    steady, wild = (Aion().decide(replace(VIEW, rows_sd=sd)).share for sd in (0.0, 600.0))
    assert 1.2 < wild / steady < 3


def test_of_groups_each_has_its_own_rate_and_small_ones_are_whole() -> None:
    seen = replace(
        VIEW,
        groups=(GroupView(7, 10_000, 10, 5), GroupView(8, 4900, 10, 20), GroupView(9, 40, 10, 5), GroupView(5, 10, 0, 1)),
    )
    said = Aion().decide(seen)
    assert set(said.keys) == {7, 8}
    assert said.keys[7] < 0.06 < 0.5 < said.keys[8]
    assert said.rate(0, 9) == said.rate(0, 5) == said.rate(0, 12345) == 1.0
    assert "2 of 4 groups are sampled" in said.because


def test_no_more_groups_are_listed_than_a_plan_can_hold() -> None:
    seen = replace(VIEW, groups=tuple(GroupView(i, 15_000, 10, 5) for i in range(400)))
    said = Aion().decide(seen)
    assert set(said.keys) == set(range(256))
    assert said.rate(0, 300) == 1.0


def test_before_anything_is_known_every_row_is_taken() -> None:
    said = Aion().decide(StreamView(600, 3000, 3000))
    assert (said.share, said.wait_ms, said.rate(4)) == (1.0, 1000, 1.0)
    assert said.because == "0 of 3 sub-streams are complete: takes every row until more is known"
    assert Aion(start_ms=300).decide(StreamView(600, 3000, 3000)).wait_ms == 300
    assert Aion().decide(replace(VIEW, known=2)).wait_ms == 2400


# Rivals


def test_aion_minus_takes_the_same_sample_and_waits_for_the_slowest_row() -> None:
    said, minus = Aion().decide(VIEW), AionMinus().decide(VIEW)
    assert (minus.share, minus.needed) == (said.share, said.needed)
    assert (minus.wait_ms, minus.arrived) == (2400, (1.0,) * 5)
    assert minus.rate(4) == minus.rate(0) == said.share


def test_aq_k_slack_takes_most_rows_and_waits_for_most_of_them() -> None:
    said = AQKSlack(of="count").decide(VIEW)
    assert 0.6 < said.share < 0.85
    assert 0 < said.wait_ms < 2400
    assert VIEW.window_arrived(said.wait_ms) >= 0.975 > VIEW.window_arrived(said.wait_ms - 1)
    assert said.share > 5 * Aion(of="count").decide(VIEW).share


def test_everything_is_everything() -> None:
    said = Everything().decide(VIEW)
    assert (said.share, said.wait_ms, said.rate(4)) == (1.0, 2400, 1.0)
    assert said.because == "takes every row: waits 2400 ms, the longest delay so far"


# Laws


@few
@given(policies, views)
def test_a_rate_is_a_chance_and_a_wait_is_within_limits(policy: SamplingPolicy, seen: StreamView) -> None:
    said = policy.decide(seen)
    assert len(said.arrived) == seen.places
    assert all(0 < said.rate(place, key) <= 1 for place in range(seen.places) for key in [*said.keys, None])
    assert 0 < said.share <= 1
    assert 0 <= said.wait_ms <= policy.most_ms
    assert said.because


@few
@given(policies, views)
def test_what_is_taken_of_what_is_there_is_what_is_wanted(policy: SamplingPolicy, seen: StreamView) -> None:
    said = policy.decide(seen)
    for place in range(seen.places):
        for key, share in [*said.keys.items(), (None, said.share)]:
            if (rate := said.rate(place, key)) < 1:
                assert rate * said.arrived[place] == pytest.approx(share)
            else:
                assert said.arrived[place] <= share * (1 + 1e-9)


@few
@given(views, kinds)
def test_it_waits_for_no_more_than_it_needs(seen: StreamView, of: str) -> None:
    seen = replace(seen, known=10)
    policy = Aion(of=of)
    wish, said = policy.wish(seen), policy.decide(seen)

    def suffices(wait: float) -> bool:
        return slide_arrived(seen, wait) >= wish.sampled - 1e-9 and seen.window_arrived(wait) >= wish.whole - 1e-9

    assert (said.wait_ms == 0) == (suffices(0) or seen.longest_ms == 0)
    assert said.wait_ms == 0 or not suffices(said.wait_ms - 1)
    assert suffices(said.wait_ms) or said.wait_ms >= min(policy.most_ms, seen.longest_ms)


@few
@given(views, kinds)
def test_the_sample_to_be_expected_is_the_one_that_is_needed(seen: StreamView, of: str) -> None:
    seen = replace(seen, known=10)
    policy = Aion(of=of)
    said = policy.decide(seen)
    parts: list[tuple[int | None, float, float, float]] = [(g.key, g.rows, g.mean, g.sd) for g in seen.groups]
    for key, rows, mean, sd in parts or [(None, seen.window_rows, seen.value_mean, seen.value_sd)]:
        share = np.mean([said.rate(p, key) * said.arrived[p] for p in range(seen.places)])
        sampled = (said.share if key is None else said.keys.get(key, 1.0)) < 1
        if sampled:
            assert share * rows >= needed(rows, mean, sd, policy.error, policy.confidence, of) * (1 - 1e-6)
        else:
            assert share == pytest.approx(slide_arrived(seen, said.wait_ms))


@few
@given(views, st.sampled_from([Aion, AionMinus, AQKSlack]), st.floats(1, 3))
def test_who_asks_for_less_error_gets_no_smaller_a_sample(seen: StreamView, kind: type[Aion], finer: float) -> None:
    one, other = kind(error=0.1).decide(seen), kind(error=0.1 / finer).decide(seen)
    assert other.share >= one.share * (1 - 1e-9)
    assert all(other.keys.get(key, 1.0) >= share * (1 - 1e-9) for key, share in one.keys.items())
