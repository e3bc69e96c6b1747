"""Patience that adapts: laws of the longest delay and of quantiles, in pure numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import SettingError
from headway.estimate.tail import Tail
from headway.model.patience import PatienceView
from headway.policy.patience import MaxDelay, Quantile

histograms = st.lists(st.tuples(st.floats(0, 1e5), st.floats(1, 1e4)), min_size=1, max_size=20).map(
    lambda b: tuple(sorted(b))
)


def tail(policy: MaxDelay | Quantile, *histograms: tuple[tuple[float, float], ...]) -> Tail:
    made = Tail(policy.memory_rows)
    for histogram in histograms:
        made = made.add(histogram)
    return made


def waits(policy: MaxDelay | Quantile, *parts: Tail) -> int:
    decided = policy.decide(PatienceView(parts))
    assert decided.because
    return decided.ms


@given(
    bins=histograms, policy=st.sampled_from([MaxDelay(floor=100, ceiling=5_000), Quantile(0.9, floor=100, ceiling=5_000)])
)
def test_it_stays_between_floor_and_ceiling(bins: tuple[tuple[float, float], ...], policy: MaxDelay | Quantile) -> None:
    assert 100 <= waits(policy, tail(policy, bins)) <= 5_000


@given(bins=histograms)
def test_the_longest_delay_never_shrinks(bins: tuple[tuple[float, float], ...]) -> None:
    policy = MaxDelay()
    before = tail(policy, bins)
    assert waits(policy, before.add(((1.0, 1e6),))) >= waits(policy, before)


@given(bins=histograms, share=st.sampled_from([0.5, 0.9, 0.99]))
def test_a_greater_share_waits_no_less(bins: tuple[tuple[float, float], ...], share: float) -> None:
    of = tail(Quantile(share), bins)
    assert waits(Quantile(share), of) <= waits(Quantile(share + 0.005), of)


@given(one=histograms, other=histograms)
def test_the_slowest_partition_decides(one: tuple[tuple[float, float], ...], other: tuple[tuple[float, float], ...]) -> None:
    policy = Quantile(0.95)
    parts = [tail(policy, one), tail(policy, other)]
    assert waits(policy, *parts) == max(waits(policy, part) for part in parts)


def test_few_rows_are_not_believed() -> None:
    policy, even = Quantile(0.9), tuple((float(ms), 1.0) for ms in range(10, 1_001, 10))
    few, many = tail(policy, even), Tail().add(tuple((ms, 100.0) for ms, _ in even))
    assert waits(policy, few) > waits(policy, many) >= 900


def test_before_anything_is_known_it_waits_as_it_was_told() -> None:
    assert waits(Quantile(0.99, start="3 s")) == 3_000
    assert waits(MaxDelay(start="3 s", ceiling="1 s")) == 1_000


@pytest.mark.parametrize("share", [0, 1, -0.5, 99])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(SettingError) as error:
        Quantile(share)
    assert str(error.value).startswith(f"patience.share = {share!r}: expected a share of rows between 0 and 1")


def test_a_floor_above_the_ceiling_is_refused() -> None:
    with pytest.raises(SettingError) as error:
        MaxDelay(floor="2 s", ceiling="1 s")
    assert str(error.value).startswith("patience.floor = '2 s': expected no more than the ceiling, 1 s")


@pytest.mark.parametrize("key", ["floor", "ceiling", "start"])
def test_what_is_no_duration_is_refused_by_its_name(key: str) -> None:
    with pytest.raises(SettingError) as error:
        Quantile(0.9, **{key: "soon"})
    assert str(error.value).startswith(f"patience.{key} = 'soon'")
