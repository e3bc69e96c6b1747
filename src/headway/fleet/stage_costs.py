"""What the stages of a pipeline cost behind a topic: told up the pipeline, from node to node, in their statuses.

A stage that reads a topic adds its next batch to what it was told itself of the stages behind it. So the stage that writes
the topic needs the statuses of its readers alone, and the cost of a pipeline's end comes up to its beginning one status
after the other.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from headway.fleet.node.wire import HostedQuery, NodeStatus
from headway.model.time import WallMs

FOR_MS = 30_000  # what was told longer ago than this says nothing any more


@dataclass(frozen=True, slots=True)
class CostBehind:
    """Behind a topic."""

    cost_ms: float  # until the last stage has a result
    at: WallMs  # when that was told: the oldest of what it is made of


def costs_behind(statuses: Iterable[NodeStatus], now: WallMs) -> dict[str, CostBehind]:
    """By topic. Of several readers the one that takes longest counts."""
    found: dict[str, CostBehind] = {}
    for status in statuses:
        if now - status.at > FOR_MS:
            continue
        for query in status.queries:
            if (cost := _cost(query)) is None:
                continue
            made = CostBehind(cost, status.at if query.below_at is None else WallMs(min(status.at, query.below_at)))
            for topic in query.reads:
                if topic not in found or found[topic].cost_ms < cost:
                    found[topic] = made
    return found


def _cost(query: HostedQuery) -> float | None:
    """None: it has not run yet, or has ended."""
    if query.fixed_ms is None:
        return None
    return query.fixed_ms + (query.ms_per_row or 0.0) * (query.backlog or 0.0) + query.below_ms
