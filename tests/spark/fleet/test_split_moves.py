"""The state of a live query is spread over other partitions while it moves between two real nodes, and its sink is exact."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headway.spark.checkpoint.contents import ROCKSDB, contents
from headway.spark.checkpoint.folder import LocalFolder
from spark.fleet.moving import KEYS, PIPELINE, ROWS, Fleet, NodeProcess
from spark.scripted import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]
PROVIDER, PAIRS, LATER = "spark.sql.streaming.stateStore.providerClass", 20, 60
JOINED = """

@hw.query()
def pairs(rt, spark):
    spark.conf.set({provider!r}, {rocksdb!r})

    def side(name):
        rows = spark.readStream.format("rate").option("rowsPerSecond", {pairs}).load()
        return rt.watermark(rows, "timestamp", "5 seconds", name=name).alias(name)

    # A row waits for three seconds until its other half comes, and is in the state for so long.
    both = side("a").join(side("b"), F.expr(
        "a.value = b.value + {later} and a.timestamp between b.timestamp - interval 20 seconds"
        " and b.timestamp + interval 20 seconds"))
    epoch = hw.epoch(lambda: sqlite3.connect(SINK, timeout=30))

    def write(batch, number):
        found = [(number, value) for (value,) in batch.selectExpr("b.value").collect()]
        with sqlite3.connect(SINK, timeout=30) as db:
            epoch.check(db)
            db.execute("delete from pairs where batch = ?", (number,))
            db.executemany("insert into pairs values (?, ?)", found)

    return both.writeStream.outputMode("append").foreachBatch(write)
