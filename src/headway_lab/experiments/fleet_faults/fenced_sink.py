"""A sink in sqlite that only the newest incarnation of its query may write, and what is found in it afterwards.

A file of its own for each query: sqlite locks whole files, and a writer that is frozen must be in no other's way.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

from headway.fleet.epochs import FencedOff, SinkEpoch
from headway_lab.harness.file_sink import Written

SINK, HOLD, HELD, REFUSED = "sink", "hold", "held", "refused"  # folders below the run's
LOCK_S = 60.0


class FencedSink:
    """One query's."""

    def __init__(self, work: Path, name: str) -> None:
        self._work, self.name = work, name
        self._file = work / SINK / f"{name}.db"

    def make(self) -> None:
        """Once, before the query is submitted."""
        for folder in (SINK, HOLD, HELD, REFUSED):
            (self._work / folder).mkdir(exist_ok=True)
        with closing(self.connect()) as table, table:
            table.execute("pragma journal_mode=wal")
            table.execute("create table panes (batch integer, end_ms integer, key integer, n integer)")
            table.execute("create table history (batch integer, epoch integer)")

    def connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._file, timeout=LOCK_S)

    def writer(self, epoch: SinkEpoch) -> Callable[[Any, int], None]:
        """What `foreachBatch` calls on a node."""

        def write(batch: Any, number: int) -> None:
            rows = batch.collect()
            self._hold()
            try:
                with closing(self.connect()) as table, table:
                    epoch.check(table)
                    table.execute("delete from panes where batch = ?", (number,))
                    table.executemany("insert into panes values (?, ?, ?, ?)", [(number, *row) for row in rows])
                    table.execute("insert into history values (?, ?)", (number, epoch.number or 0))
            except FencedOff:
                (self._work / REFUSED / f"{self.name}-{epoch.number}-{number}").touch()
                raise

        return write

    def _hold(self) -> None:
        """In the middle of a batch, for as long as the bench, our parent, lives and wants this process to be there."""
        hold, bench = self._work / HOLD / str(os.getpid()), os.getppid()
        if hold.exists():
            (self._work / HELD / f"{os.getpid()}-{self.name}").touch()
            while hold.exists() and os.getppid() == bench:
                time.sleep(0.01)


class FencedSinks:
    """All of a run, as the bench reads them."""

    def __init__(self, work: Path, names: Sequence[str]) -> None:
        self._work, self._sinks = work, {name: FencedSink(work, name) for name in names}

    def make(self) -> None:
        for sink in self._sinks.values():
            sink.make()

    def newest(self) -> dict[str, int]:
        """The end of the newest window of each query; 0 of one that has put out none."""
        return {name: self._ask(name, "select coalesce(max(end_ms), 0) from panes")[0][0] for name in self._sinks}

    def rows(self) -> dict[str, Written]:
        """All that is there, to be compared with the truth."""
        query = "select end_ms, key, n from panes"
        return {name: [((end, key), n) for end, key, n in self._ask(name, query)] for name in self._sinks}

    def zombie_writes(self) -> int:
        """Batches that were written under an epoch after a newer one had written."""
        found = 0
        for name in self._sinks:
            epochs = [epoch for (epoch,) in self._ask(name, "select epoch from history order by rowid")]
            found += sum(later < earlier for earlier, later in pairwise(epochs))
        return found

    def refused(self) -> int:
        """Batches that the fence has kept out."""
        return len(list((self._work / REFUSED).iterdir()))

    def hold(self, pid: int) -> None:
        """The next batch of this process stays in the sink, before it has written anything, until `let_go`."""
        (self._work / HOLD / str(pid)).touch()

    def held(self, pid: int) -> bool:
        return any((self._work / HELD).glob(f"{pid}-*"))

    def let_go(self, pid: int) -> None:
        (self._work / HOLD / str(pid)).unlink(missing_ok=True)

    def _ask(self, name: str, query: str) -> list[Any]:
        with closing(self._sinks[name].connect()) as table:
            return table.execute(query).fetchall()
