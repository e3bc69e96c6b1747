"""Each check finds the job that was made bad for it, and says nothing of a healthy one."""

from dataclasses import replace

import pytest

from headway.advice.checks import CHECKS, examined
from headway.advice.history import JobHistory
from headway_lab.experiments.advice.made_jobs import START, MadeQuery, job, stamp

HEALTHY = MadeQuery()
SECOND = 1_000
SLOW = replace(HEALTHY, every_ms=2_600, took_ms=2_500, trigger_ms=0)

BAD: dict[str, JobHistory] = {
    "query-died": job(HEALTHY, errors={"clicks": "java.lang.OutOfMemoryError:\n  Java heap space"}),
    "query-silent": job(HEALTHY, until_ms=600 * SECOND),
    "query-restarts": job(replace(HEALTHY, report={"runId": lambda n: f"run-{n // 30}"})),
    "windows-late": job(replace(HEALTHY, every_ms=6_000, took_ms=5_900, rows=6_000, late_ms=800)),
    "delay-too-long": job(replace(HEALTHY, delay_ms=60_000, batches=300)),
    "delay-too-short": job(replace(HEALTHY, state={"numRowsDroppedByWatermark": lambda n: 30 if n % 2 else 0})),
    "watermark-stuck": job(replace(HEALTHY, report={"eventTime/watermark": lambda n: stamp(START + min(n, 20) * SECOND)})),
    "watermark-ahead": job(
        replace(HEALTHY, report={"eventTime/max": lambda n: stamp(START + n * SECOND + (n == 70) * 1e9)})
    ),
    "falling-behind": job(
        replace(HEALTHY, report={"sources/0/latestOffset": lambda n: {"clicks": {"0": (n + 1) * 1_000 + n * 400}}})
    ),
    "starved": job(
        *(replace(SLOW, name=f"q{i}", report={"durationMs/triggerExecution": lambda n: 300 if n % 15 == 0 else 2_500})
          for i in range(8))
    ),
    "batches-wasted": job(replace(HEALTHY, every_ms=250, took_ms=240, trigger_ms=0, period_ms=20_000, batches=600)),
    "trigger-too-short": job(replace(HEALTHY, took_ms=1_400, every_ms=1_500)),
    "giant-batch": job(
        replace(
            HEALTHY,
            report={
                "sources/0/numInputRows": lambda n: 900_000 if n == 60 else 1_000,
                "durationMs/triggerExecution": lambda n: 45_000 if n == 60 else 200,
            },
        )
    ),
    "slow-log": job(replace(HEALTHY, phases={"walCommit": 60, "commitOffsets": 50})),
    "slow-planning": job(replace(HEALTHY, took_ms=500, phases={"queryPlanning": 300})),
    "slow-source": job(replace(HEALTHY, took_ms=900, phases={"latestOffset": 600})),
    "state-grows": job(replace(HEALTHY, state={"numRowsTotal": lambda n: 1_000 * n, "numRowsRemoved": 0})),
    "state-in-heap": job(replace(HEALTHY, state={"memoryUsedBytes": 900_000_000})),
    "too-many-partitions": job(replace(HEALTHY, took_ms=900, state={"numShufflePartitions": 200})),
}  # fmt: skip

# Each is healthy in a way of its own.
GOOD: dict[str, JobHistory] = {
    "as it should be": job(HEALTHY, replace(HEALTHY, name="views", seed=2)),
    "few rows": job(replace(HEALTHY, rows=10, took_ms=100)),
    "many rows": job(replace(HEALTHY, rows=200_000, took_ms=800)),
    "long windows": job(replace(HEALTHY, period_ms=60_000, every_ms=5_000, trigger_ms=5_000, took_ms=300, late_ms=700)),
    "a long delay that is needed": job(replace(HEALTHY, delay_ms=30_000, late_ms=25_000, batches=300)),
    "a backlog that comes and goes": job(
        replace(HEALTHY, report={"sources/0/latestOffset": lambda n: {"clicks": {"0": (n + 1) * 1_000 + (n % 10) * 300}}})
    ),
    "a large state in RocksDB": job(
        replace(HEALTHY, state={"memoryUsedBytes": 900_000_000, "customMetrics": {"rocksdbGetCount": 1}})
    ),
    "a state that is full": job(replace(HEALTHY, state={"numRowsTotal": 50_000})),
    "a state that breathes": job(replace(HEALTHY, state={"numRowsTotal": lambda n: 5_000 + 400 * (n % 10)})),
    "eight queries on four cores": job(
        *(replace(HEALTHY, name=f"q{i}", every_ms=1_000, took_ms=300, seed=i) for i in range(8))
    ),
    "one that ended a minute ago": job(HEALTHY, until_ms=130 * SECOND),
    "started twice": job(replace(HEALTHY, report={"runId": lambda n: f"run-{n // 60}"})),
    "ten batches": job(replace(HEALTHY, batches=10)),
    "one batch": job(replace(HEALTHY, batches=1)),
    "none": job(),
}


def found(history: JobHistory) -> set[str]:
    return {item.check for item in examined(history)}


@pytest.mark.parametrize("check", CHECKS)
def test_what_is_wrong_is_found(check: str) -> None:
    items = [item for item in examined(BAD[check]) if item.check == check]
    assert items, f"{check} says nothing; found {found(BAD[check])}"
    assert all(item.says and item.evidence and item.do for item in items)


@pytest.mark.parametrize("name", GOOD)
def test_nothing_is_found_where_nothing_is_wrong(name: str) -> None:
    assert found(GOOD[name]) == set()


def test_the_weightiest_comes_first() -> None:
    items = examined(job(replace(HEALTHY, phases={"walCommit": 60, "commitOffsets": 50}), errors={"clicks": "boom"}))
    assert [item.weight for item in items] == ["high", "medium"]


def test_a_delay_that_is_advised_would_have_refused_nothing() -> None:
    (item,) = (i for i in examined(BAD["delay-too-long"]) if i.check == "delay-too-long")
    assert '"900 milliseconds"' in item.do  # one and a half times the 600 ms that rows were late
