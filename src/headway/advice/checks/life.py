"""Whether a query runs at all."""

from headway.advice.advice import AdviceItem, span
from headway.advice.checks.looks import usual
from headway.advice.history import JobHistory, StreamHistory

SILENT_MS = 60_000  # Spark tells of a query without rows every ten seconds
RESTARTS = 2


def died(query: StreamHistory, job: JobHistory) -> AdviceItem | None:
    if query.error is None:
        return None
    return AdviceItem(
        "query-died", query.name, "high", "it has failed, and the job goes on without it", (query.error,),
        "rt.start(..., restart=3) starts it again, and rt.await_termination() tells of it within two seconds",
    )  # fmt: skip


def silent(query: StreamHistory, job: JobHistory) -> AdviceItem | None:
    """No report for long, while the job goes on: a batch that hangs, mostly."""
    if query.error is not None or not query.last_heard:
        return None
    quiet = job.until - query.last_heard
    if quiet < max(SILENT_MS, 10 * usual(query.reports, lambda r: r.took_ms), 3 * (query.plan.trigger_ms or 0)):
        return None
    return AdviceItem(
        "query-silent", query.name, "high", f"nothing was heard of it for {span(quiet)}, and it has not failed",
        (f"its last report was of batch {query.reports[-1].batch}" if query.reports else "it has not finished a batch",),
        "look at the stack of its batch in Spark's UI; Headway names a batch that hangs, with its stack (hang_after=)",
    )  # fmt: skip


def restarts(query: StreamHistory, job: JobHistory) -> AdviceItem | None:
    runs = len({report.run for report in query.reports})
    if runs <= RESTARTS:
        return None
    return AdviceItem(
        "query-restarts", query.name, "medium", f"it was started {runs} times",
        (f"in {span(query.seconds * 1000)}",),
        "find out why it ends; each start plans anew and loads its state",
    )  # fmt: skip
