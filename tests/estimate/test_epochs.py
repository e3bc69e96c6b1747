"""The network delay of the last epochs: Eqs. 5 and 6, and intervals that hold what they promise."""

from bisect import bisect_left
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.estimate.delays import (
    MOST_BINS,
    Epochs,
    moments,
    normal_half_width,
    spans,
    spreads,
    weighted_quantile,
)
from headway.model.arrays import Floats

Draw = Callable[[np.random.Generator, int], Floats]
Pairs = tuple[tuple[float, float], ...]
Histogram = Callable[[Floats], Pairs]


def zipf(rng: np.random.Generator, rows: int) -> Floats:
    """Delays of 10..1000 ms, the k-th shortest with chance ~ 1 / k^0.99."""
    steps = np.arange(1, 101)
    share = steps**-0.99
    return 10.0 * rng.choice(steps, rows, p=share / share.sum())


DELAYS: dict[str, Draw] = {
    "uniform": lambda rng, rows: rng.uniform(0, 400, rows),
    "zipf": zipf,
    "gamma": lambda rng, rows: rng.gamma(60, 4, rows),
    "exponential": lambda rng, rows: rng.exponential(240, rows),
}
every_delay = pytest.mark.parametrize("draw", DELAYS.values(), ids=DELAYS.keys())


def each_row(delays: Floats) -> Pairs:
    return tuple((float(d), 1.0) for d in delays)


def in_32_bins(delays: Floats) -> Pairs:
    """As Spark's histogram_numeric does: each row a bin, and whenever there are too many the two closest become one."""
    at: list[float] = []
    rows: list[float] = []
    for delay in delays.tolist():
        n = bisect_left(at, delay)
        if n < len(at) and at[n] == delay:
            rows[n] += 1
            continue
        at.insert(n, delay)
        rows.insert(n, 1.0)
        if len(at) > 32:
            n = min(range(32), key=lambda i: at[i + 1] - at[i])
            both = rows[n] + rows[n + 1]
            at[n : n + 2] = [(at[n] * rows[n] + at[n + 1] * rows[n + 1]) / both]
            rows[n : n + 2] = [both]
    return tuple(zip(at, rows, strict=True))


def no_rows(delays: Floats) -> Pairs:
    return ()


def history(
    draw: Draw, rng: np.random.Generator, epochs: int = 60, rows: int = 300, histogram: Histogram = each_row
) -> Epochs:
    seen = Epochs()
    for _ in range(epochs):
        delays = draw(rng, rows)
        seen = seen.add(float(delays.mean()), float((delays**2).mean()), histogram(delays))
    return seen


def test_before_the_first_epoch_nothing_is_known() -> None:
    assert Epochs().view() is None


def test_equation_six_by_hand() -> None:
    # Two epochs with delays {0, 2} and {4, 8}: means 1 and 6, mean squares 2 and 40.
    # chi = 21, sum over i != j of mu_i mu_j = 12, mu = 3.5: 1/2 (21 + 12/2) - 12.25 = 1.25.
    means, squares = np.array([1.0, 6.0]), np.array([2.0, 40.0])
    assert spreads(means, squares)[1] == pytest.approx(1.25**0.5)
    # One more delay: 21 - 12.25 for the draw, 1.25 for the mean.
    assert spreads(means, squares)[2] == pytest.approx((8.75 + 1.25) ** 0.5)


def test_equation_six_is_the_spread_of_the_mean_of_one_delay_per_epoch() -> None:
    rng = np.random.default_rng(7)
    centres, sds = rng.uniform(50, 300, 25), rng.uniform(5, 90, 25)
    trials = rng.normal(centres, sds, (40_000, 25)).mean(axis=1)
    assert spreads(centres, centres**2 + sds**2)[1] == pytest.approx(trials.std(), rel=0.02)


