"""Growth over a long run, worked out by hand."""

from dataclasses import replace
from typing import Any

from headway_lab.experiments.soak.run import backlog_growth, heap_growth
from headway_lab.harness.bench import Run
from headway_lab.harness.setting import Setting

SETTING = Setting(queries=2, rate=100, seconds=60)


def minutes(backlog: list[int], heap: list[float]) -> list[Run]:
    empty: Any = Run("klink", SETTING, 1, [], [], 0, 0, 0, 0, 0, 0.0, 0.0, 0.0)
    return [
        replace(empty, backlog=n, heap_mb=mb, since_ms=60_000 * i)
        for i, (n, mb) in enumerate(zip(backlog, heap, strict=True))
    ]


def test_a_backlog_has_grown_by_what_waits_at_the_end_and_did_not_after_the_first_minute() -> None:
    assert backlog_growth(minutes([90_000, 500, 700, 500], [1] * 4)) == 0
    assert backlog_growth(minutes([0, 500, 1_500], [1] * 3)) == 1_000
    assert backlog_growth(minutes([0, 1_500, 500], [1] * 3)) == -1_000, "it caught up"


def test_memory_is_compared_third_by_third_and_the_first_does_not_count() -> None:
    assert heap_growth(minutes([0] * 6, [10, 20, 100, 100, 100, 100])) == 1.0
    assert heap_growth(minutes([0] * 6, [10, 20, 100, 100, 150, 150])) == 1.5
