"""Response ratio: of the windows that are due, the one that has waited longest for its size (Brinch Hansen, 1971)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from headway.model.arrays import Floats
from headway.model.time import WallMs
from headway.model.view import QueryView
from headway.policy.order.klink import Klink


@dataclass(frozen=True, slots=True)
class ResponseRatio(Klink):
    """Klink in everything but one: among those that are due, the highest (waited + cost) / cost runs next.

    Least slack minds when a window was due, not what its batch costs: a long batch that is a little more overdue holds up
    many short ones. Shortest first would serve the mean best and let the long ones starve. The ratio lies between: it
    begins at 1 for all, and grows with the wait, faster for the short, without end for everybody.
    """

    def _rank(self, queries: Sequence[QueryView], slack: Floats, now: WallMs) -> Floats:
        # What has not come up to the present yet has shown no usual batch, and its cost is a guess: as good as the cheapest.
        least = min((q.cost_ms(now) for q in queries if q.live), default=inf)
        ratios = np.array([_ratio(q, now, least) for q in queries])
        return np.where(np.isneginf(slack), slack, -ratios)

    def _first_word(self, query: QueryView, slack: float, now: WallMs) -> str:
        return f"highest response ratio, {_ratio(query, now):.1f}"


def _ratio(query: QueryView, now: WallMs, least: float = inf) -> float:
    """What its wait and its batch take, over the batch alone."""
    waited = max(0, now - (now if query.due is None else query.due))
    cost = query.cost_ms(now)
    return 1 + waited / max(1.0, cost if query.live else min(cost, least))
