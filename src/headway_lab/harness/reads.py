"""How much of its input a live query has read, by the offsets that Spark reports."""

import json
from collections.abc import Mapping
from typing import Any

from headway.kafka import topics
from headway_lab.harness.tasks import Task


def unread(task: Task, reports: Mapping[int, dict[str, Any]]) -> int:
    """Rows in a task's log beyond those that its batches have read; 0 where there is no log."""
    from headway.spark.listening.progress import is_kafka, rows_of

    log = getattr(task, "log", None)
    if log is None or not reports:
        return 0
    sources = reports[max(reports)]["sources"]
    read = sum(rows_of(source["endOffset"]) for source in sources if is_kafka(source["description"]))
    return max(0, sum(topics.ends(log.address, log.topic).values()) - read)


def rows_read(reports: list[dict[str, Any]], stretch: Any, rate: int) -> int:
    """Rows that the batches of a stretch took in, by the offsets that they cover: of a log, or of a generator's clock."""
    from headway.spark.listening.progress import batch_seen, is_kafka, rows_of

    covered = rows = 0
    for report in reports:
        seen = batch_seen(report)
        if seen is None or not stretch.since_ms <= seen.ended < stretch.until_ms:
            continue
        for source in report["sources"]:
            start, end = (_offset(source.get(key)) for key in ("startOffset", "endOffset"))
            if start and end and "ms" in end:
                covered += end["ms"] - start["ms"]
            elif end and is_kafka(source["description"]):
                rows += rows_of(end) - rows_of(start)
    return rows + covered * rate // 1000


def _offset(raw: Any) -> dict[str, int]:
    return json.loads(raw) if isinstance(raw, str) else raw or {}
