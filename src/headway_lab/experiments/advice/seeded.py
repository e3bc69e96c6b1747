"""Jobs made bad on purpose, in every way that is looked for, and healthy ones: what is found, what is a false alarm.

They are reports as Spark writes them, made up with faults of a strength that is drawn by chance. So this says how well
checks tell such reports apart, and nothing of how often jobs are as these are.
"""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from headway.advice.checks import CHECKS, examined
from headway.advice.history import JobHistory
from headway_lab.experiments.advice.made_jobs import START, MadeQuery, job, stamp

EXPERIMENT = "advice-seeded"
EACH = 40  # jobs of each kind, and four times as many healthy ones
SECOND = 1_000


def healthy(chance: Random, seconds: int) -> MadeQuery:
    """A query that keeps up, whose delay is what its rows need, and whose trigger is short beside its windows."""
    every = chance.choice([1_000, 2_000, 5_000])
    late = chance.randint(200, 3_000)
    return MadeQuery(
        name="clicks", every_ms=every, trigger_ms=every, took_ms=round(every * chance.uniform(0.1, 0.6)),
        rows=chance.choice([10, 500, 5_000, 200_000]), late_ms=late, delay_ms=round(late * chance.uniform(1.3, 1.9)),
        period_ms=every * chance.choice([12, 30, 60]), batches=seconds * SECOND // every, seed=chance.randint(1, 1 << 30),
    )  # fmt: skip


def quick(chance: Random, **more: Any) -> MadeQuery:
    """A healthy query with a batch a second, which a fault is put into."""
    return MadeQuery(
        took_ms=chance.randint(150, 350), rows=chance.choice([500, 1_000, 4_000]), batches=chance.randint(100, 200),
        seed=chance.randint(1, 1 << 30), **more,
    )  # fmt: skip


def _silent(chance: Random) -> JobHistory:
    query = quick(chance)
    return job(query, until_ms=query.batches * SECOND + chance.randint(70, 3_600) * SECOND)


def _restarts(chance: Random) -> JobHistory:
    every = chance.randint(12, 30)
    return job(quick(chance, report={"runId": lambda n: f"run-{n // every}"}))


def _windows_late(chance: Random) -> JobHistory:
    took = chance.randint(4_500, 9_000)
    return job(replace(quick(chance), every_ms=took + 100, took_ms=took, rows=6_000, late_ms=800))


def _delay_too_long(chance: Random) -> JobHistory:
    return job(replace(quick(chance), delay_ms=chance.randint(10, 90) * SECOND, batches=chance.randint(300, 400)))


def _delay_too_short(chance: Random) -> JobHistory:
    share, rows = chance.uniform(0.05, 0.6), chance.randint(1, 60)
    drops = {n for n in range(1_000) if chance.random() < share}
    return job(quick(chance, state={"numRowsDroppedByWatermark": lambda n: rows if n in drops else 0}))


def _stuck(chance: Random) -> JobHistory:
    since = chance.randint(10, 40)
    return job(quick(chance, report={"eventTime/watermark": lambda n: stamp(START + min(n, since) * SECOND)}))


def _ahead(chance: Random) -> JobHistory:
    at, ms = chance.randint(5, 95), chance.uniform(2, 500) * 3_600_000
    return job(quick(chance, report={"eventTime/max": lambda n: stamp(START + n * SECOND + (n == at) * ms)}))


def _behind(chance: Random) -> JobHistory:
    query, more = quick(chance), chance.uniform(0.15, 0.9)
    rows = query.rows
    latest = {"sources/0/latestOffset": lambda n: {"clicks": {"0": (n + 1) * rows + round(n * more * rows)}}}
    return job(replace(query, report=latest))


