"""What several checks look at."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from statistics import median

from headway.advice.history import ProgressReport, StreamHistory

ENOUGH = 10  # batches; with fewer nothing is said of what is usual
YOUNG_MS = 60_000  # a JVM's first minute is slow for all queries


def steady(query: StreamHistory) -> Sequence[ProgressReport]:
    """Its batches without those of its youth: a fifth of the time, a minute at most."""
    if not query.reports:
        return ()
    first = query.reports[0].began
    young = min(YOUNG_MS, (query.reports[-1].began - first) / 5)
    return [report for report in query.reports if report.began >= first + young]


def usual(reports: Sequence[ProgressReport], figure: Callable[[ProgressReport], float]) -> float:
    return float(median(map(figure, reports))) if reports else 0.0


def part_of_time(reports: Sequence[ProgressReport], phases: Sequence[str]) -> tuple[float, float]:
    """How long these phases of a batch usually take, and which share of the batch that is."""
    taken = usual(reports, lambda report: sum(report.phases.get(name, 0) for name in phases))
    whole = usual(reports, lambda report: report.took_ms)
    return taken, taken / whole if whole else 0.0


def thirds(reports: Sequence[ProgressReport]) -> tuple[Sequence[ProgressReport], ...]:
    n = len(reports) // 3
    return reports[:n], reports[n : 2 * n], reports[2 * n :]


def quantile(values: Sequence[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def lateness(query: StreamHistory) -> list[int]:
    """For each batch by how much its oldest row was behind the newest of all batches before: what a delay is there for."""
    timed = [report for report in query.reports if report.oldest is not None and report.newest is not None]
    newest = accumulate((report.newest or 0 for report in timed), max)
    return [max(0, before - (report.oldest or 0)) for before, report in zip(newest, timed[1:], strict=False)]


def late_at_most(query: StreamHistory, delay_ms: float) -> float | None:
    """Which share of its rows such a delay could have cost, at most; None where no event times were seen.

    A report has the oldest, the mean and the newest event time of a batch, and not each row's. But if the mean lies close to
    the newest, few rows can be far behind it: of rows that are `newest - mean` behind on average, no more than
    (newest - mean) / (newest - limit) are behind the limit (Markov). And a row behind the watermark is not lost while its
    window is open. So what a delay really costs is less.
    """
    timed = [r for r in query.reports if r.oldest is not None and r.newest is not None and r.rows]
    rows = sum(report.rows for report in timed[1:])
    if not rows:
        return None
    newest = accumulate((report.newest or 0 for report in timed), max)
    return sum(_behind(report, before - delay_ms) for before, report in zip(newest, timed[1:], strict=False)) / rows


def _behind(report: ProgressReport, limit: float) -> float:
    """How many of its rows can be older than this."""
    oldest, newest = report.oldest or 0, report.newest or 0
    if oldest >= limit:
        return 0.0
    if newest <= limit or report.mean is None:
        return report.rows
    return report.rows * min(1.0, (newest - report.mean) / (newest - limit))


def of_headway(query: StreamHistory) -> bool:
    """Under Headway a query waits at its gate, which Spark counts as a phase of the batch."""
    return any("headway" in source.description.lower() for report in query.reports[:1] for source in report.sources)
