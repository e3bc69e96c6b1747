"""Whether there is enough machine for the queries, and which of them goes without."""

from headway.advice.advice import AdviceItem, span
from headway.advice.checks.looks import ENOUGH, of_headway, quantile, steady, thirds, usual
from headway.advice.history import JobHistory, StreamHistory

STRETCHED = 2.5  # times as long as when it ran undisturbed
GROWN_MS = 30_000


def falling_behind(query: StreamHistory, job: JobHistory) -> AdviceItem | None:
    reports = steady(query)
    if len(reports) < 2 * ENOUGH:
        return None
    first, _, last = thirds(reports)
    told = [r for r in reports if r.behind is not None]
    if len(told) == len(reports):
        was, now = usual(first, lambda r: r.behind or 0), usual(last, lambda r: r.behind or 0)
        grown = now > 2 * was and now > 3 * usual(reports, lambda r: r.rows) > 0
        seen = f"{was:.0f} rows waited in the first third of the time, {now:.0f} in the last"
    else:
        timed = [[r for r in part if r.newest is not None] for part in (first, last)]
        if not all(timed):
            return None
        was, now = (usual(part, lambda r: r.began - (r.newest or 0)) for part in timed)
        grown = now - was > max(GROWN_MS, query.seconds * 100)
        seen = f"its newest row was {span(was)} old in the first third of the time, {span(now)} in the last"
    if not grown:
        return None
    return AdviceItem(
        "falling-behind", query.name, "high", "it cannot keep up with its source", (seen,),
        "more cores, fewer queries beside it, or fewer and larger batches: what a batch costs by itself is spared then",
    )  # fmt: skip


def starved(query: StreamHistory, job: JobHistory) -> AdviceItem | None:
    """Its batches take far longer than they need, because others have the cores."""
    reports = steady(query)
    if len(reports) < 2 * ENOUGH or len(job.queries) < 2 or job.cores is None or job.crowd < job.cores or of_headway(query):
        return None
    least, now = quantile([r.took_ms for r in reports], 0.05), usual(reports, lambda r: r.took_ms)
    rows = usual(reports, lambda r: r.rows)
    small = usual([r for r in reports if r.took_ms <= least], lambda r: r.rows)
    if now < STRETCHED * least or rows > 2 * max(small, 1):
        return None
    return AdviceItem(
        "starved", query.name, "medium",
        f"its batches usually take {span(now)}, and as little as {span(least)} when they are let",
        (f"{job.crowd:.1f} batches of {len(job.queries)} queries run at once on {job.cores} cores",),
        "fewer batches: those that put out nothing make the others wait; Headway lets the one run whose window is due",
    )  # fmt: skip