def test_the_mean_of_many_epochs_is_known_ever_better_but_one_delay_is_not() -> None:
    rng = np.random.default_rng(1)
    few, many = history(DELAYS["gamma"], rng, 10).view(), history(DELAYS["gamma"], rng, 250).view()
    assert few is not None and many is not None
    assert many.mean_sd_ms == pytest.approx(few.mean_sd_ms / 5, rel=0.1)
    assert many.draw_sd_ms == pytest.approx(few.draw_sd_ms, rel=0.1)


def coverage(draw: Draw, histogram: Histogram) -> float:
    rng = np.random.default_rng(42)
    view = history(draw, rng, histogram=histogram).view(0.95)
    assert view is not None
    coming = draw(rng, 20_000)
    return float(((view.low_ms <= coming) & (coming <= view.high_ms)).mean())


@every_delay
@pytest.mark.parametrize("histogram", [each_row, in_32_bins])
def test_the_predictive_interval_holds_the_next_delay_in_93_of_100_cases(draw: Draw, histogram: Histogram) -> None:
    assert coverage(draw, histogram) >= 0.93


@every_delay
def test_without_a_histogram_a_normal_curve_comes_close_but_skewed_delays_escape_it(draw: Draw) -> None:
    assert coverage(draw, no_rows) >= (0.92 if draw is zipf else 0.93)


@every_delay
def test_quantiles_hold_what_they_promise_and_not_far_more(draw: Draw) -> None:
    rng = np.random.default_rng(43)
    view = history(draw, rng).view(0.8)
    assert view is not None
    coming = draw(rng, 20_000)
    held = ((view.low_ms <= coming) & (coming <= view.high_ms)).mean()
    # A Zipf's shortest delay alone has a fifth of the rows: an interval cannot cut it in two.
    assert 0.78 <= held <= (0.92 if draw is zipf else 0.82)


@every_delay
def test_the_interval_of_the_paper_holds_far_fewer(draw: Draw) -> None:
    rng = np.random.default_rng(44)
    view = history(draw, rng).view()
    assert view is not None
    half = normal_half_width(0.95) * view.mean_sd_ms
    coming = draw(rng, 20_000)
    assert ((view.mean_ms - half <= coming) & (coming <= view.mean_ms + half)).mean() < 0.35


def test_a_bin_reaches_halfway_to_its_neighbours_of_the_same_epoch() -> None:
    lower, upper, rows = spans((((30.0, 1.0), (10.0, 2.0), (14.0, 3.0)), ((50.0, 4.0),)))
    assert lower.tolist() == [8, 12, 22, 50] and upper.tolist() == [12, 22, 38, 50] and rows.tolist() == [2, 3, 1, 4]


def test_a_quantile_counts_rows() -> None:
    values, weights = np.array([30.0, 10.0, 20.0]), np.array([1.0, 8.0, 1.0])
    assert [weighted_quantile(values, weights, share) for share in (0.0, 0.5, 0.8, 0.81, 0.95, 1.0)] == [
        10,
        10,
        10,
        20,
        30,
        30,
    ]


def test_the_horizon_is_respected() -> None:
    seen = Epochs(horizon=3)
    for n in range(10):
        seen = seen.add(float(n), float(n * n), ((float(n), 1.0),))
    assert seen.means.tolist() == [7, 8, 9] and seen.squares.tolist() == [49, 64, 81]
    assert [epoch[0][0] for epoch in seen.histogram] == [7, 8, 9]
    view = seen.view()
    assert view is not None and (view.epochs, view.mean_ms) == (3, 8)


def test_a_horizon_of_one_remembers_only_the_last() -> None:
    seen = Epochs(horizon=1).add(5, 25, ((5.0, 1.0),)).add(9, 81, ((9.0, 1.0),))
    assert seen.means.tolist() == [9] and len(seen.histogram) == 1


def test_the_papers_horizon_is_four_hundred_epochs() -> None:
    seen = Epochs()
    for n in range(450):
        seen = seen.add(n, n * n, ((float(n), 1.0),))
    assert len(seen.means) == len(seen.squares) == len(seen.histogram) == 400


