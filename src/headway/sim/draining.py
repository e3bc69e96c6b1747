"""Klink's memory policy among operators (section 3.4): how far down its chain a query should run to free most.

For every operator `k` the paper reckons p_k: of the events queued from the first operator behind the source as far as `k`,
how many are gone when they have been run through `k`, as many of them as fit into a cycle. A filter in the middle of a chain
frees most of them for little; the rest of the chain can wait until memory is not short.

The print takes every queued event for one that has still the whole chain before it, p = sz x (1 - S_1 ... S_k). We take each
from where it is queued.
"""

import numpy as np
from numpy.typing import NDArray

from headway.model.arrays import Floats
from headway.policy.order.relief import freed
from headway.sim.layout import tail_costs


def most_freed(
    queue: Floats, cost: Floats, reach: Floats, selectivity: Floats, cycle_ms: float
) -> tuple[Floats, NDArray[np.int64]]:
    """Of each query: how many events it can free in a cycle, and the operator before which it should stop to do so."""
    behind = queue * (np.arange(len(cost)) > 0)  # sources run by themselves
    best, stop = np.zeros(len(queue)), np.full(len(queue), len(cost))
    for k in range(1, len(cost)):
        left = np.clip(reach[k] * selectivity[k] / reach[: k + 1], 0.0, 1.0)  # of an event queued there
        spent = behind[:, : k + 1] @ tail_costs(cost, reach, np.array([k + 1]))[0, : k + 1]
        here = freed(behind[:, : k + 1] @ (1 - left), spent, cycle_ms)
        better = here > best * (1 + 1e-9)
        best, stop = np.where(better, here, best), np.where(better, k + 1, stop)
    return best, stop
