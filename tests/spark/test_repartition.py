"""State over another number of partitions: exact where it works, and not a byte is touched where it does not."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

import headway as hw
from headway.cli.app import main
from headway.errors import HeadwayError, SettingError
from headway.lease.local import LockedLease
from headway.spark.checkpoint.contents import PARTITIONS, PROVIDER, ROCKSDB, contents
from headway.spark.checkpoint.folder import LocalFolder, folder_of
from headway.spark.checkpoint.repartition import FORMAT, repartition

pytestmark = pytest.mark.spark
KEYS = 50


class Books:
    """A query that counts per hour and key, from files, run until it has read what is there."""

    def __init__(self, spark: Any, folder: Path, checkpoint: str) -> None:
        self._spark, self._folder, self.checkpoint = spark, folder, checkpoint
        self.emitted: Counter[tuple[str, int]] = Counter()
        self.wanted: Counter[tuple[str, int]] = Counter()
        (folder / "in").mkdir()

    def comes(self, name: str, hour: int, rows: int) -> None:
        lines = [{"at": f"2026-01-01T{hour:02}:{n % 60:02}:00Z", "key": n * n % KEYS} for n in range(rows)]
        (self._folder / "in" / f"{name}.json").write_text("\n".join(map(json.dumps, lines)))
        for line in lines:
            self.wanted[f"{hour:02}", int(line["key"])] += 1  # type: ignore[call-overload]

    def run(self) -> None:
        def keep(frame: Any, number: int) -> None:
            for row in frame.collect():
                self.emitted[row["hour"], row["key"]] += row["count"]

        rows = self._spark.readStream.schema("at timestamp, key long").json(str(self._folder / "in"))
        with hw.Runtime(self._spark, journal=self._folder / "journal.db") as rt:
            counts = rt.watermark(rows, "at", "1 second").groupBy(F.window("at", "1 hour"), "key").count()
            told = counts.select(F.date_format("window.start", "HH").alias("hour"), "key", "count")
            writer = told.writeStream.foreachBatch(keep).trigger(availableNow=True)
            rt.start(writer, name="books", checkpoint=self.checkpoint).awaitTermination(120)


@pytest.fixture
def rocksdb(spark: Any) -> Iterator[Any]:
    spark.conf.set(PROVIDER, ROCKSDB)
    yield spark
    spark.conf.unset(PROVIDER)


def every_byte(folder: Path) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}


def of_spark(folder: Path) -> dict[str, bytes]:
    return {name: data for name, data in every_byte(folder).items() if not name.startswith(".headway")}


@pytest.mark.parametrize("where", ["here", "hdfs"])
def test_a_query_goes_on_exactly_with_four_partitions_instead_of_one(
    rocksdb: Any, tmp_path: Path, request: pytest.FixtureRequest, where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    here = where == "here"
    place = str(tmp_path / "cp") if here else f"{request.getfixturevalue('hdfs')}/{tmp_path.name}/cp"
    books = Books(rocksdb, tmp_path, place)
    books.comes("first", hour=10, rows=2_000)
    books.run()
    assert contents(folder_of(rocksdb, place), place).partitions == 1 and not books.emitted
    if here:
        command = [
            sys.executable,
            "-m",
            "headway",
            "checkpoint",
            "repartition",
            place,
            "--partitions",
            "4",
            "--memory",
            "1g",
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("The state of 1 operator has 4 partitions now, and had 1: batch ")
        assert main(["checkpoint", "show", place]) == 0
        shown = capsys.readouterr().out
        assert "1 operator(s) in RocksDB, 4 partition(s)" in shown and "lease      free" in shown
    else:
        done_here = repartition(rocksdb, place, 4)
        assert (done_here.before, done_here.after, done_here.operators) == (1, 4, 1)
    seen = contents(folder_of(rocksdb, place), place)
    assert (seen.partitions, seen.begun) == (4, seen.done)
    books.comes("second", hour=10, rows=1_000)
    books.run()
    books.comes("third", hour=12, rows=1)
    books.run()
    assert books.emitted == Counter({k: n for k, n in books.wanted.items() if k[0] == "10"})


def test_a_checkpoint_of_format_2_is_repartitioned_by_a_session_of_format_1(rocksdb: Any, tmp_path: Path) -> None:
    """Spark itself refuses that, when it has logged its batch already."""
    books = Books(rocksdb, tmp_path, str(tmp_path / "cp"))
    books.comes("first", hour=10, rows=100)
    rocksdb.conf.set(FORMAT, "2")
    try:
        books.run()
        session_of_1 = rocksdb.newSession()
        assert repartition(session_of_1, books.checkpoint, 2).after == 2
        assert session_of_1.conf.get(FORMAT) == "1"
        books.comes("second", hour=12, rows=1)
        books.run()
    finally:
        rocksdb.conf.unset(FORMAT)
    assert books.emitted == Counter({k: n for k, n in books.wanted.items() if k[0] == "10"})


def test_state_that_is_not_in_rocksdb_is_refused_and_not_a_byte_touched(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Spark itself would log a batch first, and refuse then: the checkpoint would never start again."""
    place = tmp_path / "cp"
    books = Books(spark, tmp_path, str(place))
    books.comes("first", hour=10, rows=100)
    books.run()
    before = every_byte(place)
    with pytest.raises(SettingError, match="state in RocksDB: Spark can repartition no other, and this is HDFSBacked"):
        repartition(spark, str(place), 4)
    assert main(["checkpoint", "repartition", str(place), "--partitions", "4"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "HDFSBacked" in said
    assert every_byte(place) == before


def test_what_cannot_be_repartitioned_now_is_one_line_and_not_a_byte_touched(
    rocksdb: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "cp"
    books = Books(rocksdb, tmp_path, str(place))
    books.comes("first", hour=10, rows=100)
    books.run()
    before = every_byte(place)

    def refused(partitions: int) -> str:
        assert main(["checkpoint", "repartition", str(place), "--partitions", str(partitions)]) == 2
        assert every_byte(place) == before
        return capsys.readouterr().err

    assert refused(1).endswith("partitions = 1: expected another number than the 1 that it has\n")
    assert "partitions = 0: expected 1 or more" in refused(0)
    last = contents(LocalFolder(place), str(place)).begun
    commit = place / "commits" / str(last)
    kept, rest = commit.read_bytes(), place / "commits" / f".{last}.crc"
    commit.unlink()
    before = every_byte(place)
    assert f"batch {last} is not; start the query" in refused(4)
    logged = place / "offsets" / str(last)
    text = logged.read_text()
    logged.write_text(text.replace(f'"{PARTITIONS}":"1"', f'"{PARTITIONS}":"8"'))
    assert logged.read_text() != text
    before = every_byte(place)
    assert "partitions = 4: expected 8, to which it was begun" in refused(4)
    logged.write_text(text)
    commit.write_bytes(kept)
    rest.unlink(missing_ok=True)
    before = every_byte(place)
    lease = LockedLease(place, str(place), "query 'books' of process 7")
    before = every_byte(place)
    with pytest.raises(SettingError, match="query 'books' of process 7 uses it"):
        repartition(rocksdb, str(place), 4)
    assert every_byte(place) == before
    lease.release()


def test_where_spark_fails_half_way_the_checkpoint_is_as_it_was(rocksdb: Any, tmp_path: Path) -> None:
    place = tmp_path / "cp"
    books = Books(rocksdb, tmp_path, str(place))
    books.comes("first", hour=10, rows=100)
    books.run()
    newest = max((place / "state/0/0").glob("*.zip"), key=lambda file: int(file.stem))
    whole = newest.read_bytes()
    newest.write_bytes(whole[: len(whole) // 2])
    (newest.parent / f".{newest.name}.crc").unlink(missing_ok=True)
    before = of_spark(place)
    with pytest.raises(HeadwayError, match=r"could not be repartitioned: .*; it is as it was") as caught:
        repartition(rocksdb, str(place), 4)
    assert not isinstance(caught.value, SettingError) and "\n" not in str(caught.value)
    assert of_spark(place) == before
    newest.write_bytes(whole)
    repartition(rocksdb, str(place), 4)
    books.comes("second", hour=12, rows=1)
    books.run()
    assert books.emitted == Counter({k: n for k, n in books.wanted.items() if k[0] == "10"})


def test_what_is_no_checkpoint_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nothing, empty = tmp_path / "nothing", tmp_path / "empty"
    empty.mkdir()
    for command in (["show"], ["repartition", "--partitions", "4"]):
        for place, says in ((nothing, "a folder that is there"), (empty, "the folder of a checkpoint")):
            assert main(["checkpoint", command[0], str(place), *command[1:]]) == 2
            assert says in capsys.readouterr().err
    assert not nothing.exists() and list(empty.iterdir()) == []
