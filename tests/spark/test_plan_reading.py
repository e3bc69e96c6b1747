"""What the plan of a query tells: windows, joins, limits, and the order in which sources are asked."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

import headway as hw
from headway.model.deadline import Grid
from headway.spark.plan import _sources, inspect, source_leaves

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def rt(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[hw.Runtime]:
    with hw.Runtime(spark, journal=tmp_path_factory.mktemp("journal") / "j.db") as made:
        yield made


def rows(rt: hw.Runtime, **options: str) -> Any:
    return rt.watermark(rt.spark.readStream.format("rate").options(**options).load(), "timestamp", "1 s")


def grids(frame: Any) -> set[Grid]:
    return set(inspect(frame).deadlines.grids)


@pytest.mark.core("windows are found in the query's plan")
def test_the_ends_of_tumbling_and_sliding_windows_are_found(rt: hw.Runtime) -> None:
    tumbling = F.window("timestamp", "3 seconds", startTime="700 milliseconds")
    assert grids(rows(rt).groupBy(tumbling).count()) == {Grid(3000, 700)}
    # Windows of 5 s that start at 1, 4, 7, ... end at 6, 9, 12, ...
    assert grids(rows(rt).groupBy(F.window("timestamp", "5 seconds", "3 seconds", "1 second")).count()) == {Grid(3000, 0)}


@pytest.mark.core("windows are found in the query's plan")
def test_all_windows_of_a_chain_are_found(rt: hw.Runtime) -> None:
    inner = rows(rt).groupBy(F.window("timestamp", "2 seconds")).count()
    outer = inner.groupBy(F.window(F.window_time("window"), "6 seconds")).count()
    assert grids(outer) == {Grid(2000), Grid(6000)}


@pytest.mark.core("windows are found in the query's plan")
def test_a_finer_window_over_another_ends_only_when_that_has_something_to_say(rt: hw.Runtime) -> None:
    inner = rows(rt).groupBy(F.window("timestamp", "5 seconds", "3 seconds")).count()
    outer = inner.groupBy(F.window(F.window_time("window"), "1 second")).count()
    assert grids(outer) == {Grid(3000, 2000)}
    shifted = inner.groupBy(F.window(F.window_time("window"), "1 second", "1 second", "300 milliseconds")).count()
    assert grids(shifted) == {Grid(3000, 2000), Grid(3000, 2300)}


@pytest.mark.core("windows are found in the query's plan")
def test_a_join_within_a_time_range_shifts_the_windows_above_it(rt: hw.Runtime) -> None:
    left = rows(rt).selectExpr("timestamp as a", "value as x")
    right = rows(rt).selectExpr("timestamp as b", "value as y")
    on = F.expr("x = y and b between a - interval 2 seconds and a + interval 1500 milliseconds")
    joined = left.join(right, on).groupBy(F.window("a", "3 seconds")).count()
    assert grids(joined) == {Grid(3000, 0), Grid(3000, 2000), Grid(3000, 1500)}
    assert len(inspect(joined).inputs) == 2


@pytest.mark.core("windows are found in the query's plan")
def test_a_query_without_windows_is_served_at_a_pace(rt: hw.Runtime) -> None:
    seen = inspect(rows(rt).where("value > 1"))
    assert not seen.found
    assert seen.deadlines.grids == (Grid(1000),)
    assert grids(rows(rt).groupBy(F.session_window("timestamp", "400 milliseconds")).count()) == {Grid(400)}


@pytest.mark.core("windows are found in the query's plan")
def test_a_source_that_hands_out_portions_is_recognised(rt: hw.Runtime, tmp_path: Path) -> None:
    def files(**options: str) -> Any:
        return rt.watermark(rt.spark.readStream.schema("ts timestamp").options(**options).json(str(tmp_path)), "ts", "1 s")

    assert inspect(files(maxFilesPerTrigger="1")).limited
    assert not inspect(files()).limited


def test_a_table_of_a_catalog_may_hand_out_portions_whatever_it_is_called(rt: hw.Runtime) -> None:
    frame = rt.spark.readStream.format("rate").load()
    (source,) = source_leaves(frame)
    assert not source.limited
    leaf = frame._jdf.queryExecution().analyzed().collectLeaves().apply(0)
    nothing = getattr(getattr(rt.spark._jvm.scala, "None$"), "MODULE$")
    # As Spark reads `readStream.table("kafka.sales.clicks")` of a catalog that somebody has called kafka.
    table = leaf.copy(nothing, "kafka.sales.clicks", *(leaf.productElement(n) for n in range(2, leaf.productArity())))
    (source,) = _sources(table.collectLeaves())
    assert source.limited


@pytest.mark.core("windows are found in the query's plan")
def test_the_gate_is_asked_first_only_up_to_four_sources(rt: hw.Runtime) -> None:
    frame = rows(rt)
    ordered = [inspect(frame).ordered]
    for _ in range(4):
        frame = frame.union(rows(rt))
        ordered.append(inspect(frame).ordered)
    # The control source counts as one: 2, 3, 4 sources keep their order, 5 and 6 do not.
    assert ordered == [True, True, True, False, False]


@pytest.mark.core("windows are found in the query's plan")
def test_a_stream_without_a_watermark_that_comes_first_is_asked_before_the_gate(rt: hw.Runtime) -> None:
    bare = rt.spark.readStream.format("rate").load()
    assert not inspect(bare.union(rows(rt))).ordered
    assert inspect(rows(rt).union(bare)).ordered
