import numpy as np
import pytest

from headway.errors import SettingError
from headway.model.ring import NEPTUNE, Ring, Rings, RingShape, no_load
from headway.model.time import WallMs
from model.fleets import NOW, SMALL, steady


def test_three_rings_of_thirty_windows_look_three_minutes_ahead() -> None:
    assert (NEPTUNE.count, NEPTUNE.size, NEPTUNE.span_ms) == (3, 90, 180_000)
    assert NEPTUNE.starts_ms[[0, 1, 29, 30, 31, 60, 89]].tolist() == [0, 1000, 29_000, 30_000, 32_000, 90_000, 177_000]
    assert NEPTUNE.widths_ms[[0, 29, 30, 60]].tolist() == [1000, 1000, 2000, 3000]


def test_rings_of_other_lengths_begin_where_the_inner_one_ends() -> None:
    shape = RingShape((1250, 1750), 2)
    assert shape.starts_ms.tolist() == [0, 1250, 2500, 4250] and shape.span_ms == 6000


@pytest.mark.parametrize(
    ("lengths", "windows", "key"), [((), 30, "lengths_ms"), ((1000, 0), 30, "lengths_ms"), ((1,), 0, "windows")]
)
def test_a_shape_without_windows_is_refused(lengths: tuple[int, ...], windows: int, key: str) -> None:
    with pytest.raises(SettingError, match=f"ring.{key}"):
        RingShape(lengths, windows)


def test_rings_are_equal_by_what_is_in_them() -> None:
    assert steady(1.0) == steady(1.0) and hash(steady(1.0)) == hash(steady(1.0))
    assert steady(1.0) != steady(2.0) and steady(1.0) != steady(1.0, at=WallMs(NOW + 1)) and steady(1.0) != "a ring"
    rows = np.ones((2, SMALL.size))
    assert Rings(SMALL, NOW, rows) == Rings(SMALL, NOW, rows.copy()) != Rings(SMALL, NOW, rows[:1])


def test_a_table_of_rings_has_a_ring_in_each_row() -> None:
    made = Rings(SMALL, NOW, np.array([[1.0] * SMALL.size, [2.0] * SMALL.size]))
    assert list(made) == [steady(1.0), steady(2.0)] and len(made) == 2


def test_values_of_another_shape_are_no_ring() -> None:
    with pytest.raises(ValueError, match="12 windows"):
        Ring(SMALL, NOW, np.zeros(3))
    with pytest.raises(ValueError, match="12 windows"):
        Rings(SMALL, NOW, np.zeros(12))


def test_a_node_on_which_nothing_runs_has_no_load() -> None:
    assert not no_load(SMALL, NOW).values.any() and no_load().shape == NEPTUNE
