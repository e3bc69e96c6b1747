"""`rt.start(writer, table=...)`: results go into a table by its name, as with `toTable`."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

import headway as hw

pytestmark = pytest.mark.spark


def counts(rt: hw.Runtime, folder: Path) -> Any:
    """Rows of seven seconds, one a second, for two keys, in windows of three."""
    (folder / "rows").mkdir(exist_ok=True)
    rows = [{"ts": f"2026-01-01T00:00:0{n}Z", "k": n % 2} for n in range(8)]
    (folder / "rows" / "0.json").write_text("\n".join(map(json.dumps, rows)))
    marked = rt.watermark(rt.spark.readStream.schema("ts timestamp, k int").json(str(folder / "rows")), "ts", "500 ms")
    windows = marked.groupBy(F.window("ts", "3 seconds"), "k").count()
    out = windows.selectExpr("unix_millis(window.end) - 1767225600000 as e", "k", "count as n")
    # A place of its own: else Spark makes a warehouse in the current folder.
    return out.writeStream.format("parquet").option("path", str(folder / "table")).trigger(availableNow=True)


@pytest.mark.parametrize("order", [hw.order.Klink(), hw.order.Stock()], ids=lambda o: type(o).__name__)
def test_results_go_into_a_table_by_its_name(spark: Any, tmp_path: Path, order: Any) -> None:
    table = f"headway_{type(order).__name__}"
    with hw.Runtime(spark, order, journal=tmp_path / "journal.db") as rt:
        writer = counts(rt, tmp_path)
        query = rt.start(writer, name="to-table", checkpoint=str(tmp_path / "checkpoint"), table=table)
        query.awaitTermination(120)
    try:
        found = sorted(tuple(row) for row in spark.table(table).collect())
        assert found == [(3000, 0, 2), (3000, 1, 1), (6000, 0, 1), (6000, 1, 2)]
    finally:
        spark.sql(f"drop table if exists {table}")


def test_a_table_needs_a_checkpoint_as_in_spark_and_the_name_is_free_again(spark: Any, tmp_path: Path) -> None:
    with hw.Runtime(spark, journal=tmp_path / "journal.db") as rt:
        writer = counts(rt, tmp_path)
        try:
            with pytest.raises(AnalysisException, match="checkpointLocation"):
                rt.start(writer, name="to-table", table="headway_nowhere")
            query = rt.start(writer, name="to-table", checkpoint=str(tmp_path / "checkpoint"), table="headway_nowhere")
            query.awaitTermination(120)
            assert spark.table("headway_nowhere").count() == 4
        finally:
            spark.sql("drop table if exists headway_nowhere")


@pytest.mark.parametrize("table", ["", " ", 7])
def test_what_is_no_name_is_refused_in_one_line(spark: Any, tmp_path: Path, table: Any) -> None:
    with hw.Runtime(spark, journal=tmp_path / "journal.db") as rt, pytest.raises(hw.SettingError, match="table = "):
        rt.start(counts(rt, tmp_path), name="to-table", checkpoint=str(tmp_path / "checkpoint"), table=table)
