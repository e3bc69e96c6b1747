"""All ways to spread the tasks of each free stage over sites, and what each way costs by itself and beside another.

With tasks at several sites the stream between two stages is a product of both shares. Over whole patterns it is a
constant of each pair, so what is a product in the paper's program is linear here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb

import numpy as np
from numpy.typing import NDArray

from headway.estimate.stream_rates import edge_bytes, shares
from headway.model.arrays import Floats
from headway.model.geo import Counts
from headway.policy.adaptation.stage_program import TIE, Limits
from headway.policy.adaptation.streams import SAME, Streams, pinned

Choices = NDArray[np.int64]
MOST_PATTERNS = 250  # of one stage: beyond that only those with all tasks at one site are looked at
LINK_CELLS = 4_000_000  # of a table of pairs by links: a larger one is not made


@dataclass(frozen=True, slots=True, eq=False)
class StagePatterns:
    """The ways of one stage: tasks by site, a row a way."""

    counts: Counts
    whole: bool  # all ways there are, not only those at one site

    @property
    def parts(self) -> Floats:
        return np.asarray(self.counts / self.counts.sum(axis=1, keepdims=True))

    @property
    def sites(self) -> Choices | None:
        """The one site of each way; None if one of them has several."""
        single = len(self.counts) and (self.counts.max(axis=1) == self.counts.sum(axis=1)).all()
        return np.asarray(self.counts.argmax(axis=1)) if single else None


@dataclass(frozen=True, slots=True, eq=False)
class PatternEdge:
    """Bytes a second between two stages, of which one may have a given place: `there` are its shares by site."""

    above: int
    below: int
    amount: float
    there: Floats | None = None
    inward: bool = False  # to the stage that may be placed


@dataclass(frozen=True, slots=True, eq=False)
class PatternCosts:
    """Costs of each pattern of each free stage, and of each pair of patterns along an edge. Infinity: it does not fit."""

    free: tuple[int, ...]  # places of the stages, in the order of the plan
    patterns: dict[int, StagePatterns]
    alone: dict[int, Floats]
    pairs: dict[tuple[int, int], Floats]
    fixed: float  # edges between stages whose place is given
    edges: tuple[PatternEdge, ...] = ()

    @property
    def whole(self) -> bool:
        return all(one.whole for one in self.patterns.values())

    @property
    def numbers(self) -> int:
        """Of the program: pairs of patterns, one number each."""
        return sum(table.size for table in self.pairs.values()) + sum(len(one) for one in self.alone.values())


def patterns_of(tasks: int, slots: Counts) -> StagePatterns:
    """Every way that slots allow."""
    m = len(slots)
    if comb(m + tasks - 1, tasks) > MOST_PATTERNS and tasks > 1:
        at_one = np.eye(m, dtype=np.int64) * tasks
        return StagePatterns(at_one, whole=False)
    ways = [np.bincount(sites, minlength=m) for sites in combinations_with_replacement(range(m), tasks)]
    counts = np.array(ways, dtype=np.int64).reshape(-1, m)
    return StagePatterns(counts[(counts <= slots).all(axis=1)], whole=True)


def pattern_costs(streams: Streams, tasks: dict[int, int], limits: Limits) -> PatternCosts:
    """`tasks`: of each free stage."""
    plan, table = streams.plan, pinned(streams.plan, streams.area)
    slots = streams.area.slots.astype(np.int64) - streams.taken(table)
    price = _price(streams, limits)
    free = tuple(tasks)
    patterns = {place: patterns_of(tasks[place], slots) for place in free}
    alone = {place: np.zeros(len(patterns[place].counts)) for place in free}
    pairs: dict[tuple[int, int], Floats] = {}
    fixed = 0.0
    edges: list[PatternEdge] = []
    for above, below in plan.edges():
        amount = edge_bytes(plan, streams.rates.out, (above, below))
        cost = price(amount)
        room = limits.alpha * streams.area.links.bandwidth + SAME
        np.fill_diagonal(room, np.inf)
        if above in tasks and below in tasks:
            one, two = patterns[above], patterns[below]
            pairs[above, below] = between(one, cost, two) + _unfit_pairs(one, two, amount, room)
            edges.append(PatternEdge(above, below, amount))
        elif above in tasks or below in tasks:
            place, other = (below, above) if below in tasks else (above, below)
            there, parts = shares(table[other]), patterns[place].parts
            alone[place] += parts @ (there @ cost if place == below else cost @ there)
            alone[place] += _unfit(parts, there, amount, room, patterns[place].whole, inward=place == below)
            edges.append(PatternEdge(above, below, amount, there, place == below))
        else:
            fixed += float(shares(table[above]) @ cost @ shares(table[below]))
    return PatternCosts(free, patterns, alone, pairs, fixed, tuple(edges))


def between(one: StagePatterns, cost: Floats, two: StagePatterns) -> Floats:
    """What each pair of ways costs, if that is so much from site to site."""
    froms, tos = one.sites, two.sites
    if froms is not None and tos is not None:
        return cost[np.ix_(froms, tos)]
    return np.asarray(one.parts @ cost @ two.parts.T)


def _price(streams: Streams, limits: Limits) -> Callable[[float], Floats]:
    latency, usd = streams.area.links.latency_ms, streams.usd_per_gb * 3600 / 1e9
    if limits.goal == "dollars":
        return lambda amount: amount * usd + TIE * latency
    return lambda amount: latency


def _unfit(parts: Floats, there: Floats, amount: float, room: Floats, whole: bool, inward: bool) -> Floats:
    """Infinity for patterns that one edge alone does not let be. Of stages that may be spread, nothing is said."""
    if not whole:
        return np.zeros(len(parts))
    from_to = np.outer(there, np.ones(len(room))) if inward else np.outer(np.ones(len(room)), there)
    use = amount * from_to  # if all of the stage were at the other end
    with np.errstate(divide="ignore", invalid="ignore"):
        most = np.where(use > SAME, room / use, np.inf).min(axis=0 if inward else 1)
    return np.where((parts > most + 1e-9).any(axis=1), np.inf, 0.0)


def _unfit_pairs(one: StagePatterns, two: StagePatterns, amount: float, room: Floats) -> Floats:
    shape, m = (len(one.counts), len(two.counts)), len(room)
    if not (one.whole and two.whole):
        return np.zeros(shape)
    at, to = one.sites, two.sites
    if at is not None and to is not None:
        return np.where(amount > room[np.ix_(at, to)], np.inf, 0.0)
    if shape[0] * shape[1] * m * m > LINK_CELLS:
        return np.zeros(shape)  # left to the check of the whole
    use = amount * one.parts[:, None, :, None] * two.parts[None, :, None, :]
    return np.where((use > room).any(axis=(2, 3)), np.inf, 0.0)


def cheapest(costs: PatternCosts) -> tuple[float, dict[int, int]] | None:
    """The cheapest pattern of every stage if only stages that an edge joins looked at one another.

    Exact where the free stages form trees, by taking leaf after leaf away; None where they do not. What several edges or
    stages share, as links and slots, is not looked at: so its cost is a bound that no placement goes below.
    """
    alone = {place: costs.alone[place].copy() for place in costs.free}
    left = dict(costs.pairs)
    taken: list[tuple[int, int | None, Choices]] = []  # stage, its neighbour, the best pattern by the neighbour's
    waiting = list(costs.free)
    while waiting:
        leaf = next((p for p in waiting if sum(p in edge for edge in left) <= 1), None)
        if leaf is None:
            return None
        waiting.remove(leaf)
        edge = next((edge for edge in left if leaf in edge), None)
        if edge is None:
            taken.append((leaf, None, np.array([int(np.argmin(alone[leaf]))])))
            continue
        table = left.pop(edge)
        neighbour = edge[1] if edge[0] == leaf else edge[0]
        sums = (table if edge[0] == leaf else table.T) + alone[leaf][:, None]
        best = np.argmin(sums, axis=0)
        alone[neighbour] += sums[best, np.arange(len(best))]
        taken.append((leaf, neighbour, best))
    chosen: dict[int, int] = {}
    total = costs.fixed
    for place, other, best in reversed(taken):
        chosen[place] = int(best[0] if other is None else best[chosen[other]])
        if other is None:
            total += float(alone[place][chosen[place]])
    return total, chosen


def table_of(costs: PatternCosts, chosen: dict[int, int], base: Counts) -> Counts:
    """Tasks by stage and site; `base` has those whose place is given."""
    table = base.copy()
    for place, which in chosen.items():
        table[place] = costs.patterns[place].counts[which]
    return table
