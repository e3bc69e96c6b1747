"""The clock hands out half-open intervals that join without a gap, and it never runs backwards."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headway_lab.workloads import clock
from headway_lab.workloads.clock import ClockReader

T = 1_700_000_000_000


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The wall clock, in ms, in a list that a test can write."""
    now = [float(T)]
    monkeypatch.setattr(clock, "time", SimpleNamespace(time=lambda: now[0] / 1_000))
    yield now


def test_consecutive_reads_partition_time(wall: list[float]) -> None:
    reader = ClockReader(T - 1_000)
    offset, seen = reader.initialOffset(), []
    for moment in (T, T, T + 3, T - 500, T + 250):
        wall[0] = moment
        rows, offset = reader.read(offset)
        seen += list(rows)

    assert seen == [(T - 1_000, T), (T, T + 3), (T + 3, T + 250)]
    assert offset == {"ms": T + 250}


def test_before_the_epoch_nothing_arrives(wall: list[float]) -> None:
    reader = ClockReader(T + 60_000)

    rows, offset = reader.read(reader.initialOffset())

    assert (list(rows), offset) == ([], {"ms": T + 60_000})


def test_time_stands_still_from_the_end_on(wall: list[float]) -> None:
    reader = ClockReader(T - 1_000, end_ms=T - 400)

    rows, offset = reader.read(reader.initialOffset())
    assert (list(rows), offset) == ([(T - 1_000, T - 400)], {"ms": T - 400})
    rows, offset = reader.read(offset)
    assert (list(rows), offset) == ([], {"ms": T - 400})


def test_replayed_offsets_give_the_same_interval_whatever_the_time(wall: list[float]) -> None:
    reader = ClockReader(T)
    wall[0] = T + 99_999

    assert list(reader.readBetweenOffsets({"ms": T + 5}, {"ms": T + 9})) == [(T + 5, T + 9)]
    assert list(reader.readBetweenOffsets({"ms": T + 9}, {"ms": T + 9})) == []


def test_workers_need_not_be_able_to_import_headway() -> None:
    code = (
        "import sys; from pyspark import cloudpickle; from headway_lab.workloads import clock; "
        "cloudpickle.register_pickle_by_value(clock); "
        "sys.stdout.buffer.write(cloudpickle.dumps(clock.ClockSource))"
    )
    pickled = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout

    assert b"ClockReader" in pickled
    # The module's name is kept as a label, but nothing is to be imported from it.
    load = (
        "import sys, pickle; sys.modules['headway'] = sys.modules['headway_lab'] = None; "
        "source = pickle.loads(sys.stdin.buffer.read())({'epoch': '5'}); "
        "print(source.simpleStreamReader(None).initialOffset())"
    )
    loaded = subprocess.run([sys.executable, "-c", load], input=pickled, capture_output=True, check=True).stdout
    assert loaded.decode().strip() == "{'ms': 5}"


@pytest.mark.spark
def test_a_finite_clock_is_read_to_its_end_and_a_restart_finds_nothing_more(spark: Any, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []

    for _ in range(2):
        query = (
            clock.intervals(spark, T, T + 500)
            .writeStream.foreachBatch(lambda df, _: seen.extend((row.since, row.until) for row in df.collect()))
            .option("checkpointLocation", str(tmp_path))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()

    assert seen == [(T, T + 500)]
