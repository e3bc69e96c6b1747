"""What is moved: queries whose state has so many keys, a sink that keeps epochs, and the truth about what must be in it.

The source counts: row n of a query comes at a time that follows from n. Each row is a key of its own, in a window of a
second; windows stay open for as long as it takes to have the keys that are wanted. So the state has as many keys as rows
have come in that time, all of them are looked at in every batch, and what must come out of a window is known to the row.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from headway.errors import SettingError

WINDOW_S = 1
LEAST_PATIENCE_S = 3  # the source hands out whole seconds
RATE, MOST_RATE = 100, 10_000  # rows per second
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
STORE = "spark.sql.streaming.stateStore."
PROVIDERS = {
    "hdfs": {},
    "rocksdb": {f"{STORE}providerClass": ROCKSDB},
    "rocksdb-changelog": {f"{STORE}providerClass": ROCKSDB, f"{STORE}rocksdb.changelogCheckpointing.enabled": "true"},
}
SCHEMA = """
create table panes (query text, batch int, end_ms int, n int, keys int, low int, high int);
create table history (query text, batch int, epoch int, version text, at_ms int);
"""
PIPELINE = """
import sqlite3
import time

from pyspark.sql import functions as F

import headway as hw

SINK, VERSION = {sink!r}, {version!r}


def windows(rt, spark, name, rate, patience_s):
    for key, value in {conf!r}.items():
        spark.conf.set(key, value)
    rows = spark.readStream.format("rate").option("rowsPerSecond", rate).load()
    marked = rt.watermark(rows, "timestamp", f"{{patience_s}} seconds")
    panes = marked.selectExpr("window(timestamp, '{window_s} seconds') as w", "value as key", "value")
    counts = panes.groupBy("w", "key").agg(F.count("value").alias("n"))
    epoch = hw.epoch(lambda: sqlite3.connect(SINK, timeout=30))

    def write(batch, number):
{failing}        found = batch.groupBy("w").agg(F.sum("n"), F.count("key"), F.min("key"), F.max("key"))
        rows = [tuple(row) for row in found.withColumn("w", F.expr("unix_millis(w.end)")).collect()]
        with sqlite3.connect(SINK, timeout=30) as db:
            epoch.check(db)
            db.execute("delete from panes where query = ? and batch = ?", (name, number))
            db.executemany("insert into panes values (?, ?, ?, ?, ?, ?, ?)", [(name, number, *row) for row in rows])
            known = (name, number, epoch.number, VERSION, time.time_ns() // 1_000_000)
            db.execute("insert into history values (?, ?, ?, ?, ?)", known)

    return counts.writeStream.outputMode("append").foreachBatch(write)
"""
QUERY = """

@hw.query()
def {name}(rt, spark):
    return windows(rt, spark, {name!r}, {rate}, {patience_s})
"""
FAILING = '        raise ValueError("this version does not work")\n'


@dataclass(frozen=True, slots=True)
class MoveLoad:
    """What runs. With many keys the first query has them, and it alone is moved; with few, all are, in turn."""

    queries: int = 3
    nodes: int = 3
    keys: int = 300
    provider: str = "rocksdb"

    def __post_init__(self) -> None:
        if self.provider not in PROVIDERS:
            raise SettingError("provider", self.provider, f"one of {', '.join(PROVIDERS)}")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"q{number}" for number in range(1, self.queries + 1))

    @property
    def moved(self) -> tuple[str, ...]:
        return self.names if self.keys <= LEAST_PATIENCE_S * RATE else self.names[:1]

    def rate(self, query: str) -> int:
        """Rows per second."""
        return RATE if query != self.names[0] else max(RATE, min(MOST_RATE, self.keys // LEAST_PATIENCE_S))

    def patience_s(self, query: str) -> int:
        """For how long its windows stay open."""
        return LEAST_PATIENCE_S if query != self.names[0] else max(LEAST_PATIENCE_S, self.keys // self.rate(query))

    def pipeline(self, sink: Path, version: str = "1", failing: bool = False) -> str:
        """The file that the fleet runs."""
        text = PIPELINE.format(
            sink=str(sink), version=version, conf=PROVIDERS[self.provider], window_s=WINDOW_S,
            failing=FAILING if failing else "",
        )  # fmt: skip
        return text + "".join(
            QUERY.format(name=name, rate=self.rate(name), patience_s=self.patience_s(name)) for name in self.names
        )


@dataclass(frozen=True, slots=True)
class WindowSeen:
    """A window that came out, and how much later than it could have."""

    query: str
    at_ms: int
    late_ms: int


class MoveSink:
    """Where results go: it keeps epochs, and when each batch came."""

    def __init__(self, path: Path, load: MoveLoad) -> None:
        self.path, self._load = path, load
        with closing(sqlite3.connect(path)) as db:
            db.execute("pragma journal_mode=wal")
            db.executescript(SCHEMA)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path, timeout=30)) as db:
            yield db

    def batches(self, query: str, epoch: int = 0) -> int:
        """So many were written since this epoch."""
        with self._open() as db:
            return int(
                db.execute("select count(*) from history where query = ? and epoch >= ?", (query, epoch)).fetchone()[0]
            )

    def ends(self, query: str) -> int:
        """So many windows have come out."""
        with self._open() as db:
            return int(db.execute("select count(distinct end_ms) from panes where query = ?", (query,)).fetchone()[0])

    def epoch(self, query: str) -> int:
        """Of the last writer; 0 if there was none."""
        with self._open() as db:
            return int(db.execute("select coalesce(max(epoch), 0) from history where query = ?", (query,)).fetchone()[0])

    def versions(self, query: str) -> list[str]:
        """Of the code that has written, in that order."""
        with self._open() as db:
            found = db.execute("select version from history where query = ? order by rowid", (query,)).fetchall()
        return list(dict.fromkeys(version for (version,) in found))

    def windows(self, since_ms: int = 0) -> list[WindowSeen]:
        text = "select p.query, h.at_ms, p.end_ms from panes p join history h on p.query = h.query and p.batch = h.batch"
        with self._open() as db:
            found = db.execute(f"{text} where h.at_ms >= ? order by h.at_ms", (since_ms,)).fetchall()
        return [WindowSeen(query, at, at - end - 1_000 * self._load.patience_s(query)) for query, at, end in found]

    def faults(self, query: str) -> list[str]:
        """What is lost, doubled or wrong; nothing, if every window up to the last is there once, with all of its rows."""
        with self._open() as db:
            text = "select end_ms, n, keys, low, high from panes where query = ? order by end_ms"
            panes = db.execute(text, (query,)).fetchall()
        if not panes:
            return [f"{query}: no window came out"]
        rows, wrong = WINDOW_S * self._load.rate(query), []
        if panes[0][3] != 0:
            wrong.append(f"{query}: rows before {panes[0][3]} are missing")
        for (end, _, _, _, high), (after, n, keys, low, top) in pairwise(panes):
            if after != end + 1_000 * WINDOW_S:
                wrong.append(f"{query}: a window comes {after - end} ms after another")
            if (n, keys, low, top) != (rows, rows, high + 1, high + rows):
                wrong.append(f"{query}: the window until {after} has {n} rows, {low} to {top}; expected {rows} after {high}")
        return wrong
