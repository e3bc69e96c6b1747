"""The session's settings: each with a reason, for small batches and for large ones."""

from pathlib import Path
from typing import Any

import pytest

import headway as hw
from headway.spark.profile import CODE_PAYS_ROWS, INTERPRETED, TUNED, Profile


class Builder:
    """Takes settings down, as Spark's own builder does."""

    def __init__(self, **options: str) -> None:
        self._options = options

    def config(self, key: str, value: str) -> "Builder":
        return Builder(**self._options | {key: value})


def test_small_batches_are_interpreted_and_large_ones_compiled() -> None:
    assert Profile(CODE_PAYS_ROWS - 1).settings == TUNED | INTERPRETED
    assert Profile(CODE_PAYS_ROWS).settings == TUNED


@pytest.mark.parametrize("rows", [0, -1, "many", True, 1.5])
def test_a_number_of_rows_that_is_none_is_refused_in_one_line(rows: Any) -> None:
    with pytest.raises(hw.SettingError, match="rows_per_batch"):
        hw.tune(Builder(), rows_per_batch=rows)


def test_every_setting_is_on_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "session.md").read_text()
    assert [key for key in TUNED | INTERPRETED if f"`{key}`" not in page] == []
