"""The filters pass what they should, shift nothing, and are exact."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import SettingError
from headway_lab.workloads.bio.ecg.design import QrsDesign, band, integral, moving_sum, slopes
from headway_lab.workloads.hashing import Longs

DESIGN = QrsDesign(360)
signals = st.lists(st.integers(-2_048, 2_047), min_size=150, max_size=400).map(lambda x: np.array(x, dtype=np.int64))


def gain(hz: float, design: QrsDesign = DESIGN) -> float:
    """How much of a sine is left, compared with one in the middle of the band."""

    def left(at_hz: float) -> float:
        wave = np.rint(10_000 * np.sin(2 * np.pi * at_hz * np.arange(20 * design.fs) / design.fs)).astype(np.int64)
        return float(np.std(band(wave, design)))

    return float(left(hz) / (2 * design.half_base + 1) / (10_000 / np.sqrt(2)))


@pytest.mark.parametrize("fs", [200, 250, 360, 500])
def test_the_band_is_five_to_fifteen_hertz_at_any_rate(fs: int) -> None:
    design = QrsDesign(fs)
    assert gain(9, design) > 0.75
    assert gain(5, design) == pytest.approx(0.71, abs=0.15) and gain(15, design) == pytest.approx(0.71, abs=0.15)
    assert gain(0.5, design) < 0.05 and gain(1, design) < 0.1
    assert gain(40, design) < 0.12


@given(x=signals, constant=st.integers(-10_000, 10_000))
def test_a_constant_changes_nothing(x: Longs, constant: int) -> None:
    assert (band(x + constant, DESIGN) == band(x, DESIGN)).all()


@given(x=signals, part_way=st.floats(0, 1, exclude_max=True))
def test_a_value_depends_only_on_the_samples_around_it(x: Longs, part_way: float) -> None:
    cut = int(part_way * max(1, len(x) - 2 * DESIGN.margin))  # so much is left that some value is
    whole = integral(slopes(band(x, DESIGN), DESIGN), DESIGN)
    part = integral(slopes(band(x[cut:], DESIGN), DESIGN), DESIGN)
    assert len(whole) == len(x) - 2 * DESIGN.margin
    assert (whole[cut:] == part).all()


def test_a_symmetric_complex_has_its_greatest_integral_at_its_middle() -> None:
    x = np.zeros(801, dtype=np.int64)
    x[396:405] = [10, 40, 90, 160, 200, 160, 90, 40, 10]
    energy = integral(slopes(band(x, DESIGN), DESIGN), DESIGN)
    top = np.flatnonzero(energy == energy.max()) + DESIGN.margin
    assert top.mean() == pytest.approx(400, abs=1)


@given(x=signals, width=st.integers(1, 100))
def test_a_moving_sum_is_the_sum_of_each_window(x: Longs, width: int) -> None:
    assert moving_sum(x, width).tolist() == np.lib.stride_tricks.sliding_window_view(x, width).sum(axis=1).tolist()


def test_what_cannot_be_is_refused_by_name() -> None:
    with pytest.raises(SettingError, match=r"ecg\.fs = 50: expected 100 samples a second or more"):
        QrsDesign(50)
    with pytest.raises(SettingError, match=r"ecg\.low_hz = 15: expected more than 0 and less than high_hz = 15"):
        QrsDesign(360, low_hz=15)
