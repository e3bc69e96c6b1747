"""Recorded streams under every kind of patience, in virtual time."""

import numpy as np
import pytest

from headway.model.patience import PatiencePolicy
from headway.policy.patience import Fixed, MaxDelay, Quantile, SlackGate
from headway_lab.experiments.patience.run import replay
from headway_lab.workloads.data import folder
from headway_lab.workloads.feed import Feed
from headway_lab.workloads.phones import SESSIONS, phones


def feed(seconds: int = 120, rate: int = 50, longest_ms: int = 400, doubles: bool = False, sources: int = 2) -> Feed:
    """Rows that are held back by up to so long; twice as long from the middle on, if that is wished."""
    rng = np.random.default_rng(7)
    event = np.sort(rng.integers(0, seconds * 1000, seconds * rate)) + 1_000_000
    delay = rng.integers(0, longest_ms, len(event))
    if doubles:
        delay = np.where(event > np.median(event), 2 * delay, delay)
    keys = [b"s%d" % k for k in rng.integers(0, sources, len(event))]
    return Feed.of("made up", event, event + delay, [b""] * len(event), keys)


POLICIES: list[PatiencePolicy] = [Fixed("200 ms"), MaxDelay(), Quantile(0.95), SlackGate("300 ms")]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: type(p).__name__)
def test_every_row_is_in_time_or_counted_as_late(policy: PatiencePolicy) -> None:
    stream = feed()
    waited = replay(stream, policy)
    assert waited.rows == len(stream)
    assert waited.late == waited.late_by_window.sum()
    assert (np.diff(waited.ends) == 1_000).all()
    assert (waited.waits_ms >= 0).all()


def test_fixed_patience_loses_just_the_rows_that_took_longer() -> None:
    stream = feed()
    waited = replay(stream, Fixed("200 ms"))
    closes = (stream.event_ms // 1_000 + 1) * 1_000 + 200
    assert waited.late == (stream.arrival_ms > closes).sum() > 0
    assert replay(stream, Fixed("400 ms")).late == 0


def test_the_longest_delay_costs_more_and_loses_less_than_a_quantile() -> None:
    stream = feed(longest_ms=2_000)
    longest, quantile = replay(stream, MaxDelay()), replay(stream, Quantile(0.9))
    assert longest.late <= quantile.late
    assert longest.median_ms > quantile.median_ms
    assert quantile.late_share <= 0.1


def test_a_quantile_follows_a_stream_that_becomes_twice_as_slow() -> None:
    waited = replay(feed(doubles=True), Quantile(0.95))
    half = len(waited.ends) // 2
    before, after = np.median(waited.waits_ms[half - 20 : half]), np.median(waited.waits_ms[half + 10 :])
    assert after == pytest.approx(2 * before, rel=0.25)
    rows_after = (len(waited.ends) - half - 10) * 50
    assert waited.late_by_window[half + 10 :].sum() <= 0.05 * rows_after


@pytest.mark.skipif(folder() is None, reason="no real data: HEADWAY_DATA names no folder")
@pytest.mark.parametrize("which", SESSIONS)
def test_of_the_phones_at_most_one_row_in_a_hundred_is_late_at_half_the_wait(which: int) -> None:
    quantile, longest = replay(phones(which), Quantile(0.99)), replay(phones(which), MaxDelay())
    assert quantile.late_share <= 0.013
    assert quantile.median_ms <= 0.5 * longest.median_ms
