"""The ordered merge on Spark: order, lateness, restarts, and the state that is left."""

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

import headway as hw
from headway.spark.merge_order import Bucket
from headway_lab.experiments.merge.run import (
    OUTPUT,
    DrivenQuery,
    in_order,
    interleaving,
    merged,
    number,
    sequences,
    stamp,
    streams,
    truth,
)
from spark.scripted import Stage, wait_until

pytestmark = pytest.mark.spark
INTERLEAVINGS = 3


@pytest.mark.core("streams in the order of their time: rt.merge")
def test_all_interleavings_of_the_same_rows_give_the_same_sequences(spark: Any, tmp_path: Path) -> None:
    data = streams(seed=0)
    found = [sequences(spark, tmp_path / str(seed), seed, batches=3) for seed in range(INTERLEAVINGS)]
    assert all(other == found[0] for other in found[1:])
    assert {key: [v for _, _, v, *_ in rows] for key, rows in found[0].items()} == truth(data)
    assert all(n == i + 1 and not late for rows in found[0].values() for i, (n, _, _, _, late, _) in enumerate(rows))


def test_a_query_that_is_stopped_in_the_middle_goes_on_as_if_it_had_not_been(spark: Any, tmp_path: Path) -> None:
    data = streams(seed=0)
    batches = list(interleaving(data, seed=5, batches=3))
    for part in (batches[:2], batches[2:]):
        driven = DrivenQuery(spark, tmp_path, len(data))
        driven.start(merged(driven), "stopped")
        driven.run(part)
        driven.stop()
    rows = in_order(driven.results())
    assert {key: [v for _, _, v, *_ in mine] for key, mine in rows.items()} == truth(data)
    assert all(n == i + 1 and not late for mine in rows.values() for i, (n, _, _, _, late, _) in enumerate(mine))
    assert held(spark, tmp_path / "checkpoint") == {}


def test_a_late_row_comes_at_once_with_the_watermark_that_had_passed_it(spark: Any, tmp_path: Path) -> None:
    driven = DrivenQuery(spark, tmp_path, 2)
    driven.start(merged(driven), "late")
    driven.run([([[(1_000, 1, 1), (7_000, 1, 2)], [(2_000, 1, 3)]], 5_000), ([[], []], 6_000)])
    # Key 1 has a row that waits; key 9 was never seen, and late is late all the same.
    driven.run([([[(3_000, 1, 4)], [(1_500, 1, 5), (4_000, 9, 6), (6_500, 1, 7)]], 8_000), ([[], []], 9_000)])
    driven.stop()
    rows = in_order(driven.results())
    assert [(v, late) for _, _, v, _, late, _ in rows[1]] == [
        (1, False),
        (3, False),
        (5, True),
        (4, True),
        (7, False),
        (2, False),
    ]
    assert [(v, late, passed[:19]) for _, _, v, _, late, passed in rows[9]] == [(6, True, "1970-01-01T00:00:05")]
    assert held(spark, tmp_path / "checkpoint") == {}


def test_rows_keep_whole_numbers_and_nothing_and_a_stream_may_lack_a_column(spark: Any, tmp_path: Path) -> None:
    driven = DrivenQuery(spark, tmp_path, 2)
    bus = driven.raw[0].select(
        "ts", "k", F.lit(None).cast("string").alias("name"), F.col("v").alias("line"), F.array("v").alias("stops")
    )
    road = driven.raw[1].select("ts", "k", F.lit("x").alias("name"), "v", F.col("ts").alias("seen"))

    def tell(key: tuple[int, str | None], rows: list[Any], state: Any) -> tuple[list[Any], Any]:
        return [(*key, r.line, None if r.stops is None else len(r.stops), r.v, r.seen) for r in rows], rows[-1]

    out = "k int, name string, line long, stops int, v long, seen timestamp"
    frame = driven.rt.merge([bus, road], on=["k", "name"], time="ts", step=tell, output=out, buckets=2)
    driven.start(frame, "columns")
    driven.run([([[(1_000, 1, 2**60 + 1)], [(2_000, 1, 2**60 + 3)]], 3_000), ([[], []], 4_000)])
    driven.stop()
    rows = sorted(driven.results(), key=lambda r: r.get("name", ""))
    assert rows[0] == {"k": 1, "line": 2**60 + 1, "stops": 1}
    assert rows[1] == {"k": 1, "name": "x", "v": 2**60 + 3, "seen": "1970-01-01T00:00:02.000Z"}


