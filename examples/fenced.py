"""Rows per second into a table that only the newest incarnation of the query may write.

    headway run examples/fenced.py --seconds 20          # on its own: there is one incarnation, and nothing to refuse
    headway node --name n1 --token-file fleet.token      # on a node: each start has an epoch (docs/fleet-node.md)

A node that is frozen in the middle of a batch writes it when it wakes, though another node has gone on with the query since.
Here the table refuses it, in the same transaction in which it would take the rows.
"""

import os
import sqlite3
from pathlib import Path
from typing import Any

import headway as hw

TABLE = Path(os.environ.get("TABLE", "seconds.db"))


def connect() -> sqlite3.Connection:
    return sqlite3.connect(TABLE, timeout=30)


@hw.query()
def seconds(rt: hw.Runtime, spark: Any) -> Any:
    rows = spark.readStream.format("rate").option("rowsPerSecond", 50).load()
    marked = rt.watermark(rows, "timestamp", "2 seconds")  # this source hands out whole seconds
    counts = marked.selectExpr("window(timestamp, '1 second') as window").groupBy("window").count()
    epoch = hw.epoch(connect)

    def write(batch: Any, number: int) -> None:
        found = batch.selectExpr("unix_millis(window.end)", "count").collect()
        with connect() as table:  # commits at the end, takes everything back at an error
            table.execute("create table if not exists seconds (batch integer, ends integer, count integer)")
            epoch.check(table)  # before anything is written: it locks, and raises if a newer incarnation was here
            table.execute("delete from seconds where batch = ?", (number,))  # a batch that is run again is the same batch
            table.executemany("insert into seconds values (?, ?, ?)", [(number, *row) for row in found])

    return counts.writeStream.outputMode("append").foreachBatch(write)
