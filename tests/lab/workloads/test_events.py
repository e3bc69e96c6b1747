"""The source of ad events makes the very events that SQL makes, column for column."""

from pathlib import Path
from typing import Any

import pytest

from headway.sim.delays import Constant, Delay, Uniform, Zipf
from headway_lab import jvm
from headway_lab.workloads.approximate.settings import gamma_gaps
from headway_lab.workloads.events import events
from headway_lab.workloads.ysb import Ysb

EPOCH = 1_700_000_000_123
END = EPOCH + 4_000
pytestmark = pytest.mark.spark


def streamed(spark: Any, rows: Any, place: Path) -> list[tuple[Any, ...]]:
    name = f"events_{abs(hash(str(place)))}"
    query = rows.writeStream.format("memory").queryName(name).option("checkpointLocation", str(place)).start()
    query.processAllAvailable()
    query.stop()
    return sorted(tuple(row) for row in spark.table(name).collect())


@pytest.mark.parametrize("rate", [1, 7, 700])
@pytest.mark.parametrize("delay", [Constant(0), Uniform(0, 500), Zipf()], ids=["none", "uniform", "zipf"])
def test_they_are_the_events_of_the_sql(spark: Any, tmp_path: Path, rate: int, delay: Delay) -> None:
    work = Ysb(seed=-7, rate=rate, epoch_ms=EPOCH, delay=delay)
    intervals = spark.createDataFrame([(EPOCH, END)], "since long, until long")
    made = streamed(spark, events(spark, work, END), tmp_path)
    assert made == sorted(tuple(row) for row in work.expand(intervals).collect()) != []


@pytest.mark.parametrize("rate", [1, 7, 700])
@pytest.mark.parametrize("gaps", [(0, 0, 0, 2_500, 2_600, 5_999), gamma_gaps(1)], ids=["six", "gamma"])
def test_they_are_spaced_by_the_table_of_gaps(spark: Any, tmp_path: Path, rate: int, gaps: tuple[int, ...]) -> None:
    work = Ysb(seed=-7, rate=rate, epoch_ms=EPOCH, delay=Uniform(0, 500), gaps=gaps)
    intervals = spark.createDataFrame([(EPOCH, END)], "since long, until long")
    made = streamed(spark, events(spark, work, END), tmp_path)
    assert made == sorted(tuple(row) for row in work.expand(intervals).collect())
    event_ms, arrival_ms = work.sample(END)
    inside = arrival_ms < END
    known = sorted(zip(event_ms[inside].tolist(), arrival_ms[inside].tolist(), strict=True))
    assert sorted((round(row[0].timestamp() * 1_000), round(row[1].timestamp() * 1_000)) for row in made) == known


def test_without_the_jar_sql_makes_them(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = Ysb(seed=3, rate=50, epoch_ms=EPOCH, delay=Uniform(0, 500))
    with_jar = streamed(spark, events(spark, work, END), tmp_path / "a")
    monkeypatch.setattr(jvm, "present", lambda _: False)
    assert streamed(spark, events(spark, work, END), tmp_path / "b") == with_jar


def test_any_choice_of_columns_is_read_in_its_own_order(spark: Any, tmp_path: Path) -> None:
    work = Ysb(seed=3, rate=50, epoch_ms=EPOCH, delay=Uniform(0, 500))
    whole = streamed(spark, events(spark, work, END), tmp_path / "a")
    some = streamed(spark, events(spark, work, END).select("ad_id", "arrival"), tmp_path / "b")
    assert some == sorted((row[4], row[1]) for row in whole)
