"""Answers from samples, with an interval."""

import numpy as np
import pytest

from headway.estimate.sample_size import z_of
from headway_lab.experiments.aion.answers import Sample, answer, exact
from headway_lab.experiments.aion.streams import WORKLOADS, stream


@pytest.mark.parametrize("workload", WORKLOADS)
def test_all_rows_give_the_exact_answer_and_an_interval_without_width(workload: str) -> None:
    rows = stream(workload, "CC", 1_000, 3, seed=1)
    truly = exact(workload, rows.value, rows.points)
    said = answer(workload, Sample(rows.value, np.ones(len(rows)), 1.0, rows.points), z_of(0.95))
    assert said.estimate == said.lower == said.upper == pytest.approx(truly, rel=1e-5)
    if workload != "kmeans":  # where a point half-way between two centres may go to the other one
        assert said.error(truly) == 0 and said.holds(truly)
        assert truly == pytest.approx(rows.value.sum() if workload == "ysb" else rows.value.mean())


@pytest.mark.parametrize("workload", [pytest.param(w, marks=[pytest.mark.slow] * (w == "kmeans")) for w in WORKLOADS])
def test_intervals_hold_the_exact_answer_as_often_as_they_promise(workload: str) -> None:
    rows = stream(workload, "CC", 2_000, 3, seed=1)
    truly = exact(workload, rows.value, rows.points)
    rng = np.random.default_rng(5)
    # Unequal rates, and a tenth of the rows missing: what a window's end looks like.
    rate = np.where(np.arange(len(rows)) % 5 < 4, 0.15, 0.3)
    held = []
    for _ in range(150):
        at = np.flatnonzero((rng.random(len(rows)) < rate) & (rng.random(len(rows)) < 0.9))
        points = None if rows.points is None else rows.points[at]
        held.append(answer(workload, Sample(rows.value[at], rate[at], 0.9, points), z_of(0.95)).holds(truly))
    assert 0.90 <= np.mean(held) <= 0.99


def test_nothing_in_the_sample_says_nothing() -> None:
    said = answer("taxi", Sample(np.empty(0), np.empty(0), 0.5), z_of(0.95))
    assert said.rows == 0 and said.holds(1e9)
