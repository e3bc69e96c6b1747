"""The state of a held query is read before it goes on: its first batch finds it, and what comes out is the same."""

import json
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

from headway.spark.fleet.state_ahead import STATE, loaded_ahead
from headway.spark.held_start import HeldStart, begun_and_held
from spark.scripted import wait_until

pytestmark = pytest.mark.spark
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
SETTING = "spark.sql.streaming.stateStore.providerClass"
KEYS = 1_000


class CountedKeys:
    """A query that counts rows by key, over files that appear one after the other."""

    def __init__(self, spark: Any, work: Path) -> None:
        self.spark, self.rows = spark, work / "rows"
        self.counts: dict[int, int] = {}
        self.rows.mkdir()

    def put(self, number: int) -> None:
        half = self.rows / f".{number}"
        half.write_text("\n".join(json.dumps({"k": k}) for k in range(KEYS)))
        half.rename(self.rows / f"{number}.json")

    def start(self, name: str, checkpoint: Path) -> Any:
        frame = self.spark.readStream.schema("k int").json(str(self.rows)).groupBy("k").agg(F.count("*").alias("n"))

        def take(batch: Any, number: int) -> None:
            self.counts.update({row.k: row.n for row in batch.collect()})

        writer = frame.writeStream.outputMode("update").foreachBatch(take).queryName(name)
        return writer.option("checkpointLocation", str(checkpoint)).start()

    def ran(self, checkpoint: Path, files: range) -> None:
        """Has counted these files, and has ended."""
        query = self.start("earlier", checkpoint)
        try:
            for number in files:
                self.put(number)
                wait_until(lambda number=number: self.counts.get(0) == number + 1, f"file {number}", query)
            query.processAllAvailable()
        finally:
            query.stop()

    def held(self, checkpoint: Path) -> HeldStart:
        found = begun_and_held(self.spark, "held", lambda: self.start("held", checkpoint), nullcontext())
        assert found is not None
        return found


def last_batch(checkpoint: Path) -> int:
    return max(int(path.name) for path in (checkpoint / "commits").iterdir() if path.name.isdigit())


@pytest.fixture(params=[HDFS, ROCKSDB], ids=["hdfs", "rocksdb"])
def counted(request: pytest.FixtureRequest, spark: Any, tmp_path: Path) -> Any:
    before = {key: spark.conf.get(key, None) for key in (SETTING, "spark.sql.shuffle.partitions")}
    spark.conf.set(SETTING, request.param)
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    yield CountedKeys(spark, tmp_path)
    for key, value in before.items():
        spark.conf.unset(key) if value is None else spark.conf.set(key, value)


def test_the_first_batch_goes_on_from_what_was_read_ahead_and_from_what_has_come_since(
    counted: CountedKeys, spark: Any, tmp_path: Path
) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    counted.ran(source, range(2))
    batch = last_batch(source)
    shutil.copytree(source / "state", target / "state")
    shutil.copy(source / "metadata", target)
    counted.ran(source, range(2, 4))  # it runs on; not while the other is held, since both are one query in one process
    held = counted.held(target)
    run = held.query.runId()
    assert loaded_ahead(spark, held, str(target), str(source), batch) == 2
    assert loaded(spark, target, run) == {0, 1}
    shutil.copytree(source, target, dirs_exist_ok=True)
    if spark.conf.get(SETTING) == HDFS:  # whoever looked for these versions in files would not find them
        for old in [path for n in (0, 1) for path in (target / "state" / "0" / str(n)).glob("[0-9]*.*")]:
            if int(old.name.partition(".")[0]) <= batch + 1:
                old.unlink()
    assert held.claim()
    query = held.go_on()
    try:
        counted.put(4)
        wait_until(lambda: counted.counts.get(0) == 5, "the fifth file", query)
        query.processAllAvailable()
        assert counted.counts == dict.fromkeys(range(KEYS), 5)
        assert query.runId == str(run) and loaded(spark, target, run) == {0, 1}
    finally:
        query.stop()


def test_what_cannot_be_read_ahead_is_read_in_the_first_batch(counted: CountedKeys, spark: Any, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    counted.ran(source, range(2))
    (target / "state").mkdir(parents=True)
    shutil.copytree(source / "state" / "0" / "_metadata", target / "state" / "0" / "_metadata")
    shutil.copy(source / "metadata", target)
    held = counted.held(target)
    run = held.query.runId()
    assert loaded_ahead(spark, held, str(target), str(source), last_batch(source)) == 0
    assert loaded(spark, target, run) == set()
    shutil.copytree(source, target, dirs_exist_ok=True)
    assert held.claim()
    query = held.go_on()
    try:
        counted.put(2)
        wait_until(lambda: counted.counts.get(0) == 3, "the third file", query)
        query.processAllAvailable()
        assert counted.counts == dict.fromkeys(range(KEYS), 3)
    finally:
        query.stop()


def loaded(spark: Any, checkpoint: Path, run: Any) -> set[int]:
    """The partitions whose providers Spark has, for this run."""
    state = spark._jvm.org.apache.spark.sql.execution.streaming.state
    module = spark._jvm.java.lang.Class.forName(f"{STATE}.StateStore$").getField("MODULE$").get(None)
    root = f"file:{checkpoint}/state"
    ids = {n: state.StateStoreProviderId(state.StateStoreId(root, 0, n, "default"), run) for n in range(4)}
    return {number for number, id in ids.items() if module.isLoaded(id)}
