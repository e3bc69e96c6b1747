"""When the demo's windows fell due, and the demo itself on real Spark."""

from pathlib import Path
from typing import Any

import pytest

from headway.bench.experiment import Bench, Setting
from headway.bench.suite import Segment
from headway.cli import demo

SETTING = Setting(queries=3, patience_ms=500, window_ms=3_000)


def test_each_query_has_a_window_every_three_seconds_in_the_order_of_the_latencies() -> None:
    due = demo.due_times(SETTING, seed=1, since_ms=1_000_000, until_ms=1_009_000)
    assert len(due) == 9 and all(0 <= at < 9_000 for at in due)
    for query in range(3):
        first, second, third = due[3 * query : 3 * query + 3]
        assert (second - first, third - second) == (3_000, 3_000)


@pytest.mark.spark
def test_a_small_demo_measures_and_reports(spark: Any, tmp_path: Path) -> None:
    setting = Setting(queries=2, rate=50, seconds=6, settle=3)
    tuned = Bench(spark, sessions={True: spark})  # the tests' session is tuned and knows the clock already
    runs = demo._measure(tuned, [Segment((policy,), setting, 1) for policy in demo.POLICIES])
    assert [run["policy"] for run in runs] == ["stock-tuned", "klink"]
    assert all(run["wrong"] == run["late_rows"] == 0 and run["windows"] >= 4 for run in runs)
    demo._show(runs, setting, tmp_path / "report")
    assert "Headway demo" in (tmp_path / "report" / "index.html").read_text()
