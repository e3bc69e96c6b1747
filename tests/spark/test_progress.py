"""Spark's report of a batch, taken apart phase by phase."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headway.spark.listening.progress import phases
from headway_lab.experiments.cost.run import PHASES

ms = st.integers(0, 5_000)


def report(**durations: int) -> dict[str, Any]:
    state = {"allUpdatesTimeMs": 3, "allRemovalsTimeMs": 2, "commitTimeMs": 5}
    return {"durationMs": durations, "stateOperators": [state, state]}


def test_the_wait_at_the_gate_is_no_part_of_a_batch() -> None:
    said = report(
        latestOffset=60_000, queryPlanning=30, walCommit=2, addBatch=50, commitOffsets=1, getBatch=0, triggerExecution=60_090
    )
    assert phases(said) == {"planning": 30, "log": 2, "tasks": 30, "state": 20, "commit": 1, "rest": 7}


@given(ms, ms, ms, ms, ms, ms)
def test_phases_add_up_to_the_whole_batch(wait: int, plan: int, log: int, run: int, commit: int, rest: int) -> None:
    parts = {"queryPlanning": plan, "walCommit": log, "addBatch": run + 20, "commitOffsets": commit}
    whole = sum(parts.values()) + rest
    found = phases(report(latestOffset=wait, triggerExecution=wait + whole, **parts))
    assert tuple(found) == PHASES
    assert sum(found.values()) == whole
