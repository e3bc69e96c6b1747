from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.estimate.sample_size import LEAST, OF, needed, sound_rows, z_of
from tried import tried

rows = st.floats(1, 1e7)
means = st.floats(0.01, 1e4)
deviations = st.floats(0, 1e4)
errors = st.floats(0.001, 0.5)
confidences = st.floats(0.5, 0.999)
kinds = st.sampled_from(OF)
few = tried(100)


def test_a_mean_needs_what_equation_4_4_says() -> None:
    z, n, mean, sd, error = z_of(0.95), 15_000, 10.0, 5.0, 0.05
    by_the_page = z**2 * sd**2 / (error**2 * mean**2 + z**2 * sd**2 / n)
    assert needed(n, mean, sd, error, 0.95, "mean") == pytest.approx(by_the_page)
    assert by_the_page == pytest.approx(374.55, abs=0.01)


def test_that_many_rows_have_just_the_wanted_standard_error() -> None:
    n, mean, sd, error = 15_000, 10.0, 5.0, 0.05
    sample = needed(n, mean, sd, error, 0.95, "mean")
    assert z_of(0.95) * sd / np.sqrt(sample) * np.sqrt(1 - sample / n) / mean == pytest.approx(error)  # Eq. 4.3


@pytest.mark.parametrize("sd", [0.0, 5.0])
def test_a_sum_by_coin_tosses_strays_as_much_as_the_formula_says(sd: float) -> None:
    rng, n, error = np.random.default_rng(3), 2000, 0.05
    value = rng.normal(10, sd, n)
    share = needed(n, float(value.mean()), float(value.std()), error, 0.95, "sum") / n
    totals = (value * (rng.random((4000, n)) < share)).sum(axis=1) / share
    assert np.mean(abs(totals / value.sum() - 1) <= error) == pytest.approx(0.95, abs=0.01)


def test_a_sum_needs_more_than_a_mean_and_a_count_is_the_sum_of_ones() -> None:
    assert needed(15_000, 10, 5, 0.05, 0.95, "sum") > 3 * needed(15_000, 10, 5, 0.05, 0.95, "mean")
    assert needed(15_000, 10, 5, 0.05, 0.95, "count") == needed(15_000, 1, 0, 0.05, 0.95, "sum")


def test_the_median_of_a_long_stream_needs_384_rows_whatever_the_values() -> None:
    assert needed(1e9, 1, 100, 0.05, 0.95, "quantile") == pytest.approx(384.1, abs=0.1)
    assert needed(1e9, 1, 100, 0.05, 0.95, "quantile", quantile=0.99) < 20


@pytest.mark.parametrize(("mean", "sd"), [(0.0, 1.0), (0.0, 0.0), (nan, 1.0), (1.0, nan), (1.0, inf), (inf, inf)])
@pytest.mark.parametrize("of", ["mean", "sum"])
def test_of_a_value_of_which_nothing_is_known_all_rows_are_needed(of: str, mean: float, sd: float) -> None:
    assert needed(500, mean, sd, 0.05, 0.95, of) == 500


@few
@given(rows, means, deviations, errors, confidences, kinds)
def test_it_is_never_more_than_there_are_nor_less_than_one(
    n: float, m: float, s: float, e: float, c: float, of: str
) -> None:
    assert 1 <= needed(n, m, s, e, c, of) <= n


@few
@given(rows, means, deviations, errors, confidences, kinds, st.floats(1, 2))
def test_who_asks_for_more_needs_more(n: float, m: float, s: float, e: float, c: float, of: str, more: float) -> None:
    size = needed(n, m, s, e, c, of) * (1 - 1e-9)
    assert needed(n, m, s, e / more, c, of) >= size
    assert needed(n, m, s, e, 1 - (1 - c) / more, of) >= size
    assert needed(n, m, s * more, e, c, of) >= size
    assert needed(n * more, m, s, e, c, of) >= size
    assert needed(n * more, m, s, e, c, of) / (n * more) <= size / n * (1 + 1e-6)  # but a smaller share of more rows


def test_what_is_not_a_kind_of_answer_is_a_mistake_of_ours() -> None:
    with pytest.raises(ValueError, match="no sample size of 'max'"):
        needed(100, 1, 1, 0.05, 0.95, "max")


def test_a_skewed_value_needs_a_sample_by_cochrans_rule() -> None:
    assert sound_rows(0.0) == LEAST
    assert sound_rows(-6.0) == sound_rows(6.0) == 900
