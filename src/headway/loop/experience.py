"""What a tracker has learnt, taken out of it as a value, and given to another one that begins.

Costs, rates and delays are properties of the query and its streams, so they are as true on the next node. How far a stream
has come, and whether it keeps up with the clock, is not carried over: the first batch tells, by the clock of its own driver.
Nor are the models that a slack tuner has fitted: they are learnt anew.
"""

from dataclasses import replace

import numpy as np

from headway.estimate.costs import BatchCost
from headway.estimate.delays import Epochs
from headway.estimate.rates import Rate
from headway.estimate.tail import EDGES, Tail
from headway.loop.inputs import InputTracker
from headway.model.experience import CostSums, Experience, InputExperience, TailExperience

HISTOGRAMS = 50  # epochs whose histograms are carried over: quantiles look at no more


def gathered(cost: BatchCost, selectivity: float, inputs: list[InputTracker]) -> Experience:
    """What is known now."""
    sums = CostSums(cost.weight, cost.rows, cost.took, cost.rows_rows, cost.rows_took)
    return Experience(sums, selectivity, tuple(map(_of_input, inputs)))


def cost_of(experience: Experience) -> BatchCost:
    sums = experience.cost
    return BatchCost(weight=sums.weight, rows=sums.rows, took=sums.took, rows_rows=sums.rows_rows, rows_took=sums.rows_took)


def give(experience: Experience, inputs: list[InputTracker]) -> None:
    """Inputs go on from it. Where there are other inputs than before, it says nothing of any."""
    if len(experience.inputs) == len(inputs):
        for known, tracker in zip(experience.inputs, inputs, strict=True):
            _go_on(known, tracker)


def _of_input(tracker: InputTracker) -> InputExperience:
    epochs, rate = tracker.epochs, tracker.rate
    tails = tuple(_of_tail(part, tail) for part, tail in sorted(tracker.tails.items()))
    return InputExperience(
        rate.rows_per_s, rate.seen_ms, tuple(epochs.means.tolist()), tuple(epochs.squares.tolist()),
        epochs.histogram[-HISTOGRAMS:], tails,
    )  # fmt: skip


def _of_tail(part: int, tail: Tail) -> TailExperience:
    held = np.flatnonzero(tail.weights)  # most buckets are empty
    return TailExperience(part, tuple((float(n), float(tail.weights[n])) for n in held), tail.longest_ms)


def _go_on(known: InputExperience, tracker: InputTracker) -> None:
    tracker.rate = Rate(rows_per_s=known.rows_per_s, seen_ms=known.seen_ms)
    tracker.epochs = Epochs(
        means=np.array(known.means, dtype=float), squares=np.array(known.squares, dtype=float), histogram=known.histograms
    )
    if tracker.spec.policy is not None:
        memory_rows = tracker.spec.policy.memory_rows
        tracker.tails = {tail.part: _tail(tail, memory_rows) for tail in known.tails}
    told = tracker.sampler is not None or tracker.spec.relayed is not None
    delay = None if told else tracker.epochs.view(tracker.confidence)
    tracker.view = replace(tracker.view, rows_per_s=known.rows_per_s, delay=delay)


def _tail(known: TailExperience, memory_rows: float) -> Tail:
    weights = np.zeros(len(EDGES))
    for bucket, rows in known.buckets:
        weights[int(bucket)] = rows
    return Tail(memory_rows, weights, known.longest_ms)
