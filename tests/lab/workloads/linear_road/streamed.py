"""Runs a feed through a streaming query, in several batches, until every window has closed."""

import json
import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

from headway_lab.workloads.feed import Feed
from headway_lab.workloads.linear_road import reports

DAY_MS = 86_400_000


def stream(spark: Any, feed: Feed, folder: Path, files: int = 2) -> Any:
    """The watermarked reports of a feed, one file a batch. A last row from the next day, of no known type, closes all.

    It has every field: what a join needs not to be null is left out before the watermark is read.
    """
    rows = [row.decode() for _, row, _ in feed.rows()]
    cuts = [len(rows) * i // files for i in range(files + 1)]
    texts = [rows[since:until] for since, until in pairwise(cuts)]
    closing = {"event_ms": int(feed.event_ms.max()) + DAY_MS, **dict.fromkeys(reports.FIELDS, -1), "type": 1}
    texts.append([json.dumps(closing)])
    place = folder / f"feed-{uuid4().hex}"
    place.mkdir()
    for at, text in enumerate(texts):
        path = place / f"{at}.json"
        path.write_text("\n".join(text))
        os.utime(path, (1_700_000_000 + at, 1_700_000_000 + at))  # Spark reads the files by their age
    lines = spark.readStream.option("maxFilesPerTrigger", 1).text(str(place))
    return reports.typed(lines).withWatermark("event_time", "100 milliseconds")


def emitted(frame: Any, folder: Path) -> list[dict[str, Any]]:
    """All rows that a streaming DataFrame gives in append mode."""
    name = f"linear_road_{uuid4().hex}"
    query = (
        frame.writeStream.format("memory")
        .queryName(name)
        .outputMode("append")
        .option("checkpointLocation", str(folder / name))
        .start()
    )
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    return [row.asDict(recursive=True) for row in frame.sparkSession.table(name).collect()]


def told(spark: Any, feed: Feed, folder: Path, ask: Callable[[Any], Any]) -> list[dict[str, Any]]:
    """What a query of reports emits for a feed."""
    return emitted(ask(stream(spark, feed, folder)), folder)
