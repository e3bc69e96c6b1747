"""The user's own trigger: ticks, runs that end by themselves, and how soon rows are wanted in results."""

import os
from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

import headway as hw
from headway.model.view import QueryView
from headway.spark import jvm, launch
from headway.spark.channel.control import CAN_END
from headway.spark.writer import field_of
from spark.scripted import Stage, counts

pytestmark = pytest.mark.spark


@pytest.fixture
def stage(spark: Any, tmp_path: Path) -> Iterator[Stage]:
    made = Stage(spark, tmp_path)
    yield made
    made.close()


def spec(stage: Stage, frame: Any, mode: str = "append", trigger: Any = None, **settings: Any) -> QueryView:
    """What the controller knows of a query; none of its batches runs."""
    name = f"told_{stage.files}"
    stage.files += 1
    writer = frame.writeStream.outputMode(mode).format("noop")
    if trigger:
        writer = writer.trigger(**trigger)
    query = stage.rt.start(writer, name=name, checkpoint=str(stage.folder / name), **settings)
    told = stage.rt.status().query(name)
    assert told is not None and told.view is not None
    found = told.view
    assert field_of(writer, "trigger").toString().startswith("ProcessingTimeTrigger(0)") or found.bounded
    query.stop()
    return found


@pytest.mark.core("the query's own trigger is kept")
def test_a_processing_time_is_for_the_gate_to_keep(stage: Stage) -> None:
    frame = counts(stage.watermarked("a"))
    assert spec(stage, frame).trigger_ms == 0
    kept = spec(stage, frame, trigger={"processingTime": "90 seconds"})
    assert (kept.trigger_ms, kept.bounded) == (90_000, False)


def test_results_that_change_are_wanted_soon_and_windows_when_they_end(stage: Stage) -> None:
    rows = stage.watermarked("a")
    assert spec(stage, counts(rows)).fresh_ms is None
    assert spec(stage, counts(rows), "update").fresh_ms == 300
    assert spec(stage, counts(rows), "complete").fresh_ms == 300
    assert spec(stage, rows).fresh_ms == 300
    assert spec(stage, rows, every="5 seconds").fresh_ms is None
    assert spec(stage, rows, windows=[hw.window("10 seconds")]).fresh_ms is None


@pytest.mark.core("the query's own trigger is kept")
@pytest.mark.parametrize("trigger", [{"continuous": "1 second"}, {"realTime": "5 minutes"}], ids=lambda t: next(iter(t)))
def test_a_trigger_without_micro_batches_is_refused_and_nothing_is_touched(stage: Stage, trigger: dict[str, str]) -> None:
    writer = stage.watermarked("a").writeStream.outputMode("update").format("noop")
    if next(iter(trigger)) not in signature(writer.trigger).parameters:
        pytest.skip("this Spark has no such trigger")
    writer = writer.trigger(**trigger)
    with pytest.raises(hw.SettingError) as error:
        stage.rt.start(writer, name="never", checkpoint=str(stage.folder / "never"))
    assert error.value.key == "trigger" and "availableNow" in str(error.value) and "\n" not in str(error.value)
    assert not (stage.folder / "never").exists()


@pytest.mark.core("availableNow and once end by themselves")
@pytest.mark.parametrize("trigger", ["availableNow", "once"])
def test_where_a_python_source_cannot_end_such_a_run_is_refused(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trigger: str
) -> None:
    """Spark before 4.2 would run one batch, which closes no window: what it has read would never come out."""
    monkeypatch.setattr(jvm, "present", lambda spark: False)
    monkeypatch.setattr(launch, "CAN_END", False)
    stage = Stage(spark, tmp_path)
    writer = counts(stage.watermarked("a")).writeStream.format("noop").trigger(**{trigger: True})
    with pytest.raises(hw.SettingError, match=f"trigger = '{trigger}': expected .*Headway's jar"):
        stage.rt.start(writer, name="never", checkpoint=str(tmp_path / "never"))
    stage.close()


def written(folder: Path) -> list[str]:
    return sorted(line for file in folder.glob("*.json") for line in file.read_text().splitlines())


def in_order(folder: Path) -> None:
    """Spark reads files by age, and those of one moment in any order, in which stock Spark would lose rows."""
    for number, file in enumerate(sorted(folder.glob("*.json"), key=lambda f: int(f.name.partition("-")[0]))):
        os.utime(file, (1_600_000_000 + number, 1_600_000_000 + number))


@pytest.mark.core("availableNow and once end by themselves")
@pytest.mark.parametrize("source", ["jar", "python"])
@pytest.mark.parametrize(
    ("trigger", "files"), [("availableNow", None), ("availableNow", 1), ("availableNow", 2), ("once", None)]
)
def test_a_run_of_what_is_there_emits_what_stock_spark_emits_and_ends(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, trigger: str, files: int | None
) -> None:
    if source == "python" and not CAN_END:
        pytest.skip("before Spark 4.2 runs that end by themselves need the jar")
    monkeypatch.setattr(jvm, "present", lambda spark: source == "jar")
    maker = Stage(spark, tmp_path)
    maker.close()
    limit = {} if files is None else {"maxFilesPerTrigger": str(files)}
    raw = spark.readStream.schema(maker.schema).options(**limit).json(str(tmp_path / "a"))
    with hw.Runtime(spark, journal=tmp_path / "j.db") as rt:
        frames = {
            "ours": rt.watermark(raw, "ts", "2 seconds", name="a"),
            "stock": raw.withWatermark("ts", "2 seconds"),
        }
        got: list[list[str]] = []
        for run in range(3):
            if run < 2:  # the third finds nothing new
                for second in range(20 * run, 20 * run + 20, 4):
                    maker.put("a", [{"ts": second + i, "k": i % 2} for i in range(5)])  # the last of them runs ahead
                    in_order(tmp_path / "a")
            for name, frame in frames.items():
                writer = counts(frame).writeStream.format("json").option("path", str(tmp_path / name))
                place = str(tmp_path / f"cp-{name}")
                if name == "ours":
                    query = rt.start(writer.trigger(**{trigger: True}), name=name, checkpoint=place)
                else:
                    query = writer.trigger(availableNow=True).queryName(name).option("checkpointLocation", place).start()
                assert query.awaitTermination(100), f"run {run} of {name} does not end"
            assert written(tmp_path / "ours") == written(tmp_path / "stock")
            got.append(written(tmp_path / "ours"))
    assert len(got[0]) == 2 * (18 // 3) and len(got[1]) == 2 * (38 // 3) and got[2] == got[1]
