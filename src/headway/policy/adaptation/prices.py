"""What slots and links are worth where they are short: prices that make the cheapest placement keep to them, nearly.

With prices on what is shared the stages can still be placed as a tree, exactly and fast. Whatever the prices are, the cost
of that less what all there is would cost is a bound: no placement that fits is below it. Better prices are found by raising
those of what is used too much and lowering the others (Lagrange's relaxation, by subgradients). What comes out nearly fits,
and is mended.
"""

from dataclasses import dataclass, replace

import numpy as np

from headway.estimate.stream_rates import shares
from headway.model.arrays import Floats
from headway.model.geo import Counts, Deployment
from headway.policy.adaptation.patterns import PatternCosts, between, cheapest, table_of
from headway.policy.adaptation.stage_program import Limits
from headway.policy.adaptation.streams import SAME, Streams, pinned

ROUNDS = 20
FIRST_STEP, SHRINK = 1.0, 0.88  # of the way to the best that is known, by round
KEPT = 2  # placements that come nearest to fitting


@dataclass(frozen=True, slots=True)
class Priced:
    """A bound, and placements to begin from, those first that use least too much."""

    bound: float
    starts: tuple[Deployment, ...]


def priced(streams: Streams, costs: PatternCosts, limits: Limits, known: float) -> Priced:
    """`known`: the cost of a placement that fits, to which prices are raised; infinity if there is none yet."""
    base = pinned(streams.plan, streams.area)
    left = streams.area.slots - streams.taken(base)
    room = limits.alpha * streams.area.links.bandwidth
    np.fill_diagonal(room, np.inf)
    by_site, by_link = np.zeros(len(left)), np.zeros(room.shape)  # prices: of a slot, and of a whole link
    bound, step = -np.inf, FIRST_STEP
    found: list[tuple[float, Deployment]] = []
    fallen = 0.0
    for _ in range(ROUNDS):
        answer = cheapest(_with_prices(costs, by_site, by_link / np.maximum(room, SAME)))
        if answer is None or not np.isfinite(answer[0]):
            break
        made = Deployment.of(table_of(costs, answer[1], base))
        fill = streams.use(made) / np.maximum(room, SAME)
        over_sites = streams.taken(made.table) - streams.taken(base) - left
        over_links = np.where(np.isfinite(room), fill - 1, 0.0)
        # What is used within the given places is in `fill` too, and not in the prices of patterns.
        value = (
            answer[0] - float(by_site @ left) - float((by_link * (1 - _fixed_use(streams, base, room)))[by_link > 0].sum())
        )
        bound, fallen = max(bound, value), fallen + (value <= bound)
        over = float(np.clip(over_sites, 0, None).sum() + np.clip(over_links, 0, None).sum())
        found.append((over, made))
        slope_sites = np.where((over_sites > 0) | (by_site > 0), over_sites, 0.0)
        slope_links = np.where((over_links > 0) | (by_link > 0), over_links, 0.0)
        square = float((slope_sites**2).sum() + (slope_links**2).sum())
        if square < SAME:
            break
        target = known if np.isfinite(known) else value * 1.5 + 1.0
        length = step * max(target - value, 0.01 * abs(target)) / square
        by_site = np.maximum(0.0, by_site + length * slope_sites)
        by_link = np.maximum(0.0, by_link + length * slope_links)
        step *= SHRINK
    found.sort(key=lambda pair: pair[0])
    return Priced(bound, tuple(dict.fromkeys(made for _, made in found))[:KEPT])


def _fixed_use(streams: Streams, base: Counts, room: Floats) -> Floats:
    """Of each link, what stages whose place is given take."""
    use = np.zeros(room.shape)
    for above, below in streams.plan.edges():
        if base[above].any() and base[below].any():
            amount = streams.rates.out[above] * streams.plan.stages[above].row_bytes
            use += amount * np.outer(shares(base[above]), shares(base[below]))
    return np.where(np.isfinite(room), use / np.maximum(room, SAME), 0.0)


def _with_prices(costs: PatternCosts, by_site: Floats, by_byte: Floats) -> PatternCosts:
    alone = {place: costs.alone[place] + costs.patterns[place].counts @ by_site for place in costs.free}
    pairs = dict(costs.pairs)
    priced_links = by_byte.any()
    for edge in costs.edges if priced_links else ():
        if edge.there is None:
            key = edge.above, edge.below
            paid = between(costs.patterns[edge.above], edge.amount * by_byte, costs.patterns[edge.below])
            pairs[key] = pairs[key] + paid
        else:
            place = edge.below if edge.inward else edge.above
            of_site = edge.there @ by_byte if edge.inward else by_byte @ edge.there
            alone[place] = alone[place] + edge.amount * (costs.patterns[place].parts @ of_site)
    return replace(costs, alone=alone, pairs=pairs)
