"""Delays and gaps are those of the thesis, at any rate."""

import numpy as np
import pytest

from headway.errors import SettingError
from headway_lab.workloads.approximate import SETTINGS, WORKLOADS, question, setting_named
from headway_lab.workloads.approximate.settings import gamma_gaps, stream

EPOCH = 1_700_000_000_000


@pytest.mark.parametrize(
    ("name", "mean", "longest"), [("CC", 150, 150), ("GG", 240, 355), ("EC", 240, 1_830), ("EG", 240, 1_830)]
)
def test_delays_have_the_mean_of_the_thesis(name: str, mean: float, longest: int) -> None:
    event_ms, arrival_ms = stream(setting_named(name), 2_000, seed=1, epoch_ms=EPOCH).sample(EPOCH + 10_000)
    assert (arrival_ms - event_ms).mean() == pytest.approx(mean, rel=0.02)
    assert setting_named(name).delay.max_ms == longest


def test_gamma_gaps_have_the_mean_and_the_spread_of_gamma_2_and_a_half() -> None:
    gaps = np.diff([*gamma_gaps(1), 1_024_000]) / 1_000
    assert len(gaps) == 1_024 and (gaps >= 0).all() and gamma_gaps(1)[0] == 0
    assert gaps.mean() == pytest.approx(1) and gaps.var() == pytest.approx(0.5, rel=0.02)
    # No order in them: neighbours are not alike.
    assert abs(np.corrcoef(gaps[1:], gaps[:-1])[0, 1]) < 0.1
    assert gamma_gaps(2) != gamma_gaps(1) and sorted(np.diff(gamma_gaps(2))) != sorted(range(1_023))


@pytest.mark.parametrize("name", SETTINGS)
def test_the_rate_is_kept_whatever_the_gaps(name: str) -> None:
    work = stream(setting_named(name), 5_000, seed=3, epoch_ms=EPOCH)
    assert len(work.sample(EPOCH + 20_480)[0]) == 5_000 * 20_480 // 1_000  # a hundred blocks
    assert bool(work.gaps) == name.endswith("G")


def test_names_that_nobody_knows_are_refused() -> None:
    with pytest.raises(SettingError, match="settings = 'UU': expected one of CC, GG, EC, EG"):
        setting_named("UU")
    with pytest.raises(SettingError, match="workloads = 'yahoo': expected one of ysb, taxi, kmeans"):
        question("yahoo", "EG", 5_000, 3, 1, EPOCH)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_windows_end_on_their_grid_within_the_stretch(workload: str) -> None:
    asked = question(workload, "EG", 1_000, 6, 1, EPOCH)
    ends = asked.ends_ms(EPOCH + 1, EPOCH + 12_000)
    assert ends[-1] <= EPOCH + 12_000 and ends[0] > EPOCH + 1
    assert all(end % asked.slide_ms == 0 for end in ends) and np.diff(ends).tolist() == [asked.slide_ms] * (len(ends) - 1)
    assert (asked.slide_ms, asked.size_ms) == ((3_000, 6_000) if workload in ("taxi", "boroughs") else (6_000, 6_000))
