"""Answers of the three queries, from all rows and from samples."""

import numpy as np
import pytest

from headway.estimate.bounds import Certainty
from headway.sim.sampled_rows import SampledRows, WindowSample
from headway_lab.experiments.aion.answers import AGGREGATES
from headway_lab.experiments.aion.streams import WORKLOADS, stream


def every(rows: SampledRows) -> WindowSample:
    return WindowSample.of(rows, np.arange(len(rows)), np.ones(len(rows)))


def test_every_workload_has_its_answer() -> None:
    assert AGGREGATES.keys() == set(WORKLOADS)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_all_rows_give_the_exact_answer_and_an_interval_without_width(workload: str) -> None:
    rows = stream(workload, "CC", 1_000, 3, seed=1)
    truly = AGGREGATES[workload].exact(every(rows))
    said = AGGREGATES[workload].answer(every(rows), Certainty.at(0.95))
    assert said.estimate == said.lower == said.upper == pytest.approx(truly, rel=1e-5)
    if workload != "kmeans":  # where a point half-way between two centres may go to the other one
        assert said.error(truly) < 1e-12 and said.holds(truly)
        assert truly == pytest.approx(rows.value.sum() if workload == "ysb" else rows.value.mean())


@pytest.mark.parametrize("workload", [pytest.param(w, marks=[pytest.mark.slow] * (w == "kmeans")) for w in WORKLOADS])
def test_intervals_hold_the_exact_answer_as_often_as_they_promise(workload: str) -> None:
    rows = stream(workload, "CC", 2_000, 3, seed=1)
    truly = AGGREGATES[workload].exact(every(rows))
    rng = np.random.default_rng(5)
    # Unequal rates, and a tenth of the rows missing: what a window's end looks like.
    rate = np.where(np.arange(len(rows)) % 5 < 4, 0.15, 0.3)
    held = []
    for _ in range(150):
        at = np.flatnonzero((rng.random(len(rows)) < rate) & (rng.random(len(rows)) < 0.9))
        held.append(AGGREGATES[workload].answer(WindowSample.of(rows, at, rate[at]), Certainty.at(0.95, 0.9)).holds(truly))
    assert 0.90 <= np.mean(held) <= 0.99


@pytest.mark.parametrize("workload", WORKLOADS)
def test_nothing_in_the_sample_says_nothing(workload: str) -> None:
    nothing = WindowSample(np.empty(0), np.empty(0), np.empty(0, np.int64))
    said = AGGREGATES[workload].answer(nothing, Certainty.at(0.95, 0.5))
    assert said.sample == 0 and said.estimate is None and said.holds(1e9)
