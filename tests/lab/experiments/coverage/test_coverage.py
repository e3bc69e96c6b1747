"""How often the next delay falls into the interval: few draws, fixed seeds."""

import numpy as np
import pytest

from headway.errors import SettingError
from headway_lab.experiments.coverage.run import cover, line


def test_the_predictive_interval_is_honest_and_the_printed_one_is_not() -> None:
    hits = {(c.predictor, c.confidence): c.hit for c in cover("uniform:0:500", seed=1, epochs=120, rows=100)}
    assert hits["predictive", 0.95] > 0.88
    assert hits["predictive", 0.95] >= hits["predictive", 0.90]
    assert hits["paper", 0.95] < 0.3 and hits["regression", 0.95] < 0.5


def test_the_same_seed_gives_the_same_coverage() -> None:
    first, second = (list(cover("zipf:0.99:500", seed=3, epochs=30, rows=50)) for _ in range(2))
    assert first == second and {c.epochs for c in first} == {10}


def test_a_line_is_followed_exactly() -> None:
    expected, spread = line(np.array([10.0, 12.0, 14.0, 16.0]))
    assert expected == pytest.approx(18) and spread == pytest.approx(0, abs=1e-9)


def test_too_few_epochs_are_refused() -> None:
    with pytest.raises(SettingError, match="more than the 20"):
        list(cover("uniform:0:500", seed=1, epochs=20))
