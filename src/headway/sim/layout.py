"""Where the operators of a query lie, and what an event costs from each of them on.

On several nodes Klink has two messages: statistics of delays flow down the chain, costs flow up it. What an event costs at
an operator never changes, so every node knows that; what is queued elsewhere it knows as it was told (`bulletins.py`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headway.model.arrays import Floats


@dataclass(frozen=True, slots=True)
class OperatorLayout:
    """Which operator of which query is on which node, and what an event costs from there to where the node's part ends."""

    here: list[NDArray[np.bool_]]  # per node: query x operator
    end: list[NDArray[np.int64]]  # per node: the first operator after the part of the chain that is here
    tail: list[Floats]  # per node: query x operator; 0 for what is elsewhere
    tail_whole: Floats  # per operator, to the end of the chain

    @classmethod
    def spread(cls, queries: int, operators: int, nodes: int, cost: Floats, reach: Floats) -> "OperatorLayout":
        """Successive parts of a chain lie on successive nodes, and queries begin on each node in turn."""
        part = np.arange(operators) * nodes // operators if nodes > 1 else np.zeros(operators, dtype=np.int64)
        node = (part[None, :] + np.arange(queries)[:, None]) % nodes
        here, end, tail = [], [], []
        for n in range(nodes):
            local = node == n
            stop = np.where(local.any(axis=1), operators - np.argmax(local[:, ::-1], axis=1), 0)
            here.append(local)
            end.append(stop)
            tail.append(np.where(local, tail_costs(cost, reach, stop), 0.0))
        return cls(here, end, tail, tail_costs(cost, reach, np.array([operators]))[0])


def tail_costs(cost: Floats, reach: Floats, stop: NDArray[np.int64]) -> Floats:
    """Query x operator: what one event there costs until operator `stop` of its query, with those that it brings forth."""
    upto = np.concatenate([[0.0], np.cumsum(cost * reach)])
    return np.asarray(np.maximum(0.0, upto[stop][:, None] - upto[None, :-1]) / reach)
