"""The validator is content with the truth, and with nothing else."""

from functools import cache
from typing import Any

import pytest

from headway_lab.workloads.feed import Feed
from headway_lab.workloads.linear_road.validate import KEYS, SAYS, TRUTHS, Output, count, differences
from lab.workloads.linear_road.roads import EPOCH, MINUTE_MS, crowded_road

every_output = pytest.mark.parametrize("output", list(KEYS))


@cache
def road() -> Feed:
    return crowded_road()


def true_rows(output: Output) -> list[dict[str, Any]]:
    names = [name.split()[-1] for name in (*KEYS[output], *SAYS[output])]
    return [dict(zip(names, (*key, *says), strict=True)) for key, says in TRUTHS[output](road(), MINUTE_MS).items()]


def found(output: Output, rows: list[dict[str, Any]], **more: Any) -> dict[str, int]:
    return dict(count(differences(output, rows, road(), MINUTE_MS, **more)))


@every_output
def test_the_truth_has_no_differences_in_whatever_order(output: Output) -> None:
    rows = true_rows(output)

    assert len(rows) > 40
    assert found(output, rows[::-1]) == {}


@every_output
def test_a_row_that_is_lost_doubled_or_altered_is_told(output: Output) -> None:
    first, *rest = true_rows(output)
    changed = SAYS[output][-1]
    altered = first | {changed: (1, 2, 3) if changed == "vids" else first[changed] + 1}

    assert found(output, rest) == {"missing": 1}
    assert found(output, [first, first, *rest]) == {"twice": 1}
    assert found(output, [altered, *rest]) == {"wrong": 1}
    assert found(output, [first, altered, *rest]) == {"wrong": 1}
    assert found(output, [first, *rest, first | {"xway": 7, "vid": -7}]) == {"unexpected": 1}


def test_a_difference_shows_what_came_and_what_should_have() -> None:
    first, *rest = true_rows("statistics")
    (difference,) = differences("statistics", [first | {"cars": 0}, *rest], road(), MINUTE_MS)

    assert difference.got == ((first["speed"], 0),)
    assert difference.want == (first["speed"], first["cars"])


@every_output
def test_what_a_run_had_no_time_for_is_not_missed_but_must_be_right(output: Output) -> None:
    rows = true_rows(output)
    time = KEYS[output][0].split()[-1]
    until = sorted(row[time] for row in rows)[len(rows) // 2]
    early = [row for row in rows if row[time] <= until]

    assert found(output, early, until_ms=until) == {}
    assert found(output, [], until_ms=EPOCH - 60_000) == {}
    assert found(output, [*rows[:-1], rows[-1] | {SAYS[output][0]: -1}], until_ms=EPOCH) == {"wrong": 1}


def test_the_last_digits_of_an_average_do_not_matter() -> None:
    assert found("statistics", [row | {"speed": row["speed"] * (1 + 1e-12)} for row in true_rows("statistics")]) == {}
