"""When windows came out."""

from headway.advice.advice import AdviceItem, span
from headway.advice.checks.looks import ENOUGH, quantile
from headway.advice.history import JobHistory, StreamHistory
from headway.model.time import EventMs

LATE_MS = 500  # later than that beyond the delay, and a tenth of the window's pace, a window is late


def waits(query: StreamHistory) -> list[tuple[EventMs, int]]:
    """Each window that came out while we looked: its end, and how long after its end and the delay that was."""
    deadlines, delay = query.plan.deadlines, query.plan.delay_ms
    found: list[tuple[EventMs, int]] = []
    last: int | None = None
    for report in query.reports:
        if deadlines is None or delay is None or report.watermark is None:
            continue
        end = deadlines.after(last) if last is not None else None
        while end is not None and end <= report.watermark:
            found.append((end, report.ended - end - delay))
            end = deadlines.after(end)
        last = max(report.watermark, last or 0)
    return found


def late(query: StreamHistory, job: JobHistory) -> AdviceItem | None:
    found = [wait for _, wait in waits(query)]
    if len(found) < ENOUGH or query.plan.deadlines is None or query.plan.delay_ms is None:
        return None
    period = query.plan.deadlines.period_ms
    bound = max(LATE_MS, period / 10) + 2 * (query.plan.trigger_ms or 0)  # Spark needs two batches for a window
    usual, worst = quantile(found, 0.5), quantile(found, 0.95)
    if usual <= bound:
        return None
    many = sum(wait > bound for wait in found)
    return AdviceItem(
        "windows-late", query.name, "high" if usual > max(2 * LATE_MS, period / 3) else "medium",
        f"half of its windows come out more than {span(usual)} after the end of the window and the delay of"
        f" {span(query.plan.delay_ms)}",
        (f"{many} of {len(found)} windows later than {span(bound)}; one in twenty by {span(worst)} or more",),
        "let Headway decide when it runs: it then has a batch at the moment at which a window is due",
    )  # fmt: skip