def test_the_fast_stream_waits_for_the_slow_one_but_no_longer_than_the_slack(spark: Any, tmp_path: Path) -> None:
    stage = Stage(spark, tmp_path, ("bus", "road"), schema="ts timestamp, k int, v long")
    stage.rt.stop()
    with hw.Runtime(spark, journal=tmp_path / "live.db") as rt:
        both = [stage.raw("bus"), stage.raw("road")]
        frame = rt.merge(both, on="k", time="ts", step=number, output=OUTPUT, slt="10 s", buckets=2, idle_after="1 hour")
        stage.put("bus", [{"ts": t, "k": 1, "v": t} for t in range(1, 11)])
        stage.put("road", [{"ts": t + 0.5, "k": 1, "v": 100 + t} for t in range(1, 5)])
        query = rt.start(frame.writeStream.format("memory"), name="slack", checkpoint=str(tmp_path / "slack"))

        def out() -> list[tuple[int, bool]]:
            return [(r.v, r.late) for r in spark.table("slack").orderBy("n").collect()]

        wait_until(lambda: len(out()) >= 6, "what both streams have passed", query)
        assert out() == [(v, False) for v in (1, 101, 2, 102, 3, 103)]
        stage.put("bus", [{"ts": 30, "k": 1, "v": 30}])  # too far ahead: the road is not waited for any more
        wait_until(lambda: len(out()) >= 14, "what is older than the slack", query)
        stage.put("road", [{"ts": 6.5, "k": 1, "v": 106}])
        wait_until(lambda: len(out()) >= 15, "the late row", query)
    assert out()[6:] == [(v, v == 106) for v in (4, 104, 5, 6, 7, 8, 9, 10, 106)]


def held(spark: Any, checkpoint: Path) -> dict[int, int]:
    """How many rows each bucket still holds back, as its checkpoint tells."""
    state = spark.read.format("statestore").load(str(checkpoint)).selectExpr("key.*", "value.groupState.bucket").collect()
    buckets = {number: Bucket(*pickle.loads(bytes(data))) for number, data in state}
    return {number: len(b.held["__at"]) for number, b in buckets.items() if b.held is not None}


@pytest.fixture(scope="module")
def rt(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[hw.Runtime]:
    with hw.Runtime(spark, journal=tmp_path_factory.mktemp("merge") / "journal.db") as made:
        yield made


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"on": "area"}, "merge.on = 'area': expected one of the columns timestamp, value, word"),
        ({"on": []}, r"merge.on = \[\]: expected one or more of the columns"),
        ({"on": "word"}, "merge.on = 'word': expected a column of every stream, but stream 1 has none"),
        ({"on": "list"}, r"merge.on = 'list': expected a column of a plain type, but it is array<bigint>"),
        (
            {"streams": "types"},
            "merge.streams = 'value': expected one type, but it is bigint in stream 0 and string in stream 1",
        ),
        ({"streams": "named"}, "merge.streams = 'late': expected a column named otherwise"),
        ({"streams": "none"}, r"merge.streams = \[\]: expected a list of one or more streaming DataFrames"),
        ({"time": "value"}, "watermark.column = 'value': expected a timestamp column"),
        ({"slt": "-2 s"}, "merge.slt = '-2 s': expected a duration of zero or more"),
        ({"slt": "2 s", "patience": "1 s"}, "merge.patience = '1 s': expected either patience or slt, not both"),
        ({"ties": "offset"}, "merge.ties = 'offset': expected one of the columns"),
        ({"buckets": 0}, "merge.buckets = 0: expected a number of 1 or more"),
        ({"forget_after": -1}, "merge.forget_after = -1: expected a duration"),
        ({"step": None}, r"merge.step = None: expected a function step\(key, rows, state\)"),
        ({"output": "no such type"}, "merge.output = 'no such type': expected a schema such as"),
    ],
    ids=lambda x: next(iter(x)) if isinstance(x, dict) else "",
)
def test_bad_input_gets_one_line(spark: Any, rt: hw.Runtime, change: dict[str, Any], says: str) -> None:
    one = spark.readStream.format("rate").load().selectExpr("*", "string(value) as word", "array(value) as list")
    pairs = {
        "types": [one, one.selectExpr("timestamp", "string(value) as value")],
        "named": [one, one.selectExpr("timestamp", "value", "1 as late")],
        "none": [],
    }
    data = {"on": "value", "time": "timestamp", "step": number, "output": OUTPUT, **change}
    second = one if data["on"] == "list" else one.drop("word")
    streams = pairs.get(data.pop("streams", ""), [one, second])
    with pytest.raises(hw.SettingError, match=says) as error:
        rt.merge(streams, **data)
    assert "\n" not in str(error.value)


def test_one_stream_may_be_put_in_order_too(spark: Any, rt: hw.Runtime) -> None:
    alone = spark.readStream.format("rate").load()
    frame = rt.merge([alone], on="value", time="timestamp", step=number, output=OUTPUT, slt="2 s")
    assert frame.isStreaming and frame.columns[:2] == ["k", "n"]
    assert stamp(1_500).startswith("1970-01-01T00:00:01.500")
