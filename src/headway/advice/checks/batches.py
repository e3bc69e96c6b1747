"""What batches are good for, and where their time goes."""

from collections.abc import Sequence
from itertools import pairwise

from headway.advice.advice import AdviceItem, share, span
from headway.advice.checks.looks import ENOUGH, of_headway, part_of_time, steady, usual
from headway.advice.checks.windows import waits
from headway.advice.history import JobHistory, StreamHistory

FUTILE = 0.8  # of the batches put out nothing
HEAVY = 0.3  # of the time of a batch


def wasted(query: StreamHistory, job: JobHistory) -> AdviceItem | None:
    """Of the batches of a windowed query only those matter that put out a window."""
    reports, out = query.reports, waits(query)
    if len(reports) < 2 * ENOUGH or len(out) < 2 or query.plan.trigger_ms:
        return None
    marks = [r.watermark or 0 for r in reports]
    deadlines = query.plan.deadlines
    assert deadlines is not None, "or no window would have come out"
    emits = sum(deadlines.after(before) <= now for before, now in pairwise(marks))
    futile = 1 - emits / (len(reports) - 1)
    busy = sum(r.took_ms for r in reports) / 1000 / max(query.seconds, 1)
    if futile < FUTILE or busy < 0.5:
        return None
    return AdviceItem(
        "batches-wasted", query.name, "medium" if job.cores is not None and job.crowd >= job.cores else "low",
        f"{share(futile)} of its batches put out no window",
        (
            f"{len(reports)} batches for {len(out)} windows in {span(query.seconds * 1000)}",
            f"it runs one {share(busy)} of the time",
        ),
        "a trigger of its own pace, .trigger(processingTime=...), or Headway, which needs one batch a window",
    )  # fmt: skip


def trigger_too_short(query: StreamHistory, job: JobHistory) -> AdviceItem | None:
    reports, every = steady(query), query.plan.trigger_ms
    took = usual(reports, lambda r: r.took_ms)
    if not every or len(reports) < ENOUGH or took <= every:
        return None
    over = sum(r.took_ms > every for r in reports) / len(reports)
    return AdviceItem(
        "trigger-too-short", query.name, "medium",
        f"it is to run every {span(every)}, and a batch usually takes {span(took)}",
        (f"{share(over)} of {len(reports)} batches took longer than the trigger allows",),
        "a longer trigger, or cheaper batches: see the other advice on this query",
    )  # fmt: skip


def giant(query: StreamHistory, job: JobHistory) -> AdviceItem | None:
    """One batch that held its slot, and its checkpoint, far longer than usual."""
    if len(query.reports) < ENOUGH:
        return None
    took, rows = usual(query.reports, lambda r: r.took_ms), usual(query.reports, lambda r: r.rows)
    worst = max(query.reports, key=lambda r: r.took_ms)
    if worst.took_ms < max(10_000, 10 * took) or worst.rows < 20 * max(rows, 1):
        return None
    return AdviceItem(
        "giant-batch", query.name, "medium",
        f"batch {worst.batch} read {worst.rows} rows and took {span(worst.took_ms)}",
        (
            f"usual are {rows:.0f} rows and {span(took)}",
            "nothing of it came out before its end, and if it fails all of it is read again",
        ),
        "a limit on the source, such as maxOffsetsPerTrigger or maxFilesPerTrigger: a backlog is then read in portions",
    )  # fmt: skip


def slow_log(query: StreamHistory, job: JobHistory) -> AdviceItem | None:
    if (much := _much_of_a_batch(query, ("walCommit", "commitOffsets"), least_ms=40)) is None:
        return None
    return AdviceItem(
        "slow-log", query.name, "medium",
        f"{much}, go into writing the offset and the commit log",
        ("on a local disk Hadoop starts a process for every file; on object stores every file is a request",),
        "hw.tune(builder) for local disks; elsewhere a file system with a fast rename, or fewer batches",
    )  # fmt: skip


def slow_planning(query: StreamHistory, job: JobHistory) -> AdviceItem | None:
    if (much := _much_of_a_batch(query, ("queryPlanning",), least_ms=150)) is None:
        return None
    return AdviceItem(
        "slow-planning", query.name, "low",
        f"{much}, go into planning it anew",
        ("Spark plans every batch from the start, rows or no rows",),
        "fewer batches, fewer columns and expressions, or one query in place of several that read the same",
    )  # fmt: skip


def slow_source(query: StreamHistory, job: JobHistory) -> AdviceItem | None:
    much = _much_of_a_batch(query, ("latestOffset", "getBatch"), least_ms=200)
    if much is None or of_headway(query):
        return None
    names = ", ".join(sorted({source.description[:60] for source in query.reports[-1].sources}))
    return AdviceItem(
        "slow-source", query.name, "medium",
        f"{much}, go into asking the source what there is",
        (names,),
        "for files: cleanSource or a folder for each day, so that fewer are listed; for others: ask their servers why",
    )  # fmt: skip


def _much_of_a_batch(query: StreamHistory, phases: Sequence[str], least_ms: float) -> str | None:
    """How much of a batch these phases take, in words; None if that is little, or if there are too few batches to say."""
    reports = steady(query)
    taken, part = part_of_time(reports, phases)
    if len(reports) < ENOUGH or taken < least_ms or part < HEAVY:
        return None
    return f"{span(taken)} of a batch, {share(part)} of it"
