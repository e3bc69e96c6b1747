"""Patience that adapts, on real Spark: exact where it promises that, counted where it does not, and kept over a restart."""

import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

import headway as hw
from headway.model.patience import PatiencePolicy
from headway.sim.delays import Delay, Uniform
from headway_lab.workloads.events import events
from headway_lab.workloads.ysb import Ysb
from spark.scripted import view_of, wait_until

pytestmark = pytest.mark.spark
WINDOW_MS = 1_000


def stream(seed: int, delay: Delay) -> Ysb:
    return Ysb(seed, 100, time.time_ns() // 1_000_000, delay, WINDOW_MS)


def rows(frame: Any) -> Any:
    window = F.window("event_time", f"{WINDOW_MS} milliseconds")
    return (
        frame.where("event_type = 'view'").groupBy(window).count().selectExpr("unix_millis(window.end) as e", "count as n")
    )


def truth(streams: list[Ysb], until_ms: int) -> dict[int, int]:
    total: dict[int, int] = {}
    for one in streams:
        for (end, _), count in one.truth(until_ms).items():
            total[end] = total.get(end, 0) + count
    return {end: n for end, n in total.items() if end <= until_ms}


def late_rows(rt: hw.Runtime) -> int:
    return sum(i.late for q in rt.status().queries for i in q.inputs)


@pytest.mark.parametrize(
    "policy", [hw.patience.SlackGate("2 s"), hw.patience.Deadline("8 s")], ids=["slack gate", "deadline"]
)
def test_sources_within_the_slack_are_merged_exactly(spark: Any, tmp_path: Path, policy: PatiencePolicy) -> None:
    name = f"merged_{type(policy).__name__}".lower()
    with hw.Runtime(spark, journal=tmp_path / "j.db") as rt:
        streams = [stream(1, Uniform(20, 20)), stream(2, Uniform(500, 500))]
        quick, slow = (rt.watermark(events(spark, s), "event_time", policy, arrival="arrival") for s in streams)
        query = rt.start(rows(quick.union(slow)).writeStream.format("memory"), name=name, checkpoint=str(tmp_path / "cp"))
        wait_until(lambda: spark.table(name).count() >= 4, "four windows", query)
        assert late_rows(rt) == 0
    got = {r.e: r.n for r in spark.table(name).collect()}
    assert got == truth(streams, max(got))


def test_a_quantile_comes_down_to_what_the_stream_needs(spark: Any, tmp_path: Path) -> None:
    with hw.Runtime(spark, journal=tmp_path / "j.db") as rt:
        one = stream(3, Uniform(0, 200))
        marked = rt.watermark(events(spark, one), "event_time", hw.patience.Quantile(0.9, start="2 s"), arrival="arrival")
        query = rt.start(rows(marked).writeStream.format("memory"), name="quantile", checkpoint=str(tmp_path / "cp"))
        wait_until(lambda: spark.table("quantile").count() >= 4, "four windows", query)
        assert 100 <= view_of(rt, "quantile").patience_ms < 1_000
        late = late_rows(rt)
    got = {r.e: r.n for r in spark.table("quantile").collect()}
    missing = sum(n - got.get(end, 0) for end, n in truth([one], max(got)).items())
    assert 0 <= missing <= late


def test_another_patience_goes_on_where_the_checkpoint_is(spark: Any, tmp_path: Path) -> None:
    one = stream(4, Uniform(0, 200))
    out = str(tmp_path / "out")
    ends: list[Any] = []

    def written() -> list[Any]:
        there = Path(out, "_spark_metadata").is_dir()
        return spark.read.schema("e long, n long").parquet(out).collect() if there else []

    for policy in (hw.patience.Fixed("300 ms"), hw.patience.MaxDelay(), hw.patience.Fixed("400 ms")):
        with hw.Runtime(spark, journal=tmp_path / "j.db") as rt:
            marked = rt.watermark(events(spark, one), "event_time", policy, arrival="arrival")
            writer = rows(marked).writeStream.format("parquet").option("path", out)
            query = rt.start(writer, name="exchanged", checkpoint=str(tmp_path / "cp"))
            enough = len(ends) + 2
            wait_until(lambda n=enough: len(written()) >= n, "two windows more", query)
        ends = [r.e for r in written()]
    assert len(ends) == len(set(ends)), "nothing twice"
    got = {r.e: r.n for r in written()}
    assert got == truth([one], max(got))
