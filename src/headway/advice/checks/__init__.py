"""What is looked for: each check is a function from a query, and the job around it, to an item of advice or nothing."""

from collections.abc import Callable

from headway.advice.advice import WEIGHTS, AdviceItem
from headway.advice.checks import batches, life, load, state, watermark, windows
from headway.advice.history import JobHistory, StreamHistory

Check = Callable[[StreamHistory, JobHistory], AdviceItem | None]

CHECKS: dict[str, Check] = {
    "query-died": life.died,
    "query-silent": life.silent,
    "query-restarts": life.restarts,
    "windows-late": windows.late,
    "delay-too-long": watermark.delay_too_long,
    "delay-too-short": watermark.delay_too_short,
    "watermark-stuck": watermark.stuck,
    "watermark-ahead": watermark.ahead,
    "falling-behind": load.falling_behind,
    "starved": load.starved,
    "batches-wasted": batches.wasted,
    "trigger-too-short": batches.trigger_too_short,
    "giant-batch": batches.giant,
    "slow-log": batches.slow_log,
    "slow-planning": batches.slow_planning,
    "slow-source": batches.slow_source,
    "state-grows": state.grows,
    "state-in-heap": state.in_heap,
    "too-many-partitions": state.too_many_partitions,
}


def examined(job: JobHistory) -> tuple[AdviceItem, ...]:
    """All that there is to say of a job: the weightiest first, then by check and query."""
    found = [item for query in job.queries for check in CHECKS.values() if (item := check(query, job)) is not None]
    order = {name: number for number, name in enumerate(CHECKS)}
    return tuple(sorted(found, key=lambda item: (WEIGHTS.index(item.weight), order[item.check], item.query)))
