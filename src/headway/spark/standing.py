"""`rt.status()`: what the controller knows of each query, and what its supervisor does."""

import json
import time
from dataclasses import replace
from typing import Any

from headway.loop.trouble import says
from headway.model.status import LastBatch, QueryStatus, RuntimeStatus
from headway.model.time import WallMs
from headway.spark.late import LateCount, counts, unkept
from headway.spark.progress import batch_seen
from headway.spark.supervisor import Watched


def status(runtime: Any) -> RuntimeStatus:
    """How the runtime and its queries stand: a value of its own, which nobody changes. Any thread may ask, at any time."""
    if not runtime._stopped:
        runtime._supervisor.look()
    now = WallMs(time.time_ns() // 1_000_000)
    gated = runtime.order.gated
    told = runtime._supervision.status() if gated else RuntimeStatus(now, type(runtime.order).__name__)
    known = {q.name: q for q in told.queries}
    for watched in runtime._supervisor.watched():
        known[watched.name] = _overlaid(known.get(watched.name), watched, now)
    hanging = runtime._batches.hanging if gated else {}
    return replace(told, queries=tuple(replace(q, hangs=hanging.get((q.name, q.since))) for q in known.values()))


def late_counts(runtime: Any) -> list[LateCount]:
    """How many rows went into no result, by query, input and reason; counted with or without a side table.

    Over all runs of a query in this runtime, also when it has ended or failed. Those that are in no side table either,
    because it could not be written, are counted again as `unkept`.
    """
    lost = [] if runtime._stopped else [count for folder in sorted(runtime._late) for count in unkept(runtime.spark, folder)]
    return [*(counts(runtime._supervision.status().queries) if runtime.order.gated else ()), *lost]


def _overlaid(known: QueryStatus | None, watched: Watched, now: WallMs) -> QueryStatus:
    """The supervisor knows best who lives; of those who do, the controller knows what they do."""
    query = known or QueryStatus(watched.name, "between batches", now)
    query = replace(query, id=watched.id, run=watched.run, restarts=watched.restarted)
    if watched.state is not None:
        error = query.error if watched.error is None else says(watched.error)
        return replace(query, state=watched.state, since=watched.since, error=error, stalled=False)
    if known is None or known.state in ("ended", "failed", "put aside"):  # it lives, but not at our gate
        query = replace(query, last=_last(watched), state="put aside" if known else _ungated(watched))
    elif known.stalled and not _triggered(watched):
        query = replace(query, state="between batches")
    return query


def _ungated(watched: Watched) -> Any:
    return "in a batch" if _triggered(watched) else "between batches"


def _triggered(watched: Watched) -> bool:
    return bool(watched.query.status["isTriggerActive"])


def _last(watched: Watched) -> LastBatch | None:
    progress = watched.query._jsq.lastProgress()
    seen = None if progress is None else batch_seen(json.loads(progress.json()), watched.name)
    return None if seen is None else LastBatch(seen.batch, seen.rows, seen.took_ms, seen.ended, seen.watermark)
