"""Whether the bound is kept: windows drawn by chance, their rows late by chance, sampled as the policy says, answered."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from headway.estimate.delays import weighted_quantile
from headway.estimate.substreams import SubStreams
from headway.model.arrays import Floats
from headway.model.sampling import GroupSeen, Sampling, SamplingPolicy, StreamView, SubStreamSeen
from headway.policy.sampling import Aion, AionMinus, AQKSlack, Everything

SUB, WINDOW = 600, 3000
WARM = 6  # windows before any is judged
Draw = Callable[[np.random.Generator, int, int], Floats]  # (chance, window, rows) -> values
Late = Callable[[np.random.Generator, Floats], Floats]  # (chance, values) -> delays


def normal(rng: np.random.Generator, window: int, rows: int) -> Floats:
    return rng.normal(10, 5, rows)


def heavy(rng: np.random.Generator, window: int, rows: int) -> Floats:
    return rng.lognormal(0, 1, rows)


def yes_or_no(rng: np.random.Generator, window: int, rows: int) -> Floats:
    return (rng.random(rows) < 0.3).astype(float)


def rising(rng: np.random.Generator, window: int, rows: int) -> Floats:
    return rng.normal(10, 3, rows) * 1.1**window


def falling(rng: np.random.Generator, window: int, rows: int) -> Floats:
    return rng.normal(10, 3, rows) / 1.1**window


def exponential(rng: np.random.Generator, value: Floats) -> Floats:
    return rng.exponential(240, len(value))


@dataclass
class Window:
    """One window as it came out; `taken` are the rows of its sample."""

    said: Sampling
    there: float  # the share of it that was expected to be there
    key: NDArray[np.int64]
    value: Floats
    taken: NDArray[np.bool_]
    rate: Floats

    def of_group(self, key: int) -> "Window":
        mine = self.key == key
        return Window(self.said, self.there, self.key[mine], self.value[mine], self.taken[mine], self.rate[mine])

    def mean_error(self) -> float:
        """Hajek's mean: rows weigh by one over the rate at which they were taken."""
        weight = self.taken / self.rate
        return abs(float(weight @ self.value / weight.sum() / self.value.mean() - 1)) if self.taken.any() else 1.0

    def sum_error(self) -> float:
        """Horvitz and Thompson's total, scaled by what was missing."""
        weight = self.taken / self.rate
        return abs(float(weight @ self.value / self.there / self.value.sum() - 1))

    def count_error(self) -> float:
        return abs(float((self.taken / self.rate).sum() / self.there / len(self.value) - 1))