"""


class SplitFleet(Fleet):
    """With a windowed query and a join in RocksDB, and one whose state is HDFS-backed."""

    def __init__(self, work: Path) -> None:
        self.work, self.sink, self.file = work, work / "sink.db", work / "pipeline.py"
        text = PIPELINE.format(sink=str(self.sink), rows=ROWS, keys=KEYS)
        kept = '    return views(rt, spark, "counts")'
        assert kept in text
        text = text.replace(kept, f'    spark.conf.set("{PROVIDER}", "{ROCKSDB}")\n{kept}')
        stays = '    return views(rt, spark, "stays")'
        text = text.replace(stays, f'    spark.conf.unset("{PROVIDER}")\n{stays}')
        self.file.write_text(text + JOINED.format(provider=PROVIDER, rocksdb=ROCKSDB, pairs=PAIRS, later=LATER))
        with sqlite3.connect(self.sink) as db:
            db.execute("pragma journal_mode=wal")
            db.execute("create table panes (query text, batch int, end_ms int, key int, n int, low int, high int)")
            db.execute("create table history (query text, batch int, epoch int, n int)")
            db.execute("create table pairs (batch int, value int)")
        made = [NodeProcess(name, work) for name in ("a", "b")]
        self.a, self.b = (node.ready() for node in made)

    def move(self, query: str, source: NodeProcess, target: NodeProcess, epoch: int, partitions: int | None = None) -> Any:
        plan = self.plan(query, epoch + 1, epoch)
        target.did("prepare", query, epoch + 1, partitions=partitions, **plan)
        drained = source.did("drain", query, epoch, next_epoch=epoch + 1)
        taken = target.did("take", query, epoch + 1, batch=drained.batch, partitions=partitions, **plan)
        target.did("start", query, epoch + 1, experience=drained.experience)
        source.did("stop", query, epoch)
        target.await_commits(query, epoch + 1, 3)
        return taken

    def partitions(self, query: str, epoch: int) -> int | None:
        place = self.folder(query, epoch)
        return contents(LocalFolder(Path(place)), place).partitions

    def check_pairs(self) -> int:
        """Every row has found its other half, once."""
        with sqlite3.connect(self.sink, timeout=30) as db:
            values = sorted(value for (value,) in db.execute("select value from pairs"))
        assert values and values == list(range(len(values)))
        return len(values)

    def paired(self) -> int:
        with sqlite3.connect(self.sink, timeout=30) as db:
            return int(db.execute("select count(*) from pairs").fetchone()[0])


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SplitFleet]:
    made = SplitFleet(tmp_path_factory.mktemp("split"))
    try:
        yield made
    finally:
        made.end()


def test_windows_are_exact_while_the_state_is_split_merged_and_moved_as_it_is(fleet: SplitFleet) -> None:
    fleet.a.did("start", "counts", 1, **fleet.plan("counts", 1))
    fleet.a.await_commits("counts", 1, 5)
    split = fleet.move("counts", fleet.a, fleet.b, 1, 4)
    assert fleet.partitions("counts", 2) == 4 and "spread over 4 partitions" in split.because
    assert split.parts_ms is not None and split.parts_ms["partitions"] > 0
    fleet.move("counts", fleet.b, fleet.a, 2, 2)
    fleet.move("counts", fleet.a, fleet.b, 3)  # what a merge has left is in nobody's way
    assert fleet.partitions("counts", 4) == 2 and not list(Path(fleet.folder("counts", 3), "state", "0").glob("[23]"))
    fleet.move("counts", fleet.b, fleet.a, 4, 1)
    wait_until(lambda: fleet.windows("counts") >= 10, "ten windows")
    assert fleet.partitions("counts", 5) == 1 and fleet.check("counts") >= 10


def test_where_it_cannot_be_split_after_all_the_query_goes_home(fleet: SplitFleet) -> None:
    drained = fleet.a.did("drain", "counts", 5, next_epoch=6)
    refused = fleet.b.ask("take", "counts", 6, batch=drained.batch, partitions=1, **fleet.plan("counts", 6, 5))
    assert not refused.done and "partitions = 1: expected another number than the 1 that it has" in refused.because
    fleet.a.did("start", "counts", 7, batch=drained.batch, experience=drained.experience, **fleet.plan("counts", 7, 5, 6))
    fleet.a.await_commits("counts", 7, 3)
    fleet.b.did("abandon", "counts", 6)
    assert fleet.partitions("counts", 7) == 1 and fleet.check("counts") >= 10


def test_what_cannot_be_split_is_refused_before_anything_is_drained(fleet: SplitFleet) -> None:
    fleet.a.did("start", "stays", 1, **fleet.plan("stays", 1))
    fleet.a.await_commits("stays", 1, 3)
    hdfs = fleet.b.ask("prepare", "stays", 2, partitions=2, **fleet.plan("stays", 2, 1))
    assert (
        not hdfs.done and "expected state in RocksDB: Spark can repartition no other, and this is HDFSBacked" in hdfs.because
    )
    same = fleet.b.ask("prepare", "counts", 8, partitions=1, **fleet.plan("counts", 8, 7))
    assert not same.done and "expected another number than the 1 that it has" in same.because
    assert fleet.b.hosted("stays") is None and not Path(fleet.folder("stays", 2)).exists()
    before = fleet.a.hosted("stays")
    assert before is not None
    fleet.a.await_commits("stays", 1, before.commits + 2)
    fleet.a.did("stop", "stays", 1)
    assert fleet.check("stays") >= 1


def test_a_join_is_exact_while_its_state_is_split_and_merged(fleet: SplitFleet) -> None:
    fleet.a.did("start", "pairs", 1, **fleet.plan("pairs", 1))
    wait_until(lambda: fleet.paired() > PAIRS, "the first halves")
    fleet.move("pairs", fleet.a, fleet.b, 1, 2)
    after = fleet.paired()
    wait_until(lambda: fleet.paired() > after + 2 * PAIRS, "more halves")
    fleet.move("pairs", fleet.b, fleet.a, 2, 1)
    after = fleet.paired()
    wait_until(lambda: fleet.paired() > after + 2 * PAIRS, "more halves")
    assert fleet.partitions("pairs", 2) == 2 and fleet.partitions("pairs", 3) == 1 and fleet.check_pairs() > 6 * PAIRS
