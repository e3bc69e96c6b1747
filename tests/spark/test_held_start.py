"""A query that is begun and held: it goes on from what its checkpoint has by then, or it was never there."""

import json
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from headway.errors import HeadwayError
from headway.spark.held_start import begun_and_held
from spark.scripted import wait_until

pytestmark = pytest.mark.spark


def put(folder: Path, number: int) -> None:
    """A file with one row. It appears whole."""
    folder.mkdir(parents=True, exist_ok=True)
    half = folder / f".{number}"
    half.write_text(json.dumps({"k": number}))
    half.rename(folder / f"{number}.json")


def begins(spark: Any, rows: Path, checkpoint: Path, name: str, got: list[int]) -> Callable[[], Any]:
    frame = spark.readStream.schema("k int").json(str(rows))

    def take(batch: Any, number: int) -> None:
        got.extend(row.k for row in batch.collect())

    writer = frame.writeStream.foreachBatch(take).queryName(name).option("checkpointLocation", str(checkpoint))
    start: Callable[[], Any] = writer.start
    return start


def test_it_goes_on_from_what_its_checkpoint_has_by_then(spark: Any, tmp_path: Path) -> None:
    rows, before, after, got = tmp_path / "rows", tmp_path / "before", tmp_path / "after", list[int]()
    put(rows, 1)
    first = begins(spark, rows, before, "earlier", got)()
    wait_until(lambda: got == [1], "the first row", first)
    first.processAllAvailable()
    first.stop()
    after.mkdir()
    shutil.copy(before / "metadata", after)
    held = begun_and_held(spark, "held", begins(spark, rows, after, "held", got), nullcontext())
    assert held is not None and held.claim() and not held.claim()
    put(rows, 2)
    shutil.copytree(before, after, dirs_exist_ok=True)
    query = held.go_on()
    try:
        wait_until(lambda: len(got) > 1, "the second row", query)
        query.processAllAvailable()
        assert got == [1, 2] and query.id == first.id and query.runId != first.runId
        held.give_up()
        assert query.isActive, "it has gone on"
    finally:
        query.stop()


def test_one_that_is_given_up_has_read_nothing_and_leaves_its_name_free(spark: Any, tmp_path: Path) -> None:
    rows, got = tmp_path / "rows", list[int]()
    put(rows, 1)
    held = begun_and_held(spark, "shy", begins(spark, rows, tmp_path / "cp", "shy", got), nullcontext())
    assert held is not None
    other = begins(spark, rows, tmp_path / "other", "bold", got)()
    wait_until(lambda: got == [1], "another query, which nobody holds", other)
    other.stop()
    held.give_up()
    held.give_up()
    assert not held.claim() and [query.name for query in spark.streams.active if query.name == "shy"] == []
    with pytest.raises(HeadwayError, match="was given up"):
        held.go_on()
    again = begins(spark, rows, tmp_path / "cp2", "shy", got)()
    wait_until(lambda: got == [1, 1], "a query of its name", again)
    again.stop()


def test_a_start_that_fails_is_not_held_and_what_lasts_meanwhile_is_over(spark: Any) -> None:
    class Meanwhile(nullcontext[None]):
        over = False

        def __exit__(self, *error: object) -> None:
            self.over = True

    def refuses() -> None:
        raise ValueError("no such table")

    meanwhile = Meanwhile()
    assert begun_and_held(spark, "refused", refuses, meanwhile) is None and meanwhile.over
