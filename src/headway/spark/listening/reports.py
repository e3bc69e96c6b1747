"""What Spark reports of finished batches: taken in when a query asks for the next one, since its report is ready then."""

import json
from collections.abc import Callable
from typing import Any

from headway.model.message import BatchSeen
from headway.spark.listening.progress import batch_seen, is_kafka
from headway.spark.memory import Memory


class BatchReports:
    """The reports of a runtime's queries, and what is told of them."""

    def __init__(self, post: Callable[[BatchSeen], None], commit: Callable[[str, str, str], None]) -> None:
        self.memories: dict[str, Memory] = {}  # of the queries that are sampled
        self.groups: dict[str, str] = {}  # Kafka's, of the queries that say how far they have read
        self._post, self._commit = post, commit
        self._last: dict[str, Any] = {}
        self._batch: dict[str, tuple[int, int]] = {}

    def read(self, name: str, query: Any) -> None:
        """Take in the last report of a query, if it is new."""
        progress = query._jsq.lastProgress()
        if progress is None or progress.equals(self._last.get(name)):
            return  # an idle query asks again and again, and reading its report is what costs
        self._last[name] = progress
        report = json.loads(progress.json())
        seen = batch_seen(report, name)
        if seen is None or self._batch.get(name) == (seen.batch, seen.began):
            return
        self._batch[name] = (seen.batch, seen.began)
        self._post(seen)
        if name in self.memories:
            self.memories[name].add(seen)
        if name in self.groups:
            for source in report["sources"]:
                if is_kafka(source["description"]):
                    self._commit(self.groups[name], source["description"], json.dumps(source["endOffset"]))
