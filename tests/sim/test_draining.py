"""How far a query should run to free memory: never less is freed than by running it to its end, and never from nothing."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from headway.sim.draining import most_freed
from headway.sim.pipelines import PIPELINES, Pipeline, taxi, ysb

CYCLE_MS = 120.0


def freed(pipeline: Pipeline, queue: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    selectivity = np.array([o.selectivity for o in pipeline.operators])
    return most_freed(queue, np.array(pipeline.costs_ms), np.array(pipeline.reach), selectivity, CYCLE_MS)


def test_a_filter_in_the_middle_frees_most_for_its_cost() -> None:
    deep = np.full((1, 6), 1e6)
    _, stop = freed(ysb(), deep)
    assert ysb().operators[stop[0] - 1].name == "filter"


def test_behind_the_filter_the_rest_of_the_chain_is_what_frees() -> None:
    queue = np.array([[0.0, 0.0, 0.0, 1e5, 1e5, 1e5]])
    _, stop = freed(ysb(), queue)
    assert stop[0] == 6


def test_without_a_filter_a_chain_is_run_to_its_window() -> None:
    _, stop = freed(taxi(), np.full((1, 8), 1e6))
    assert stop[0] == 8


@given(st.sampled_from(sorted(PIPELINES)), st.data())
def test_no_less_than_the_whole_chain_frees_and_no_more_than_there_is(name: str, data: st.DataObject) -> None:
    pipeline = PIPELINES[name]()
    queue = data.draw(arrays(float, (3, len(pipeline.operators)), elements=st.floats(0, 1e6)))
    most, stop = freed(pipeline, queue)
    assert (most <= queue[:, 1:].sum(axis=1) + 1e-6).all()
    assert ((stop >= 1) & (stop <= len(pipeline.operators))).all()
    assert (most[queue[:, 1:].sum(axis=1) == 0] == 0).all()
    few = queue / (1 + queue.sum())  # less than one event in all: everything fits into a cycle
    assert np.allclose(freed(pipeline, few)[0], _whole(pipeline, few), atol=1e-9)


def _whole(pipeline: Pipeline, queue: np.ndarray) -> np.ndarray:
    last = pipeline.reach[-1] * pipeline.operators[-1].selectivity
    gone = 1 - last / np.array(pipeline.reach[1:])
    return np.asarray(queue[:, 1:] @ gone)
