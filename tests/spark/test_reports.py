"""Reports of finished batches: each is taken in once, and whoever asked for it is told."""

import json
from pathlib import Path
from typing import Any

from headway.model.message import BatchSeen
from headway.spark.listening.reports import BatchReports
from headway.spark.memory import FILE, Memory

SOURCE = "KafkaV2[Subscribe[rides]]"


class LastReport:
    """A query's last report, as Spark's object has it."""

    def __init__(self, batch: int, rows: int = 5) -> None:
        sampled = {
            "rows": rows, "timed": rows, "newest": 900, "oldest": 100, "delays": [{"x": 3.0, "y": 5.0}], "old": [],
            "subs": [[1, rows, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]], "keys": [],
        }  # fmt: skip
        self.report = {
            "name": "q", "id": "1", "batchId": batch, "timestamp": f"2026-01-01T00:00:{batch:02}.000Z", "numInputRows": rows,
            "durationMs": {"addBatch": 5, "triggerExecution": 20},
            "observedMetrics": {"headway:a/500": {"tally": json.dumps(sampled)}},
            "sources": [
                {"description": SOURCE, "endOffset": {"rides": {"0": 10 + batch}}}, {"description": "rate", "endOffset": 3},
            ],
        }  # fmt: skip

    def json(self) -> str:
        return json.dumps(self.report)

    def equals(self, other: Any) -> bool:
        return other is self


class Query:
    """What `BatchReports` knows of a streaming query."""

    def __init__(self) -> None:
        self._jsq = self
        self.last: LastReport | None = None

    def lastProgress(self) -> LastReport | None:
        return self.last


def test_every_batch_is_told_once_to_whom_it_concerns(tmp_path: Path) -> None:
    posted: list[BatchSeen] = []
    committed: list[tuple[str, ...]] = []
    reports, query = BatchReports(posted.append, lambda *each: committed.append(each)), Query()
    reports.memories["q"], reports.groups["q"] = Memory(tmp_path), "lag"
    reports.read("q", query)
    assert posted == []  # before the first batch there is none
    for told in (LastReport(0), LastReport(0), LastReport(1)):  # the second is another object with the same news
        query.last = told
        reports.read("q", query)
        reports.read("q", query)
    assert [seen.batch for seen in posted] == [0, 1]
    assert committed == [("lag", SOURCE, json.dumps({"rides": {"0": 10 + batch}})) for batch in (0, 1)]
    assert [json.loads(line)["batch"] for line in (tmp_path / FILE).read_text().splitlines()] == [0, 1]
    (seen,) = posted[0].inputs
    assert (seen.name, seen.rows, seen.timeless, seen.old) == ("a", 5, 0, ((100, 5.0),))


def test_who_asked_for_nothing_is_told_nothing(tmp_path: Path) -> None:
    posted: list[BatchSeen] = []
    committed: list[tuple[str, ...]] = []
    reports, query = BatchReports(posted.append, lambda *asked: committed.append(asked)), Query()
    query.last = LastReport(3)
    reports.read("q", query)
    assert len(posted) == 1 and not committed
