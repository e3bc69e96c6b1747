"""What the bench takes in of Spark's reports."""

import pytest

from headway.errors import HeadwayError
from headway_lab.harness.bench import take_in


def reports(*batches: int) -> list[dict[str, int]]:
    return [{"batchId": batch} for batch in batches]


def test_reports_that_are_known_already_are_taken_once() -> None:
    known: dict[int, dict[str, int]] = {}
    take_in(reports(0, 1), known, "q")
    take_in(reports(1, 2), known, "q")
    take_in([], known, "q")
    assert sorted(known) == [0, 1, 2]


@pytest.mark.parametrize("known", [(), (0, 1)])
def test_a_gap_is_an_error_also_at_the_very_beginning(known: tuple[int, ...]) -> None:
    """Tuned Spark ran more batches than it was expected to, and its first windows counted as seven seconds late."""
    with pytest.raises(HeadwayError, match="reports of q are missing"):
        take_in(reports(7, 8), {batch: {"batchId": batch} for batch in known}, "q")
