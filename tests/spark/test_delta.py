"""Delta Lake by coordinates, for the Spark that is there."""

import pytest

import headway as hw
from headway.spark import delta


def test_a_spark_on_which_delta_was_not_tried_is_named_in_one_line() -> None:
    with pytest.raises(hw.SettingError) as error:
        delta.bundle("4.3.0")
    want = "Spark 4.2, with which Delta Lake 4.4.0 was tried, and not 4.3.0 (docs/tables.md)"
    assert str(error.value) == f"delta = True: expected {want}"


def test_every_part_is_named_for_the_spark_that_is_there() -> None:
    made = delta.bundle("4.2.1")
    assert made.coordinates[0] == "io.delta:delta-spark_4.2_2.13:4.4.0" and len(made.coordinates) == 5
