"""Klink itself on live streams: every count exact, nothing late, whatever the shape of the query."""

import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

import headway as hw
from headway.model.declared import order_declares
from headway.policy.load import KINDS, order_policy
from headway.sim.delays import Uniform
from headway_lab.workloads.events import events
from headway_lab.workloads.ysb import Ysb
from spark.scripted import view_of, wait_until

pytestmark = pytest.mark.spark

WINDOW_MS = 2_000


def stream(seed: int, rate: int = 100, offset_ms: int = 0) -> Ysb:
    return Ysb(seed, rate, int(time.time() * 1000), Uniform(0, 300), WINDOW_MS, offset_ms)


def views(frame: Any) -> Any:
    window = F.window("event_time", f"{WINDOW_MS} milliseconds")
    grouped = frame.where("event_type = 'view'").groupBy(window).count()
    return grouped.selectExpr("unix_millis(window.end) as e", "count as n")


def per_window(streams: list[Ysb], until_ms: int) -> dict[int, int]:
    total: dict[int, int] = {}
    for one in streams:
        for (end, _), count in one.truth(until_ms).items():
            total[end] = total.get(end, 0) + count
    return total


def late_rows(rt: hw.Runtime) -> int:
    return sum(i.late for q in rt.status().queries for i in q.inputs)


def test_six_sources_lose_no_row_though_spark_may_ask_them_before_the_gate(spark: Any, tmp_path: Path) -> None:
    with hw.Runtime(spark, journal=tmp_path / "j.db") as rt:
        streams = [stream(seed) for seed in range(5)]
        frames = [rt.watermark(events(spark, s), "event_time", "300 ms", arrival="arrival") for s in streams]
        union = frames[0].union(frames[1]).union(frames[2]).union(frames[3]).union(frames[4])
        query = rt.start(views(union).writeStream.format("memory"), name="six", checkpoint=str(tmp_path / "cp"))
        assert not view_of(rt, "six").ahead
        wait_until(lambda: spark.table("six").count() >= 4, "four windows", query)
        late = late_rows(rt)
    got = {r.e: r.n for r in spark.table("six").collect()}
    true = per_window(streams, max(got))
    assert got == {end: n for end, n in true.items() if end <= max(got)}
    assert late == 0


def test_two_inputs_of_different_delay_are_joined_under_one_grant(spark: Any, tmp_path: Path) -> None:
    with hw.Runtime(spark, journal=tmp_path / "j.db") as rt:
        quick, slow = stream(1, 20), stream(2, 20)
        left, right = (
            rt.watermark(events(spark, s), "event_time", patience, arrival="arrival", name=name).selectExpr(
                f"event_time as {name}_at", f"ad_id as {name}_ad"
            )
            for s, patience, name in ((quick, "300 ms", "quick"), (slow, "900 ms", "slow"))
        )
        on = F.expr("quick_ad = slow_ad and slow_at between quick_at - interval 1 second and quick_at + interval 1 second")
        joined = left.join(right, on)
        query = rt.start(joined.writeStream.format("memory"), name="joined", checkpoint=str(tmp_path / "cp"))
        wait_until(lambda: spark.table("joined").count() >= 3, "three pairs", query)
        view = view_of(rt, "joined")
        assert view.patience_ms == 900
        assert {i.name for i in view.inputs} == {"quick", "slow"}
        assert late_rows(rt) == 0


@pytest.mark.parametrize("kind", sorted(KINDS["order"]))
def test_every_policy_counts_exactly(spark: Any, tmp_path: Path, kind: str) -> None:
    with hw.Runtime(spark, order_policy(kind), journal=tmp_path / "j.db") as rt:
        streams = [stream(7, offset_ms=0), stream(8, offset_ms=700)]
        queries = []
        for i, one in enumerate(streams):
            arrival: dict[str, Any] = {"arrival": "arrival"} if order_declares(rt.order).gated else {}
            frame = one.counts(rt.watermark(events(spark, one), "event_time", "300 ms", **arrival))
            name = f"exact_{kind.replace('-', '_')}_{i}"
            queries.append(rt.start(frame.writeStream.format("memory"), name=name, checkpoint=str(tmp_path / name)))

        def ends(name: str) -> int:
            return int(spark.table(name).select("window").distinct().count())

        for query in queries:
            wait_until(lambda q=query: ends(q.name) >= 2, "two windows", query)
        names = [q.name for q in queries]
    assert len(names) == 2
    for name, one in zip(names, streams, strict=True):
        rows = spark.table(name).selectExpr("unix_millis(window.end)", "campaign_id", "count").collect()
        assert rows
        assert one.wrong({(end, campaign): count for end, campaign, count in rows}) == {}
