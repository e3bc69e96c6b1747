"""Delay tables follow their distributions, and a bad text gets one line that says what would be good."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import SettingError
from headway.sim.delays import SLICES, Constant, Delay, Exponential, Gamma, Uniform, Zipf, parse

MODELS = [Constant(50), Uniform(0, 500), Zipf(), Gamma(2, 50), Gamma(0.5, 80), Exponential(100)]
every_model = pytest.mark.parametrize("delay", MODELS, ids=repr)


@every_model
def test_a_table_is_ascending_and_stays_between_zero_and_the_bound(delay: Delay) -> None:
    table = delay.table()

    assert table.shape == (SLICES,)
    assert table.dtype == np.int64
    assert (np.diff(table) >= 0).all()
    assert table[0] >= 0
    assert table[-1] <= delay.max_ms


@pytest.mark.parametrize(
    ("delay", "mean"),
    [(Constant(50), 50), (Uniform(100, 500), 300), (Gamma(2, 50), 100), (Gamma(0.5, 80), 40), (Exponential(100), 100)],
    ids=repr,
)
def test_the_mean_of_a_table_is_that_of_its_model(delay: Delay, mean: float) -> None:
    # What the last half-slice cuts off an unbounded model is less than one part in a hundred.
    assert delay.table().mean() == pytest.approx(mean, rel=0.01)


@pytest.mark.parametrize(
    ("delay", "p", "want"),
    [
        (Uniform(0, 500), 0.5, 250),
        (Exponential(100), 0.5, 69.3),
        (Exponential(100), 0.99, 460.5),
        (Gamma(2, 50), 0.5, 83.9),
        (Gamma(2, 50), 0.95, 237.2),
    ],
    ids=repr,
)
def test_quantiles_of_a_table_are_those_of_its_model(delay: Delay, p: float, want: float) -> None:
    assert np.quantile(delay.table(), p) == pytest.approx(want, abs=1.5, rel=0.01)


def test_zipf_ranks_have_the_weights_of_a_power_law() -> None:
    delay = Zipf(0.99, 500)
    weights = np.arange(1, 501) ** -0.99
    weights /= weights.sum()

    shares = np.bincount(delay.table(), minlength=501)[1:] / SLICES

    assert shares[:20] == pytest.approx(weights[:20], abs=1 / SLICES)
    assert delay.table().mean() == pytest.approx(weights @ np.arange(1, 501), rel=0.005)
    assert delay.max_ms == 500


def test_an_unbounded_model_ends_at_the_quantile_of_the_last_slice() -> None:
    assert Exponential(100).max_ms == round(100 * np.log(2 * SLICES))


@pytest.mark.parametrize(
    ("text", "delay"),
    [
        ("constant:50", Constant(50)),
        ("uniform:0:500", Uniform(0, 500)),
        ("zipf", Zipf(0.99, 500)),
        ("zipf:1.2:300", Zipf(1.2, 300)),
        ("gamma:2:50", Gamma(2, 50)),
        (" exponential:12.5 ", Exponential(12.5)),
    ],
)
def test_a_text_names_a_model_and_its_numbers(text: str, delay: Delay) -> None:
    assert parse(text) == delay


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("unifrom:0:500", "expected one of constant:ms, uniform:low_ms:high_ms, zipf:exponent:max_ms"),
        ("uniform:0", "delay = 'uniform:0': expected uniform:low_ms:high_ms"),
        ("uniform:0:500:9", "delay = 'uniform:0:500:9': expected uniform:low_ms:high_ms"),
        ("gamma:two:50", "delay = 'gamma:two:50': expected gamma:shape:scale_ms"),
        ("exponential:inf", "expected exponential:mean_ms"),
        ("zipf:0.99:1.5", "expected zipf:exponent:max_ms"),
        ("uniform:500:0", "expected 0 <= low_ms <= high_ms"),
        ("constant:-1", "expected 0 ms or more"),
        ("", "expected one of"),
    ],
)
def test_a_bad_text_is_refused_in_one_line_with_the_way_out(text: str, message: str) -> None:
    with pytest.raises(SettingError) as caught:
        parse(text)

    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.text())
def test_any_text_is_a_model_or_a_setting_error(text: str) -> None:
    try:
        assert isinstance(parse(text), Delay)
    except SettingError as error:
        assert error.key == "delay"
