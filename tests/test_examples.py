"""The examples do what they say."""

from pathlib import Path
from typing import Any

import pytest

import headway as hw
from headway import pipeline

CAMPAIGNS = Path(__file__).parent.parent / "examples/campaigns.py"


@pytest.mark.spark
def test_the_campaigns_come_out_window_by_window(spark: Any, tmp_path: Path) -> None:
    rt = hw.Runtime(spark, journal=tmp_path / "journal.db")
    try:
        for found in pipeline.load(CAMPAIGNS):
            rt.start(found.build(rt, spark), name=found.name, checkpoint=str(tmp_path / found.name))
        table = spark.table("games_by_the_second")
        while table.select("window").distinct().count() < 2:
            for query in spark.streams.active:
                assert query.exception() is None
    finally:
        rt.stop()
