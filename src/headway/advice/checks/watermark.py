"""Whether the watermark says what it should."""

from math import ceil

from headway.advice.advice import AdviceItem, share, span
from headway.advice.checks.looks import ENOUGH, late_at_most, lateness, quantile
from headway.advice.history import JobHistory, StreamHistory

SPARE = 1.5  # of the longest lateness seen: what we would advise
LEAST_MS = 500
FUTURE_MS = 3_600_000


def advised_ms(late: list[int]) -> float:
    """A delay that would have refused nothing of what was seen, and has something in hand."""
    return max(LEAST_MS, ceil(SPARE * max(late) / 100) * 100)


def could_be(query: StreamHistory) -> tuple[str, ...]:
    """What its delay could be, from one that refuses nothing that was seen to a quarter of it, and what each would cost."""
    longest = ceil(max(lateness(query), default=0) / 100) * 100
    told = []
    for delay in dict.fromkeys(max(100, ceil(longest * part / 100) * 100) for part in (1, 0.75, 0.5, 0.25)):
        if longest and (most := late_at_most(query, delay)) is not None:
            told.append(f"with {span(delay)} {'none' if most == 0 else f'at most {share(most)}'}")
    return (f"of the rows seen would be late: {', '.join(told)}",) if told else ()


def delay_too_long(query: StreamHistory, job: JobHistory) -> AdviceItem | None:
    late, delay = lateness(query), query.plan.delay_ms
    if delay is None or len(late) < 3 * ENOUGH or delay <= 2 * advised_ms(late):
        return None
    wanted, most = advised_ms(late), quantile(late, 0.99)
    return AdviceItem(
        "delay-too-long", query.name, "medium",
        f"its watermark waits {span(delay)}, and no row was more than {span(max(late))} late",
        (
            f"{len(late)} batches seen; in 99 % of them the oldest row was at most {span(most)} late",
            f"with {span(wanted)} no row seen would have been refused, and windows would come {span(delay - wanted)} sooner",
            *could_be(query),
        ),
        f'withWatermark(..., "{wanted:.0f} milliseconds"), or hw.patience.Quantile, which follows the delays as they change',
    )  # fmt: skip


def delay_too_short(query: StreamHistory, job: JobHistory) -> AdviceItem | None:
    refused, rows = sum(r.refused for r in query.reports), sum(r.rows for r in query.reports)
    if not refused:
        return None
    late = lateness(query)
    need = f"at least {span(max(late))}, to go by the oldest rows seen" if late else "longer"
    delay = "" if query.plan.delay_ms is None else f" of {span(query.plan.delay_ms)}"
    return AdviceItem(
        "delay-too-short", query.name, "high" if rows and refused > rows / 100 else "medium",
        f"{refused} rows (or partial results) came after the watermark{delay} and are in no window",
        (
            f"that is {share(refused / rows) if rows else 'all'} of {rows} rows read", "Spark drops them without a word",
            *could_be(query),
        ),
        f"a delay of {need}; under Headway they are counted before any aggregation, and kept with late=FOLDER",
    )  # fmt: skip


def stuck(query: StreamHistory, job: JobHistory) -> AdviceItem | None:
    """Rows come, and windows do not."""
    timed = [r for r in query.reports if r.newest is not None and r.rows]
    if len(timed) < ENOUGH:
        return None
    last = timed[-1]
    since = next((r for r in timed if r.watermark == last.watermark), last)
    stood = last.began - since.began
    pace = query.plan.deadlines.period_ms if query.plan.deadlines else 0
    bound = max(30_000, 3 * (query.plan.delay_ms or 0), 3 * pace)
    came = sum(r.began >= since.began for r in timed)
    newest = max(r.newest or 0 for r in timed)
    if stood < bound or came < ENOUGH // 2 or newest - (last.watermark or 0) < (query.plan.delay_ms or 0) + bound / 2:
        return None
    several = max(len(r.sources) for r in timed) > 1
    return AdviceItem(
        "watermark-stuck", query.name, "high",
        f"its watermark has stood still for {span(stood)} while rows came in {came} batches",
        ("the slowest input decides: one that is silent holds back all windows",) if several else
        ("one input, so it is the watermark itself: rows older than the newest one seen do not move it",),
        "find the input that is silent; under Headway idle_after= lets the others go on",
    )  # fmt: skip


def ahead(query: StreamHistory, job: JobHistory) -> AdviceItem | None:
    """One row from the future moves the watermark there, and all that comes after it is late."""
    far = [r for r in query.reports if r.newest is not None and r.newest > r.ended + FUTURE_MS]
    if not far:
        return None
    worst = max((r.newest or 0) - r.ended for r in far)
    return AdviceItem(
        "watermark-ahead", query.name, "high",
        f"rows are stamped up to {span(worst)} ahead of the clock, and the watermark follows them",
        (f"in {len(far)} of {len(query.reports)} batches; every row that comes in time after that counts as late",),
        "filter such rows before withWatermark; Headway sets aside what is further ahead than horizon= and counts it",
    )  # fmt: skip
