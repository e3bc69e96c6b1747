"""A long run: queries fed from Kafka, minute after minute. Nothing may grow: no backlog, no memory, no latency."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from headway_lab.harness.bench import Bench, Run
from headway_lab.harness.setting import Say, Setting

EXPERIMENT = "soak"


def soak(bench: Bench, setting: Setting, minutes: int, seed: int, say: Say) -> list[Run]:
    """Run Klink for so many minutes over the same queries."""
    return list(bench.run(["klink"] * minutes, replace(setting, seconds=60, settle=0), seed, say))


def backlog_growth(runs: Sequence[Run]) -> int:
    """Rows that waited at the end, over those that waited after the first minute; a window's worth comes and goes."""
    return runs[-1].backlog - runs[1].backlog


def heap_growth(runs: Sequence[Run]) -> float:
    """The last third of the run over its second third: the first one fills caches."""
    third = max(1, len(runs) // 3)
    return _mean(run.heap_mb for run in runs[-third:]) / max(1.0, _mean(run.heap_mb for run in runs[-2 * third : -third]))


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / max(1, len(found))
