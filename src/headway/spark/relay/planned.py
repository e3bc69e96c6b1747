"""What Spark's own log says of a batch that runs: what it reads, and by which watermark it puts out results."""

import hashlib
from dataclasses import dataclass
from typing import Any

from headway.errors import HeadwayError
from headway.model.time import EventMs


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """A batch as it stands in the log."""

    number: int
    digest: str  # of what it reads
    watermark: EventMs | None  # by which it puts out results; None: none yet


@dataclass(frozen=True, slots=True)
class PlannedStage:
    """A query that writes to a topic."""

    name: str
    lineage: str  # Spark's id of it, which stands in the checkpoint
    mode: str
    of_windows: bool  # its rows are results of windows, and these end later than any watermark before
    _execution: Any

    def planned(self, number: int) -> BatchPlan:
        found = self._execution.offsetLog().get(number)
        if not found.isDefined():
            raise HeadwayError(f"batch {number} of {self.name!r} is not in Spark's log")
        log = found.get()
        offsets, about = log.offsets(), log.metadataOpt()
        read = [offsets.apply(n).get().json() if offsets.apply(n).isDefined() else "-" for n in range(offsets.size())]
        watermark = int(about.get().batchWatermarkMs()) if about.isDefined() else 0
        digest = hashlib.sha256("\n".join(map(str, read)).encode()).hexdigest()[:16]
        return BatchPlan(number, digest, EventMs(watermark) if watermark > 0 else None)


def stage_of(session: Any) -> PlannedStage:
    """The query whose batch this thread runs. `session` is the one that it was started in; it runs in a copy of that."""
    query_id = session.sparkContext.getLocalProperty("sql.streaming.queryId")
    query = None if query_id is None else session.streams.get(query_id)
    if query is None:
        raise HeadwayError("a relay's writer is for foreachBatch of a streaming query")
    execution = query._jsq.streamingQuery()
    plan = str(execution.lastExecution().analyzed().toString())
    of_windows = "Aggregate [" in plan and "Join " not in plan
    return PlannedStage(query.name, str(query.id), str(execution.outputMode().toString()), of_windows, execution)