def windows(
    policy: SamplingPolicy, draw: Draw, rows: int, count: int, late: Late = exponential, groups: Sequence[float] = ()
) -> Iterator[Window]:
    """A stream of so many rows a window, on average, and what the policy makes of each window; a batch at every end."""
    rng = np.random.default_rng(7)
    history = SubStreams(SUB, WINDOW, WINDOW)
    waiting = np.empty((4, 0))  # event time, arrival, value, key
    for at in range(count + WARM):
        n = rng.poisson(rows)
        time, value = at * WINDOW + np.sort(rng.uniform(0, WINDOW, n)), draw(rng, at, n)
        arrival = time + late(rng, value)
        key = rng.choice(len(groups), n, p=groups) if groups else np.zeros(n, np.int64)
        seen = history.view()
        said = policy.decide(seen)
        rates = np.array([[said.rate(place, k) for k in range(max(1, len(groups)))] for place in range(WINDOW // SUB)])
        rate = rates[((time % WINDOW) // SUB).astype(int), key]
        in_time = arrival <= (at + 1) * WINDOW + said.wait_ms
        if at >= WARM:
            yield Window(said, seen.window_arrived(said.wait_ms), key, value, in_time & (rng.random(n) < rate), rate)
        waiting = np.concatenate([waiting, [time, arrival, value, key]], axis=1)
        come = waiting[1] <= (at + 1) * WINDOW
        history, waiting = read(history, waiting[:, come], bool(groups)), waiting[:, ~come]


def read(history: SubStreams, rows: Floats, by_group: bool) -> SubStreams:
    """As a batch reads it: sums per sub-stream, sums per group, a histogram of 32 bins."""
    time, arrival, value, key = rows
    delay = arrival - time
    index, at = np.unique((time // SUB).astype(int), return_inverse=True)
    sums = (np.bincount(at, x) for x in (delay, delay**2, value, value**2, value**3, delay * value))
    seen = [SubStreamSeen(*each) for each in zip(index.tolist(), np.bincount(at).tolist(), *sums, strict=True)]
    keys, at = np.unique(key.astype(int), return_inverse=True)
    of_key = (np.bincount(at), np.bincount(at, value), np.bincount(at, value**2))
    groups = [GroupSeen(*each) for each in zip(keys.tolist(), *(x.tolist() for x in of_key), strict=True)]
    held, edges = np.histogram(delay, 32)
    middle = (edges[1:] + edges[:-1]) / 2
    histogram = [(float(ms), float(n)) for ms, n in zip(middle, held, strict=True) if n]
    return history.add(seen, groups if by_group else [], histogram, rows=len(value))


slow = pytest.mark.slow  # one of each kind is looked at in a hurry too: a share of windows takes hundreds of them


def kept(errors: list[float], error: float = 0.05) -> float:
    """The share of windows whose answer is within the bound."""
    return float(np.mean(np.array(errors) <= error))


@pytest.mark.parametrize("rows", [60, pytest.param(3000, marks=slow)])
@pytest.mark.parametrize("draw", [normal, *(pytest.param(d, marks=slow) for d in (heavy, yes_or_no, rising, falling))])
def test_a_mean_is_within_five_per_cent_in_nineteen_windows_of_twenty(draw: Draw, rows: int) -> None:
    assert kept([w.mean_error() for w in windows(Aion(), draw, rows, 400)]) >= 0.95


@slow
@pytest.mark.parametrize("rows", [60, 3000])
@pytest.mark.parametrize("draw", [normal, heavy, falling])
def test_so_is_a_sum(draw: Draw, rows: int) -> None:
    assert kept([w.sum_error() for w in windows(Aion(of="sum"), draw, rows, 400)]) >= 0.95


@pytest.mark.parametrize("rows", [60, pytest.param(3000, marks=slow)])
def test_so_is_a_count(rows: int) -> None:
    assert kept([w.count_error() for w in windows(Aion(of="count"), normal, rows, 400)]) >= 0.95


def test_a_median_is_within_five_per_cent_of_the_ranks() -> None:
    def rank(window: Window) -> float:
        value, weight = window.value[window.taken], 1 / window.rate[window.taken]
        return float((window.value <= weighted_quantile(value, weight, 0.5)).mean())

    errors = [abs(rank(w) - 0.5) for w in windows(Aion(of="quantile"), heavy, 3000, 400)]
    assert kept(errors) >= 0.95


@slow
@pytest.mark.parametrize("confidence", [0.8, 0.99])
def test_the_confidence_is_what_is_asked_for(confidence: float) -> None:
    share = kept([w.mean_error() for w in windows(Aion(confidence=confidence), normal, 6000, 400)])
    assert confidence <= share < confidence + 0.6 * (1 - confidence) + 0.05


@pytest.mark.parametrize("policy", [AionMinus(), AQKSlack(), Everything()], ids=lambda p: type(p).__name__)
def test_the_rivals_keep_to_it_too(policy: SamplingPolicy) -> None:
    assert kept([w.mean_error() for w in windows(policy, normal, 3000, 100)]) >= 0.95


def test_a_large_window_is_not_late_and_takes_few_rows() -> None:
    seen = list(windows(Aion(), normal, 6000, 50))
    assert {window.said.wait_ms for window in seen} == {0}
    assert max(window.taken.mean() for window in seen) < 0.1


def test_even_the_smallest_windows_do_not_wait_for_the_last_straggler() -> None:
    patient = [w.said.wait_ms for w in windows(Everything(), normal, 60, 100)]
    assert np.mean([w.said.wait_ms for w in windows(Aion(), normal, 60, 100)]) < 0.4 * np.mean(patient)


@slow
def test_every_group_keeps_its_own_bound() -> None:
    groups = (0.55, 0.3, 0.1, 0.04, 0.01)
    seen = list(windows(Aion(), normal, 8000, 300, groups=groups))
    for key in range(len(groups)):
        assert kept([w.of_group(key).mean_error() for w in seen]) >= 0.95, key
    assert set(seen[-1].said.keys) == {0, 1, 2, 3}  # 80 rows in a window are too few
    taken = [np.mean([w.of_group(key).taken.mean() for w in seen]) for key in range(len(groups))]
    assert taken[0] < taken[1] < taken[2] < taken[3] < taken[4]


@slow
def test_a_delay_that_goes_with_the_value_would_spoil_an_early_answer_and_is_waited_for() -> None:
    def late(rng: np.random.Generator, value: Floats) -> Floats:
        return rng.exponential(240, len(value)) * np.where(value > 15, 6, 1)

    seen = list(windows(Aion(), normal, 3000, 100, late))
    assert all(w.said.because.startswith("delay goes with value") for w in seen)
    assert kept([w.mean_error() for w in seen]) >= 0.95

    class Blind(Aion):  # what an early answer would have been
        def decide(self, seen: StreamView) -> Sampling:
            return Aion.decide(self, replace(seen, correlation=0.0))

    assert kept([w.mean_error() for w in windows(Blind(error=0.02), normal, 30_000, 40, late)], 0.02) < 0.5


def test_if_delays_and_values_only_drift_together_nobody_waits() -> None:
    def late(rng: np.random.Generator, value: Floats) -> Floats:
        return rng.exponential(100 + 10 * value.mean(), len(value))

    def waves(rng: np.random.Generator, window: int, rows: int) -> Floats:
        return rng.normal(20 + 10 * np.sin(window), 3, rows)

    reasons = [window.said.because for window in windows(Aion(), waves, 3000, 60, late)]
    assert len(reasons) == 60 and not any("goes with" in because for because in reasons)
