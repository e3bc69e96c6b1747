"""The queries of the fleet, as the text of a pipeline file: windows of counts, at a fixed processor time for each row.

The time is burnt in Python and measured by the thread's own clock, so that a row costs the same in a young JVM and in an old
one, and takes as much longer as others take of the node's share.
"""

from collections.abc import Sequence
from pathlib import Path

from headway_lab.experiments.fleet_live.feed import SCHEMA

HEAD = '''"""Counts of {count} streams, at {row_ms:g} ms of processor time a row."""

import headway as hw

FEED, ROW_MS, WINDOW = {feed!r}, {row_ms!r}, "{window_ms} milliseconds"


def counted(rt, spark, name):
    from pyspark.sql import functions as F

    row_s = ROW_MS / 1000

    def burn(batches):
        import time

        for batch in batches:
            end = time.thread_time() + batch.num_rows * row_s
            while time.thread_time() < end:
                pass
            yield batch

    rows = spark.readStream.schema("{schema}").json(FEED + "/" + name).mapInArrow(burn, "{schema}")
    marked = rt.watermark(rows.selectExpr("timestamp_millis(at) as event_time", "value"), "event_time", "1500 ms")
    return marked.groupBy(F.window("event_time", WINDOW)).agg(F.count("*").alias("rows")).writeStream.format("noop")
'''
QUERY = """

@hw.query()
def {name}(rt, spark):
    return counted(rt, spark, "{name}")
"""


def names(count: int) -> list[str]:
    return [f"q{number:02}" for number in range(1, count + 1)]


def pipeline_text(queries: Sequence[str], feed: Path, row_ms: float, window_ms: int) -> str:
    head = HEAD.format(count=len(queries), row_ms=row_ms, feed=str(feed), window_ms=window_ms, schema=SCHEMA)
    return head + "".join(QUERY.format(name=name) for name in queries)
