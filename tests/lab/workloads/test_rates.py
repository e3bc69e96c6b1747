"""Real series, where they are at hand."""

import numpy as np
import pytest

from headway_lab.workloads import data
from headway_lab.workloads.rates import RateSeries, all_series

needs_data = pytest.mark.skipif(
    data.folder() is None or not (data.folder() / "rates").is_dir(),  # type: ignore[operator]
    reason="needs the folder with real series of rates: point HEADWAY_DATA at it",
)


@needs_data
@pytest.mark.slow
def test_every_series_is_read_and_none_has_a_hole() -> None:
    dense, sparse = all_series()
    assert {one.family for one in dense} == {
        "tweets by language", "machines", "NAB", "NAB, synthetic", "tweets per second", "page views by wiki",
    }  # fmt: skip
    assert all(np.isfinite(one.values).all() and one.step_ms > 0 for one in [*dense, *sparse]) and len(dense) > 100
    assert len({(one.family, one.name) for one in dense}) == len(dense)


def test_a_series_of_empty_steps_has_no_rate() -> None:
    busy, empty = np.ones(600), np.concatenate([np.ones(200), np.zeros(400)])
    made = [RateSeries("made", "made", 1000, values) for values in (busy, empty, busy[:599])]
    assert [one.dense for one in made] == [True, False, False]
