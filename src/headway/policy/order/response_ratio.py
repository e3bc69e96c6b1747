"""Response ratio: of the windows that are due, the one that has waited longest for its size (Brinch Hansen, 1971)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from headway.model.arrays import Floats
from headway.model.columns import Columns
from headway.model.time import WallMs
from headway.model.view import QueryView
from headway.policy.order.klink import Klink


@dataclass(frozen=True, slots=True)
class ResponseRatio(Klink):
    """Klink in everything but one: among those that are due, the highest (waited + cost) / cost runs next.

    Least slack minds when a window was due, not what its batch costs: a long batch that is a little more overdue holds up
    many short ones. Shortest first would serve the mean best and let the long ones starve. The ratio lies between: it
    begins at 1 for all, and grows with the wait, faster for the short, without end for all.
    """

    def _rank(self, queries: Sequence[QueryView], slack: list[float], now: WallMs) -> list[float]:
        seen = Columns.of(queries)
        cost = seen.cost_ms(now)
        # What has not come up to the present yet has shown no usual batch, and its cost is a guess: as good as the cheapest.
        least = cost[seen.live].min(initial=inf)
        ratios = _ratio(now - seen.due, np.where(seen.live, cost, np.minimum(cost, least)))
        ranks: list[float] = np.where(np.isneginf(slack), slack, -ratios).tolist()
        return ranks

    def _first_word(self, query: QueryView, slack: float, now: WallMs) -> str:
        waited = now - (now if query.due is None else query.due)
        return f"highest response ratio, {float(_ratio(np.array(waited), np.array(query.cost_ms(now)))):.1f}"


def _ratio(waited_ms: Floats, cost_ms: Floats) -> Floats:
    """What its wait and its batch take, over the batch alone."""
    return np.asarray(1 + np.maximum(0, waited_ms) / np.maximum(1.0, cost_ms))
