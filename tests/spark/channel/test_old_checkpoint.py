"""Checkpoints whose control offsets were written by another Headway: an older one goes on, a newer one is refused."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import functions as F

from headway.model.offset import ControlOffset
from headway.spark.channel.offset_text import offset_in, text_of
from spark.scripted import Stage, wait_until

pytestmark = pytest.mark.spark


def begin(stage: Stage) -> None:
    """A new life of the query, from the checkpoint if there is one."""
    place = stage.folder
    rows = stage.rt.watermark(stage.raw("a"), "ts", "1 second")
    frame = (
        rows.groupBy(F.window("ts", "3 seconds"), "k").count().selectExpr("unix_millis(window.end) as e", "k", "count as n")
    )
    writer = frame.writeStream.format("json").option("path", str(place / "out"))
    stage.query = stage.rt.start(writer, name="staged", checkpoint=str(place / "cp"))
    wait_until(lambda: stage.at_gate, "the gate", stage.query)


def out(place: Path) -> list[tuple[int, int, int]]:
    rows = [json.loads(line) for file in (place / "out").glob("*.json") for line in file.read_text().splitlines()]
    return sorted((row["e"], row["k"], row["n"]) for row in rows)


def log(place: Path) -> dict[int, str]:
    """The control offset of every batch, as it stands in Spark's log."""
    files = (place / "cp" / "offsets").glob("[0-9]*")
    return {int(f.name): next(line for line in f.read_text().splitlines() if '"seq"' in line) for f in files}


def rewrite(place: Path, written: Callable[[ControlOffset], str]) -> None:
    """As if another Headway had written the log."""
    for batch, text in log(place).items():
        file = place / "cp" / "offsets" / str(batch)
        file.write_text(file.read_text().replace(text, written(offset_in(text))))
        (file.parent / f".{batch}.crc").unlink(missing_ok=True)


def as_version_1(offset: ControlOffset) -> str:
    return text_of(replace(offset, version=1))


def test_a_query_goes_on_from_a_checkpoint_of_version_1(stage: Stage, tmp_path: Path) -> None:
    stage.put("a", [{"ts": 1, "k": 1}])
    begin(stage)
    stage.step(3)
    stage.put("a", [{"ts": 4, "k": 1}])
    stage.step(6)
    stage.query.stop()
    rewrite(tmp_path, as_version_1)
    before = log(tmp_path)
    assert before[1] == '{"seq": 2, "wm": 6000, "live": 0}'

    begin(stage)
    stage.put("a", [{"ts": 5, "k": 1}, {"ts": 7, "k": 2}])
    stage.step(9)
    stage.step(12)
    assert out(tmp_path) == [(3000, 1, 1), (6000, 1, 2), (9000, 2, 1)]
    after = log(tmp_path)
    assert {batch: after[batch] for batch in before} == before
    assert [offset_in(after[batch]) for batch in (2, 3)] == [ControlOffset(3, 9_000), ControlOffset(4, 12_000)]
    assert after[3] == '{"version": 2, "seq": 4, "wm": 12000, "live": 0}'


def test_an_old_offset_that_stays_as_it_is_makes_no_batch(stage: Stage, tmp_path: Path) -> None:
    """Spark compares offsets by their text: one that was read as version 1 must not come back as another."""
    stage.put("a", [{"ts": 1, "k": 1}])
    begin(stage)
    stage.step(3)
    stage.step(None)
    stage.query.stop()
    rewrite(tmp_path, as_version_1)
    before = log(tmp_path)
    begin(stage)
    stage.step(None)
    stage.step(None)
    assert log(tmp_path) == before


def test_a_checkpoint_of_a_newer_headway_is_refused_and_says_what_to_do(stage: Stage, tmp_path: Path) -> None:
    stage.put("a", [{"ts": 1, "k": 1}])
    begin(stage)
    stage.step(3)
    stage.query.stop()
    rewrite(tmp_path, lambda offset: text_of(offset).replace('"version": 2', '"version": 3'))
    with pytest.raises(Exception, match=r"version 3, .* up to 2: start the query with the Headway that wrote"):
        begin(stage)
        stage.step(None)
