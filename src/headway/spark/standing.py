"""`rt.status()`: what the controller knows of each query, and what its supervisor does."""

import json
import time
from dataclasses import replace
from typing import Any

from headway.loop.trouble import says
from headway.model.decision import OrderPolicy
from headway.model.status import LastBatch, QueryStatus, RuntimeStatus
from headway.model.time import WallMs
from headway.spark.listening.progress import batch_seen
from headway.spark.queries import Queries
from headway.spark.supervisor import Watched


def status(queries: Queries, order: OrderPolicy) -> RuntimeStatus:
    """What the controller told, and over it what the supervisor knows better."""
    if not queries.stopped:
        queries.supervisor.look()
    now = WallMs(time.time_ns() // 1_000_000)
    told = RuntimeStatus(now, type(order).__name__) if queries.plane is None else queries.plane.status()
    known = {q.name: q for q in told.queries}
    for watched in queries.supervisor.watched():
        known[watched.name] = _overlaid(known.get(watched.name), watched, now)
    hanging = queries.hanging
    return replace(told, queries=tuple(replace(q, hangs=hanging.get((q.name, q.since))) for q in known.values()))


def _overlaid(known: QueryStatus | None, watched: Watched, now: WallMs) -> QueryStatus:
    """The supervisor knows which queries live; the controller knows what those do."""
    query = known or QueryStatus(watched.name, "between batches", now)
    query = replace(query, id=watched.id, run=watched.run, restarts=watched.restarted)
    if watched.state is not None:
        error = query.error if watched.error is None else says(watched.error)
        return replace(query, state=watched.state, since=watched.since, error=error, stalled=False, view=None)
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
