"""Bad input gets one line that names the key, the value and the way out, and nothing is touched."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import headway as hw

pytestmark = pytest.mark.spark


@pytest.fixture
def rt(spark: Any, tmp_path: Path) -> Iterator[hw.Runtime]:
    with hw.Runtime(spark, journal=tmp_path / "journal.db") as made:
        yield made


def rates(spark: Any) -> Any:
    return spark.readStream.format("rate").load()


def refused(error: pytest.ExceptionInfo[hw.HeadwayError], *words: str) -> None:
    text = str(error.value)
    assert "\n" not in text
    for word in words:
        assert word in text


def test_a_frame_that_is_not_streaming(rt: hw.Runtime, spark: Any) -> None:
    with pytest.raises(hw.HeadwayError) as error:
        rt.watermark(spark.range(3), "id", "1 s")
    refused(error, "readStream")


def test_a_missing_column(rt: hw.Runtime, spark: Any) -> None:
    with pytest.raises(hw.HeadwayError) as error:
        rt.watermark(rates(spark), "when", "1 s")
    refused(error, "'when'", "timestamp, value")


def test_a_column_that_is_no_timestamp(rt: hw.Runtime, spark: Any) -> None:
    with pytest.raises(hw.HeadwayError) as error:
        rt.watermark(rates(spark), "value", "1 s")
    refused(error, "'value'", "bigint")


def test_a_missing_arrival_column(rt: hw.Runtime, spark: Any) -> None:
    with pytest.raises(hw.HeadwayError) as error:
        rt.watermark(rates(spark), "timestamp", "1 s", arrival="came")
    refused(error, "'came'")


def test_a_second_watermark_on_one_input(rt: hw.Runtime, spark: Any) -> None:
    once = rt.watermark(rates(spark), "timestamp", "1 s")
    for twice in (once, rates(spark).withWatermark("timestamp", "1 second")):
        with pytest.raises(hw.HeadwayError) as error:
            rt.watermark(twice, "timestamp", "1 s")
        refused(error, "watermark already")


@pytest.mark.parametrize("duration", ["-1 s", "soon", -5, float("nan"), True])
def test_a_duration_that_is_none(rt: hw.Runtime, spark: Any, duration: Any) -> None:
    with pytest.raises(hw.HeadwayError) as error:
        rt.watermark(rates(spark), "timestamp", duration)
    refused(error, "patience", repr(duration), "500 ms")


@pytest.mark.parametrize("slots", [0, -1, "many", True])
def test_slots_that_make_no_sense(spark: Any, slots: Any) -> None:
    with pytest.raises(hw.HeadwayError) as error:
        hw.Runtime(spark, slots=slots)
    refused(error, "slots", "'auto'")


def test_an_order_that_is_no_policy(spark: Any) -> None:
    with pytest.raises(hw.HeadwayError) as error:
        hw.Runtime(spark, order="klink")  # type: ignore[arg-type]
    refused(error, "order", "Klink()")


def test_a_query_without_a_watermark_or_without_a_name(rt: hw.Runtime, spark: Any) -> None:
    with pytest.raises(hw.HeadwayError) as error:
        rt.start(rates(spark).writeStream.format("noop"), name="bare")
    refused(error, "'bare'", "rt.watermark")
    with pytest.raises(hw.HeadwayError) as error:
        rt.start(rates(spark).writeStream.format("noop"))
    refused(error, "name")


def test_a_name_used_twice_and_a_checkpoint_in_use(rt: hw.Runtime, spark: Any, tmp_path: Path) -> None:
    def writer() -> Any:
        return rt.watermark(rates(spark), "timestamp", "1 s").writeStream.format("noop")

    place = str(tmp_path / "cp")
    first = rt.start(writer().option("checkpointLocation", place), name="one")
    with pytest.raises(hw.HeadwayError) as error:
        rt.start(writer(), name="one")
    refused(error, "name = 'one'")
    with pytest.raises(hw.HeadwayError) as error:
        rt.start(writer(), name="two", checkpoint=place)
    refused(error, "checkpoint", place, "'one'")
    assert first.isActive
    first.stop()
    rt.start(writer(), name="one", checkpoint=place)  # free again


def test_two_runtimes_in_one_query(rt: hw.Runtime, spark: Any, tmp_path: Path) -> None:
    with hw.Runtime(spark, journal=tmp_path / "other.db") as other:
        ours, theirs = (r.watermark(rates(spark), "timestamp", "1 s") for r in (rt, other))
        with pytest.raises(hw.HeadwayError) as error:
            rt.start(ours.union(theirs).writeStream.format("noop"), name="mixed")
        refused(error, "two Headway runtimes")


def test_no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(hw.HeadwayError) as error:
        hw.session()
    refused(error, "Java 17")
