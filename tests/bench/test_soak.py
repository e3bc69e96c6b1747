"""Growth over a long run, worked out by hand."""

from dataclasses import replace
from typing import Any

from headway.bench.experiment import Run, Setting
from headway.bench.soak import backlog_growth, heap_growth

SETTING = Setting(queries=2, rate=100, seconds=60)


def minutes(rows: list[int], heap: list[float]) -> list[Run]:
    empty: Any = Run("klink", SETTING, 1, [], [], 0, 0, 0, 0, 0, 0.0, 0.0, 0.0)
    return [
        replace(empty, rows=n, heap_mb=mb, since_ms=60_000 * i) for i, (n, mb) in enumerate(zip(rows, heap, strict=True))
    ]


def test_a_backlog_is_what_came_and_was_not_read_after_the_first_minute() -> None:
    assert backlog_growth(minutes([5_000, 12_000, 12_000], [1, 1, 1])) == 0
    assert backlog_growth(minutes([12_000, 12_000, 11_000], [1, 1, 1])) == 1_000
    assert backlog_growth(minutes([0, 13_000, 12_000], [1, 1, 1])) == -1_000, "it caught up"


def test_memory_is_compared_third_by_third_and_the_first_does_not_count() -> None:
    assert heap_growth(minutes([0] * 6, [10, 20, 100, 100, 100, 100])) == 1.0
    assert heap_growth(minutes([0] * 6, [10, 20, 100, 100, 150, 150])) == 1.5
