"""A side table that cannot be written stops no query: it is said once, and the rows that are not in it are counted."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

import headway as hw
from headway.policy.order import Stock
from headway.spark import late
from spark.scripted import Stage

pytestmark = pytest.mark.spark
SAID = "headway: late rows cannot be kept in "


@pytest.fixture
def stage(spark: Any, tmp_path: Path) -> Iterator[Stage]:
    made = Stage(spark, tmp_path, ("a", "b"))
    yield made
    made.close()


def counted(rows: Any) -> Any:
    return rows.groupBy(F.window("ts", "3 seconds"), "k").count().selectExpr("unix_millis(window.end) as e", "k", "count")


def begun(stage: Stage, folder: Path, name: str = "a") -> None:
    """A query whose watermark has come to 3 s: rows before it are late."""
    rows = stage.rt.watermark(stage.raw(name), "ts", "1 second", name=name, late=str(folder))
    stage.start(counted(rows), table=f"of_{name}", checkpoint=f"cp-{name}")
    stage.step(3)
    stage.step(6)


def kept(stage: Stage, folder: Path) -> list[int]:
    return sorted(json.loads(row.row)["k"] for row in stage.rt.late_rows(str(folder)).collect())


def unkept(stage: Stage) -> list[tuple[str, str, int]]:
    return [(c.query, c.source, c.rows) for c in stage.rt.late_counts() if c.reason == "unkept"]


def test_a_folder_that_cannot_be_made_stops_no_query_and_its_rows_are_counted(
    stage: Stage, java_err: Callable[[], str]
) -> None:
    folder = stage.folder / "late"
    begun(stage, folder)
    (folder / "query=of_a").write_text("in the way")
    stage.put("a", [{"ts": 1, "k": 1}, {"ts": 2, "k": 2}, {"ts": 7, "k": 3}])
    stage.step(None)
    stage.put("a", [{"ts": 1, "k": 4}])
    stage.step(9)
    assert unkept(stage) == [("of_a", "a", 3)]
    assert java_err().count(f"{SAID}file:{folder}") == 1
    (folder / "query=of_a").unlink()
    stage.put("a", [{"ts": 2, "k": 5}])
    stage.step(12)
    stage.step(15)

    assert kept(stage, folder) == [5]
    assert (
        unkept(stage) == [("of_a", "a", 3)] == [(c.query, c.source, c.rows) for c in late.unkept(stage.spark, str(folder))]
    )
    assert stage.out() == ["Row(e=9000, k=3, count=1)"]
    assert ("a", "late", 4) in [(c.source, c.reason, c.rows) for c in stage.rt.late_counts()]
    assert java_err().count(SAID) == 1


def test_a_file_that_cannot_get_its_name_is_counted_too_and_leaves_nothing_behind(stage: Stage) -> None:
    folder = stage.folder / "late"
    begun(stage, folder)
    batch = stage.query.lastProgress["batchId"] + 1
    taken = folder / "query=of_a" / f"batch={batch}" / f"part-0-0-{stage.query.id}-{stage.query.runId}.jsonl"
    (taken / "in the way").mkdir(parents=True)
    stage.put("a", [{"ts": 1, "k": 1}, {"ts": 2, "k": 2}])
    stage.step(None)
    assert unkept(stage) == [("of_a", "a", 2)]
    assert [f for f in folder.rglob("*") if f.is_file()] == []


def test_a_full_disk_stops_no_query_and_is_used_again_when_there_is_room(
    stage: Stage, tmp_path: Path, java_err: Callable[[], str]
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip("needs a small disk, and may not mount one")
    try:
        begun(stage, disk / "late")
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(200_000))
        stage.put("a", [{"ts": 1, "k": k} for k in range(3_000)])  # half a megabyte
        stage.step(None)
        assert unkept(stage) == [("of_a", "a", 3_000)]
        assert [f for f in (disk / "late").rglob("*") if f.is_file()] == []
        ballast.unlink()
        stage.put("a", [{"ts": 1, "k": 7}])
        stage.step(None)
        assert kept(stage, disk / "late") == [7]
        assert java_err().count("No space left on device") == 1
    finally:
        stage.close()
        subprocess.run(["umount", str(disk)], check=True)


def plain(stage: Stage, folder: Path, condition: str = "true") -> None:
    """A query that can be started again; its sink keeps nothing."""
    rows = stage.rt.watermark(stage.raw("a"), "ts", "1 second", name="a", late=str(folder))
    writer = counted(rows.where(condition)).writeStream.format("noop")
    stage.query = stage.rt.start(writer, name="plain", checkpoint=str(stage.folder / "cp"))


def test_a_task_that_fails_counts_no_row_and_its_second_run_counts_them_once(stage: Stage) -> None:
    folder = stage.folder / "late"
    plain(stage, folder, "if(k = 13, raise_error('unlucky'), true)")
    stage.step(3)
    stage.step(6)
    (folder / "query=plain").write_text("in the way")
    stage.put("a", [{"ts": 1, "k": 1}, {"ts": 7, "k": 13}])
    with pytest.raises(Exception, match="unlucky"):
        stage.step(None)
    assert unkept(stage) == []

    again = Stage(stage.spark, stage.folder)
    plain(again, folder)
    again.put("a", [{"ts": 2, "k": 2}])
    again.step(None)
    assert unkept(again) == [("plain", "a", 2)]
    again.close()


def test_a_run_before_keeps_its_rows_if_the_next_cannot_write_them(stage: Stage) -> None:
    """Its files are removed when the new ones are there, not sooner."""
    folder = stage.folder / "late"
    plain(stage, folder)
    stage.step(3)
    stage.step(6)
    stage.put("a", [{"ts": 1, "k": 1}])
    stage.step(None)
    stage.query.stop()
    (file,) = folder.rglob("*.jsonl")
    commits = stage.folder / "cp" / "commits"
    (commits / str(max(int(f.name) for f in commits.iterdir() if f.name.isdigit()))).unlink()
    # A folder of one file that nothing can be added to: it is a link to nowhere while the batch is run again.
    place, aside = file.parent, stage.folder / "aside"
    place.rename(aside)
    place.symlink_to(stage.folder / "nowhere")

    again = Stage(stage.spark, stage.folder)
    plain(again, folder)
    again.step(None)
    assert unkept(again) == [("plain", "a", 1)]
    again.close()
    place.unlink()
    aside.rename(place)
    assert kept(again, folder) == [1]


def test_two_inputs_in_several_tasks_are_told_apart_under_any_policy(spark: Any, tmp_path: Path) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "3")
    folder = tmp_path / "late"
    for name in "ab":
        (tmp_path / name).mkdir()
    with hw.Runtime(session, Stock()) as rt:
        schema = "ts timestamp, k int"
        a, b = (
            rt.watermark(
                session.readStream.schema(schema).json(str(tmp_path / name)), "ts", "1 s", name=name, late=str(folder)
            )
            for name in "ab"
        )
        query = rt.start(counted(a.union(b)).writeStream.format("noop"), name="both", checkpoint=str(tmp_path / "cp"))
        for number, (second, rows) in enumerate(((9, 1), (20, 1), (1, 4))):
            for name, times in (("a", 1), ("b", 2)):
                for file in range(times):
                    lines = [json.dumps({"ts": f"1970-01-01T00:00:{second:02}Z", "k": k}) for k in range(rows)]
                    (tmp_path / name / f"{number}-{file}.json").write_text("\n".join(lines))
            if number == 2:
                (folder / "query=both").write_text("in the way")
            query.processAllAvailable()
        assert sorted((c.query, c.source, c.rows) for c in rt.late_counts()) == [("both", "a", 4), ("both", "b", 8)]