def _starved(chance: Random) -> JobHistory:
    took, let = chance.randint(1_500, 4_000), chance.randint(10, 18)
    slow = replace(quick(chance), every_ms=took + 100, took_ms=took, trigger_ms=0)
    fast = {"durationMs/triggerExecution": lambda n: took // 6 if n % let == 0 else took}
    crowd = [replace(slow, name=f"q{i}", report=fast) for i in range(chance.randint(6, 12))]
    return job(*crowd, cores=chance.choice([2, 4]))


def _wasted(chance: Random) -> JobHistory:
    every = chance.randint(150, 400)
    return job(
        replace(quick(chance), every_ms=every, took_ms=round(every * chance.uniform(0.7, 0.95)), trigger_ms=0,
                period_ms=chance.choice([10, 20, 30]) * SECOND, batches=600)
    )  # fmt: skip


def _trigger(chance: Random) -> JobHistory:
    took = chance.randint(1_150, 4_000)
    return job(replace(quick(chance), took_ms=took, every_ms=took + 100))


def _giant(chance: Random) -> JobHistory:
    query, at = quick(chance), chance.randint(20, 90)
    rows, took = query.rows * chance.randint(25, 1_000), chance.randint(12, 120) * SECOND
    usual, ms = query.rows, query.took_ms
    giant = {
        "sources/0/numInputRows": lambda n: rows if n == at else usual,
        "durationMs/triggerExecution": lambda n: took if n == at else ms,
    }
    return job(replace(query, report=giant))


def _phase(*names: str) -> Callable[[Random], JobHistory]:
    """So much of a batch goes into these."""

    def made(chance: Random) -> JobHistory:
        took = chance.randint(700, 3_000) if names != ("walCommit", "commitOffsets") else chance.randint(180, 900)
        ms = round(took * chance.uniform(0.38, 0.8) / len(names))
        return job(replace(quick(chance), took_ms=took, every_ms=took + 200, phases=dict.fromkeys(names, ms)))

    return made


def _grows(chance: Random) -> JobHistory:
    rows = chance.randint(100, 5_000)
    return job(quick(chance, state={"numRowsTotal": lambda n: rows * n, "numRowsRemoved": 0}))


def _heap(chance: Random) -> JobHistory:
    return job(quick(chance, state={"memoryUsedBytes": chance.randint(550, 6_000) * 1_000_000}))


def _partitions(chance: Random) -> JobHistory:
    return job(replace(quick(chance), took_ms=900, rows=1_000, state={"numShufflePartitions": chance.randint(20, 400)}))


BAD: dict[str, Callable[[Random], JobHistory]] = {
    "query-died": lambda chance: job(quick(chance), errors={"clicks": chance.choice(["OutOfMemoryError", "boom", "no"])}),
    "query-silent": _silent, "query-restarts": _restarts, "windows-late": _windows_late, "delay-too-long": _delay_too_long,
    "delay-too-short": _delay_too_short, "watermark-stuck": _stuck, "watermark-ahead": _ahead, "falling-behind": _behind,
    "starved": _starved, "batches-wasted": _wasted, "trigger-too-short": _trigger, "giant-batch": _giant,
    "slow-log": _phase("walCommit", "commitOffsets"), "slow-planning": _phase("queryPlanning"),
    "slow-source": _phase("latestOffset"), "state-grows": _grows, "state-in-heap": _heap,
    "too-many-partitions": _partitions,
}  # fmt: skip


def judged(seed: int, each: int = EACH) -> dict[str, Any]:
    """Which share of the faults was found, by kind; which share of the healthy jobs was complained of."""
    assert BAD.keys() == CHECKS.keys()
    chance = Random(seed)
    found = {kind: sum(kind in _said(made(chance)) for _ in range(each)) / each for kind, made in BAD.items()}
    alarms = [said for _ in range(4 * each) if (said := _said(_healthy_job(chance)))]
    return {
        "found": round(sum(found.values()) / len(found), 4), "found_worst_kind": round(min(found.values()), 4),
        "missed": {kind: round(1 - share, 4) for kind, share in found.items() if share < 1},
        "false_alarms": round(len(alarms) / (4 * each), 4), "alarms": sorted({kind for said in alarms for kind in said}),
        "bad_jobs": each * len(BAD), "healthy_jobs": 4 * each,
    }  # fmt: skip


def _healthy_job(chance: Random) -> JobHistory:
    seconds = chance.randint(60, 600)
    return job(*(replace(healthy(chance, seconds), name=f"q{n}") for n in range(chance.choice([1, 1, 2, 4]))), cores=8)


def _said(history: JobHistory) -> set[str]:
    return {item.check for item in examined(history)}
