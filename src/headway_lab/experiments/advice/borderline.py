"""Jobs near the bound of a check: a little beyond it the fault should be found, and a little within it should not.

Strength 1 is the bound itself, as the page on advice has it. Between what is made and what is reported there is chance:
batches take a tenth longer or shorter, rows are half as late or as late as they may be. So this says whether a check is
steady where it turns, and not whether its bound is the right one.
"""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from headway.advice.checks import examined
from headway.advice.history import JobHistory
from headway_lab.experiments.advice.made_jobs import START, job, stamp
from headway_lab.experiments.advice.seeded import SECOND, quick

BEYOND, WITHIN = (1.15, 1.6), (0.5, 0.87)
Bordering = Callable[[Random, float], JobHistory]


def _silent(chance: Random, strength: float) -> JobHistory:
    query = quick(chance)
    return job(query, until_ms=query.batches * SECOND + round(60 * strength * SECOND))


def _delay(chance: Random, strength: float) -> JobHistory:
    late = chance.randint(600, 4_000)
    return job(replace(quick(chance), late_ms=late, delay_ms=round(2 * 1.5 * late * strength), batches=300))


def _ahead(chance: Random, strength: float) -> JobHistory:
    at, ms = chance.randint(5, 95), strength * 3_600_000
    return job(quick(chance, report={"eventTime/max": lambda n: stamp(START + n * SECOND + (n == at) * ms)}))


def _behind(chance: Random, strength: float) -> JobHistory:
    """What waits in the last third of the time is so many times three batches."""
    query = quick(chance)
    rows, more = query.rows, 3 * strength / (query.batches * 0.87)
    latest = {"sources/0/latestOffset": lambda n: {"clicks": {"0": (n + 1) * rows + round(n * more * rows)}}}
    return job(replace(query, report=latest))


def _starved(chance: Random, strength: float) -> JobHistory:
    took, let = chance.randint(1_500, 4_000), chance.randint(10, 18)
    slow = replace(quick(chance), every_ms=took + 100, took_ms=took, trigger_ms=0)
    least = round(took / (2.5 * strength))
    fast = {"durationMs/triggerExecution": lambda n: least if n % let == 0 else took}
    return job(*(replace(slow, name=f"q{i}", report=fast) for i in range(chance.randint(6, 12))), cores=4)


def _trigger(chance: Random, strength: float) -> JobHistory:
    took = round(SECOND * strength)
    return job(replace(quick(chance), took_ms=took, every_ms=max(SECOND, took + 100)))


def _giant(chance: Random, strength: float) -> JobHistory:
    query, at = quick(chance), chance.randint(20, 90)
    rows, took = round(20 * strength * query.rows), round(10 * strength * SECOND)
    usual, ms = query.rows, query.took_ms
    giant = {
        "sources/0/numInputRows": lambda n: rows if n == at else usual,
        "durationMs/triggerExecution": lambda n: took if n == at else ms,
    }
    return job(replace(query, report=giant))


def _phase(*names: str) -> Bordering:
    def made(chance: Random, strength: float) -> JobHistory:
        took = chance.randint(700, 3_000)
        ms = round(took * 0.3 * strength / len(names))
        return job(replace(quick(chance), took_ms=took, every_ms=took + 500, phases=dict.fromkeys(names, ms)))

    return made


def _heap(chance: Random, strength: float) -> JobHistory:
    return job(quick(chance, state={"memoryUsedBytes": round(500_000_000 * strength)}))


def _partitions(chance: Random, strength: float) -> JobHistory:
    cores = chance.choice([4, 8])
    fault = replace(quick(chance), took_ms=900, rows=1_000, state={"numShufflePartitions": round(4 * cores * strength)})
    return job(fault, cores=cores)


BORDER: dict[str, Bordering] = {
    "query-silent": _silent, "delay-too-long": _delay, "watermark-ahead": _ahead, "falling-behind": _behind,
    "starved": _starved, "trigger-too-short": _trigger, "giant-batch": _giant,
    "slow-log": _phase("walCommit", "commitOffsets"), "slow-planning": _phase("queryPlanning"),
    "slow-source": _phase("latestOffset"), "state-in-heap": _heap, "too-many-partitions": _partitions,
}  # fmt: skip


def near(seed: int, each: int) -> dict[str, Any]:
    """Which share is found a little beyond the bound, and complained of a little within, of the worst kind each."""
    chance = Random(seed)
    found = {kind: _share(kind, made, chance, BEYOND, each) for kind, made in BORDER.items()}
    alarms = {kind: _share(kind, made, chance, WITHIN, each) for kind, made in BORDER.items()}
    return {
        "found_near": round(min(found.values()), 4), "alarms_near": round(max(alarms.values()), 4),
        "near": {kind: [round(found[kind], 4), round(alarms[kind], 4)] for kind in BORDER},
    }  # fmt: skip


def _share(kind: str, made: Bordering, chance: Random, strengths: tuple[float, float], each: int) -> float:
    jobs = (made(chance, chance.uniform(*strengths)) for _ in range(each))
    return sum(any(item.check == kind for item in examined(one)) for one in jobs) / each