def test_a_constant_delay_has_no_spread() -> None:
    seen = Epochs()
    for _ in range(20):
        seen = seen.add(150, 150**2, ((150.0, 1_000.0),))
    view = seen.view()
    assert view is not None
    assert (view.mean_ms, view.low_ms, view.high_ms) == (150, 150, 150)
    assert view.mean_sd_ms == view.draw_sd_ms == 0


parts = st.lists(st.lists(st.tuples(st.floats(0, 1e4), st.integers(1, 50)), min_size=1, max_size=6), min_size=1, max_size=8)


@given(parts)
def test_however_an_epoch_is_cut_into_batches_its_mean_and_mean_square_are_those_of_its_rows(
    batches: list[list[tuple[float, int]]],
) -> None:
    seen = Epochs()
    for bins in batches:
        seen = seen.read(tuple((delay, float(rows)) for delay, rows in bins))
    assert seen.view() is None  # until its window is swept
    seen = seen.swept()
    every = [pair for bins in batches for pair in bins]
    delays = np.repeat([delay for delay, _ in every], [rows for _, rows in every])
    assert len(seen.means) == 1
    assert seen.means[0] == pytest.approx(delays.mean()) and seen.squares[0] == pytest.approx((delays**2).mean())


@every_delay
def test_an_epoch_of_many_batches_holds_what_it_promises_and_does_not_grow(draw: Draw) -> None:
    rng = np.random.default_rng(45)
    seen = Epochs()
    for _ in range(10):
        for _ in range(40):
            seen = seen.read(in_32_bins(draw(rng, 50)))
            assert len(seen.unswept.histogram) <= MOST_BINS
        seen = seen.swept()
    view = seen.view(0.95)
    assert view is not None and view.epochs == 10
    coming = draw(rng, 20_000)
    assert ((view.low_ms <= coming) & (coming <= view.high_ms)).mean() >= 0.93


def test_a_window_without_rows_is_no_epoch() -> None:
    seen = Epochs().read(((5.0, 2.0),)).swept()
    assert seen.swept().swept().means.tolist() == [5]


def test_adding_an_epoch_leaves_the_old_history_as_it_was() -> None:
    before = Epochs().add(1, 1)
    before.add(2, 4)
    assert before.means.tolist() == [1]


@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 10**6)), min_size=1, max_size=30))
def test_no_history_makes_an_impossible_view(epochs: list[tuple[int, int]]) -> None:
    seen = Epochs()
    for mean, variance in epochs:
        seen = seen.add(mean, mean * mean + variance)
    view = seen.view()
    assert view is not None
    assert 0 <= view.mean_sd_ms <= view.draw_sd_ms + 1e-6
    assert view.low_ms <= view.mean_ms + 1e-6 and view.mean_ms <= view.high_ms + 1e-6


@pytest.mark.parametrize(("confidence", "sigmas"), [(0.95, 1.95996), (0.9, 1.64485), (0.6826895, 1.0)])
def test_a_normal_curve_has_its_well_known_widths(confidence: float, sigmas: float) -> None:
    assert normal_half_width(confidence) == pytest.approx(sigmas, abs=1e-4)


@given(st.lists(st.floats(0, 10_000), min_size=1, max_size=40))
def test_the_moments_of_a_histogram_are_those_of_its_rows(delays: list[float]) -> None:
    mean, square = moments(tuple((delay, 1.0) for delay in delays))
    assert mean == pytest.approx(np.mean(delays)) and square == pytest.approx(np.mean(np.square(delays)))


def test_merging_bins_keeps_the_mean_and_loses_only_the_variance_within_them() -> None:
    rows = np.arange(3_200.0)
    bins = tuple((float(part.mean()), float(len(part))) for part in np.split(rows, 32))
    mean, square = moments(bins)
    assert mean == rows.mean()
    assert 0.998 < (square - mean**2) / rows.var() < 1


def test_an_empty_histogram_has_no_moments() -> None:
    assert moments(()) == (0.0, 0.0)
