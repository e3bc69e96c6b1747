"""What the models learn, and what they say of their own error."""

import subprocess
import sys

import numpy as np
import pytest

from headway.errors import SettingError
from headway.estimate.slack_models import MODELS, fit, nrmse
from headway.model.arrays import Floats


def world(n: int, seed: int, noise: float = 0.0) -> tuple[Floats, Floats]:
    """A wait that grows with the threshold up to a bound that swings in time; the last feature never differs."""
    rng = np.random.default_rng(seed)
    slt, at = rng.uniform(0, 10, n), rng.uniform(0, 60, n)
    y = np.minimum(slt, 5 + 3 * np.sin(at / 10)) + noise * rng.normal(size=n)
    return np.column_stack([slt, at, np.full(n, 4.0)]), y


@pytest.mark.parametrize("kind", MODELS)
def test_every_model_learns_more_than_the_mean(kind: str) -> None:
    x, y = world(150, 1)
    test_x, test_y = world(150, 2)
    said, sd = fit(kind, x, y).predict(test_x)
    assert nrmse(test_y, said) < 0.9 * nrmse(test_y, np.full(150, y.mean()))
    assert (sd >= 0).all() and said.shape == sd.shape == (150,)


def test_a_gaussian_process_bends_where_a_line_does_not() -> None:
    x, y = world(150, 1)
    test_x, test_y = world(150, 2)
    errors = {kind: nrmse(test_y, fit(kind, x, y).predict(test_x)[0]) for kind in MODELS}
    assert errors["gp"] < 0.05 and min(errors, key=lambda kind: errors[kind]) == "gp"


def test_a_gaussian_process_knows_how_far_off_it_may_be() -> None:
    x, y = world(150, 1, noise=0.3)
    model = fit("gp", x, y)
    test_x, test_y = world(300, 2, noise=0.3)
    mean, sd = model.predict(test_x)
    assert np.mean(np.abs(test_y - mean) < 2 * sd) > 0.85
    _, far = model.predict(np.array([[5.0, 500.0, 4.0]]))
    assert far[0] > 2 * sd.mean()


def test_a_model_like_the_one_before_takes_over_its_length_scales_and_learns_the_rest() -> None:
    x, y = world(100, 1)
    first = fit("gp", x, y)
    more_x, more_y = world(200, 3)
    second = fit("gp", more_x, more_y, first)
    test_x, test_y = world(100, 2)
    assert nrmse(test_y, second.predict(test_x)[0]) < nrmse(test_y, first.predict(test_x)[0])
    assert (second.inner.kernel_.theta == first.inner.kernel_.theta).all()  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", MODELS)
def test_where_nothing_differs_the_answer_is_the_same_value(kind: str) -> None:
    x = np.ones((20, 6))
    said, _ = fit(kind, x, np.full(20, 7.0)).predict(np.ones((3, 6)))
    assert said == pytest.approx([7.0] * 3, abs=1e-3)


def test_an_isotonic_model_falls_as_readily_as_it_rises() -> None:
    x = np.arange(20.0)[:, None]
    said, sd = fit("isotonic", x, 100 - x[:, 0]).predict(x)
    assert said == pytest.approx(100 - x[:, 0]) and sd[0] < 1e-9


def test_nrmse_is_in_shares_of_the_range() -> None:
    assert nrmse(np.array([0.0, 10.0]), np.array([1.0, 9.0])) == pytest.approx(0.1)


def test_an_unknown_model_is_refused() -> None:
    with pytest.raises(SettingError, match=r"slack.estimator = 'forest': expected one of gp, linear, isotonic, svm"):
        fit("forest", np.ones((3, 1)), np.ones(3))


def test_the_library_is_loaded_by_fitting_and_by_nothing_else() -> None:
    code = "import sys, headway, headway.policy.slack, headway.cli.app; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
