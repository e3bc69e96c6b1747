"""The demo on real Spark, made small."""

from pathlib import Path
from typing import Any

import pytest

from headway_lab.commands import demo
from headway_lab.harness.bench import Bench
from headway_lab.harness.setting import Setting
from headway_lab.harness.suite import Segment


@pytest.mark.spark
def test_a_small_demo_measures_and_reports(spark: Any, tmp_path: Path) -> None:
    setting = Setting(queries=2, rate=50, seconds=6, settle=3)
    runs = demo._measure(Bench(spark), [Segment((policy,), setting, 1) for policy in demo.POLICIES])
    assert [run["policy"] for run in runs] == ["stock-tuned", "klink"]
    assert all(len(run["due_ms"]) == len(run["latencies_ms"]) == run["windows"] for run in runs)
    assert all(run["wrong"] == run["late_rows"] == 0 and run["windows"] >= 4 for run in runs)
    demo._show(runs, setting, tmp_path / "report")
    assert "Headway demo" in (tmp_path / "report" / "index.html").read_text()
