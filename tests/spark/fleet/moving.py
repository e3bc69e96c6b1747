"""Two real nodes, a pipeline that both can run, a sink with a fence, and the truth about what must be in it."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, pairwise
from pathlib import Path
from typing import Any

from headway.fleet.client import NodeClient, NodeUnreachable
from headway.fleet.node.wire import Action, CommandReceipt, HostedQuery, NodeCommand
from spark.scripted import wait_until

TOKEN = "a-token-for-two-nodes-of-a-test"
ROWS, KEYS = 100, 20  # rows per second, and keys: so many rows of a second have each key
NUMBERS = count(1)

PIPELINE = """
import sqlite3

from pyspark.sql import functions as F

import headway as hw

SINK = {sink!r}


def views(rt, spark, name):
    rows = spark.readStream.format("rate").option("rowsPerSecond", {rows}).load()
    marked = rt.watermark(rows, "timestamp", "3 seconds")  # this source hands out whole seconds
    panes = marked.selectExpr("window(timestamp, '1 second') as w", "value % {keys} as key", "value")
    counts = panes.groupBy("w", "key").agg(
        F.count("value").alias("n"), F.min("value").alias("low"), F.max("value").alias("high"))
    epoch = hw.epoch(lambda: sqlite3.connect(SINK, timeout=30))

    def write(batch, number):
        found = batch.selectExpr("unix_millis(w.end)", "key", "n", "low", "high").collect()
        with sqlite3.connect(SINK, timeout=30) as db:
            epoch.check(db)
            db.execute("delete from panes where query = ? and batch = ?", (name, number))
            db.executemany("insert into panes values (?, ?, ?, ?, ?, ?, ?)", [(name, number, *row) for row in found])
            db.execute("insert into history values (?, ?, ?, ?)", (name, number, epoch.number, len(found)))

    return counts.writeStream.outputMode("append").foreachBatch(write)


@hw.query()
def counts(rt, spark):
    return views(rt, spark, "counts")


@hw.query()
def stays(rt, spark):
    return views(rt, spark, "stays")


@hw.query()
def broken(rt, spark):
    raise ValueError("not on this node")
"""


class NodeProcess:
    """A node with a JVM of its own; both are one group of processes."""

    def __init__(
        self, name: str, work: Path, *options: str, env: Mapping[str, str] | None = None, before: Sequence[str] = ()
    ) -> None:
        """`before` are the words of a command that runs this one."""
        self.name, self.work = name, work
        (work / "token").write_text(TOKEN)
        words = [*before, sys.executable, str(Path(__file__).with_name("node_child.py")), "--name", name]
        words += ["--token-file", str(work / "token"), "--memory", "512m", "--journal", str(work / f"{name}.db"), *options]
        self.log = (work / f"{name}.log").open("ab")
        self.process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=self.log, text=True, start_new_session=True, env=env
        )
        self.url = ""

    def ready(self) -> "NodeProcess":
        assert self.process.stdout is not None
        line = self.process.stdout.readline().split()
        assert line[:3] == ["node", self.name, "at"], (self.work / f"{self.name}.log").read_text()[-2_000:]
        self.url = line[3]
        self.client = NodeClient(self.url, TOKEN)
        return self

    def ask(self, action: Action, query: str, epoch: int, **more: Any) -> CommandReceipt:
        return self.client.send(NodeCommand(f"{query}-{next(NUMBERS)}", action, query, epoch, **more))

    def did(self, action: Action, query: str, epoch: int, **more: Any) -> CommandReceipt:
        receipt = self.ask(action, query, epoch, **more)
        assert receipt.done, receipt.because
        return receipt

    def hosted(self, query: str) -> HostedQuery | None:
        try:
            return next((q for q in self.client.status().queries if q.name == query), None)
        except NodeUnreachable:
            return None

    def await_commits(self, query: str, epoch: int, commits: int) -> HostedQuery:
        found: list[HostedQuery] = []

        def enough() -> bool:
            told = self.hosted(query)
            if told is not None and told.epoch == epoch:
                assert told.error is None, told.error
                found[:] = [told]
            return bool(found) and found[0].commits >= commits

        wait_until(enough, f"{commits} batches of {query} on {self.name}")
        return found[0]

    def end(self, kind: signal.Signals = signal.SIGTERM) -> int:
        """As a user ends it; what is left after that is killed."""
        if self.process.poll() is None:
            self.process.send_signal(kind)
        try:
            return self.process.wait(90)
        finally:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
            if self.process.stdout is not None:
                self.process.stdout.close()
            self.log.close()


class Fleet:
    """Two nodes over one folder of checkpoints."""

    def __init__(self, work: Path, *options: str, env: Mapping[str, str] | None = None) -> None:
        self.work, self.sink, self.file = work, work / "sink.db", work / "pipeline.py"
        self.file.write_text(PIPELINE.format(sink=str(self.sink), rows=ROWS, keys=KEYS))
        with sqlite3.connect(self.sink) as db:
            db.execute("pragma journal_mode=wal")
            db.execute("create table panes (query text, batch int, end_ms int, key int, n int, low int, high int)")
            db.execute("create table history (query text, batch int, epoch int, n int)")
        self._options, self._env = options, env
        made = [self.begun(name) for name in ("a", "b")]
        self.a, self.b = (node.ready() for node in made)

    def begun(self, name: str) -> NodeProcess:
        return NodeProcess(name, self.work, *self._options, env=self._env)

    def folder(self, query: str, epoch: int) -> str:
        return str(self.work / "checkpoints" / query / f"i-{epoch}")

    def plan(self, query: str, epoch: int, *origins: int) -> dict[str, Any]:
        """What a node must be told of where the incarnation comes from and goes to."""
        came = tuple(self.folder(query, n) for n in origins)
        return {"file": str(self.file), "folder": self.folder(query, epoch), "origins": came}

    def check(self, query: str) -> int:
        """Every pane up to the last window is there once, with all of its rows: how many windows that are."""
        with sqlite3.connect(self.sink, timeout=30) as db:
            rows = db.execute("select end_ms, key, n, low, high from panes where query = ? order by end_ms, key", (query,))
            panes = rows.fetchall()
        ends = sorted({end for end, *_ in panes})
        assert len(panes) == len({(end, key) for end, key, *_ in panes}), "a pane came out twice"
        assert [b - a for a, b in pairwise(ends)] == [1_000] * (len(ends) - 1), "a window is missing"
        by_window = {end: [pane for pane in panes if pane[0] == end] for end in ends}
        for end in ends[1:]:  # the stream began within the first
            assert [(key, n) for _, key, n, _, _ in by_window[end]] == [(key, ROWS // KEYS) for key in range(KEYS)]
        spans = [(min(p[3] for p in by_window[end]), max(p[4] for p in by_window[end])) for end in ends]
        assert all(high + 1 == low for (_, high), (low, _) in pairwise(spans)), "rows are missing between two windows"
        assert spans[0][0] == 0, "the first rows are missing"
        return len(ends)

    def windows(self, query: str) -> int:
        with sqlite3.connect(self.sink, timeout=30) as db:
            return int(db.execute("select count(distinct end_ms) from panes where query = ?", (query,)).fetchone()[0])

    def end(self) -> list[int]:
        return [node.end() for node in (self.a, self.b)]


def fleet_in(work: Path) -> Iterator[Fleet]:
    made = Fleet(work)
    try:
        yield made
    finally:
        made.end()
