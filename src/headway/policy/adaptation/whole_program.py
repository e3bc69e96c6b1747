"""Where do all stages of a plan go? Together, since each one's best place depends on where its neighbours are.

First the cheapest placement if nothing were shared, which is exact for trees and a bound for all. If it fits into slots
and links it is the best there is. If not, and the program is small, HiGHS solves it to the end; where it is large, stages
are placed one after another, again and again, until none moves any more. The gap says how far from the best that may be.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from headway.estimate.stream_rates import edge_bytes, shares
from headway.model.arrays import Floats
from headway.model.geo import Counts, Deployment
from headway.policy.adaptation.patterns import PatternCosts, cheapest, pattern_costs, table_of
from headway.policy.adaptation.prices import priced
from headway.policy.adaptation.stage_program import TIE, Limits, StageTable, stage_program
from headway.policy.adaptation.streams import SAME, Streams, pinned

MOST_NUMBERS = 1_500  # of the joint program
MOST_SWEEPS = 6
NEAR = 1e-9


@dataclass(frozen=True, slots=True)
class AreaPlacement:
    """Where everything runs, and how good that is."""

    deployed: Deployment
    cost: float  # ms of network over all edges, or dollars an hour
    bound: float | None  # below which no placement is; None: not known

    @property
    def gap(self) -> float | None:
        """By how much it may be worse than the best, as a share: 0 is proof that there is no better."""
        if self.bound is None:
            return None
        return max(0.0, (self.cost - self.bound) / max(self.bound, NEAR)) if self.cost - self.bound > NEAR else 0.0


def free_stages(streams: Streams, tasks: Collection[int] | None = None) -> dict[int, int]:
    """How many tasks each stage has that may be placed: one, unless told."""
    told = list(tasks or [1] * len(streams.plan.stages))
    return {place: told[place] for place, stage in enumerate(streams.plan.stages) if stage.free}


def place_all(streams: Streams, tasks: dict[int, int], limits: Limits) -> AreaPlacement | None:
    """The whole plan, from nothing. None: it fits nowhere, as far as was seen."""
    base = pinned(streams.plan, streams.area)
    costs = pattern_costs(streams, tasks, limits)
    if any(not len(one.counts) for one in costs.patterns.values()):
        return None
    found = cheapest(costs)
    bound = None if found is None else found[0]
    if found is not None:
        if not np.isfinite(found[0]):
            return None
        made = Deployment.of(table_of(costs, found[1], base))
        if streams.fits(made, limits.alpha, limits.budget_usd_h):
            return AreaPlacement(made, goal_of(streams, made, limits), bound)
    if tasks and costs.whole and costs.numbers <= MOST_NUMBERS:
        return _solved(streams, costs, limits, base)
    return _searched(streams, costs, tasks, limits, bound)


def _searched(
    streams: Streams, costs: PatternCosts, tasks: dict[int, int], limits: Limits, bound: float | None
) -> AreaPlacement | None:
    """From nothing, and from what prices on slots and links lead to; the best of these."""
    base = Deployment.of(pinned(streams.plan, streams.area))
    order = tuple(tasks)
    best = _descended(streams, base, order, tasks, limits, bound)
    if bound is None:
        return best
    found = priced(streams, costs, limits, best.cost if best else np.inf)
    bound = max(bound, found.bound)
    for start in found.starts:
        made = _descended(streams, start, order, tasks, limits, bound)
        if made is not None and (best is None or made.cost < best.cost):
            best = made
    return None if best is None else replace(best, bound=min(bound, best.cost))


def place_some(
    streams: Streams, deployed: Deployment, stages: Collection[int], limits: Limits, bound: float | None = None
) -> AreaPlacement | None:
    """Only these stages anew, where little has changed; the others stand where they are."""
    tasks = {place: deployed.parallelism(place) for place in stages}
    table = deployed.table
    table[list(stages)] = 0
    return _descended(streams, Deployment.of(table), tuple(stages), tasks, limits, bound)


def strained_stages(streams: Streams, deployed: Deployment, limits: Limits) -> tuple[int, ...]:
    """Free stages next to a link that carries more than it should, or at a site with too many tasks."""
    over = streams.fill(deployed) > limits.alpha + SAME
    full = streams.taken(deployed.table) > streams.area.slots
    table, found = deployed.table, set()
    for above, below in streams.plan.edges():
        if (over & (np.outer(table[above], table[below]) > 0)).any():
            found |= {above, below}
    found |= {place for place in range(len(table)) if (full & (table[place] > 0)).any()}
    return tuple(sorted(place for place in found if streams.plan.stages[place].free))


def goal_of(streams: Streams, deployed: Deployment, limits: Limits) -> float:
    if limits.goal == "dollars":
        return streams.usd_h(deployed) + TIE * streams.network_ms(deployed)
    return streams.network_ms(deployed)


def lower_bound(streams: Streams, tasks: dict[int, int], limits: Limits) -> float | None:
    """Below which no placement is; None where the free stages form no trees."""
    found = cheapest(pattern_costs(streams, tasks, limits))
    return None if found is None else found[0]


def _descended(
    streams: Streams,
    deployed: Deployment,
    order: tuple[int, ...],
    tasks: dict[int, int],
    limits: Limits,
    bound: float | None,
) -> AreaPlacement | None:
    """One stage after another while the others stand, until none moves. In the first sweep later ones have no place yet."""
    made = StageTable.of(streams, deployed.table)
    for sweep in range(MOST_SWEEPS):
        moved = False
        for place in order:
            before = made.table[place].copy()
            row = stage_program(made, place, tasks[place], limits).solve()
            if row is None and sweep == 0:  # what comes behind may make room: where it disturbs least
                row = stage_program(made, place, tasks[place], replace(limits, alpha=np.inf)).solve()
            if row is None and not before.any():
                return None
            made.put(place, before if row is None else row)
            moved = moved or bool((made.table[place] != before).any())
        if not moved:
            break
    deployed = Deployment.of(made.table)
    if not streams.fits(deployed, limits.alpha, limits.budget_usd_h):
        return None
    return AreaPlacement(deployed, goal_of(streams, deployed, limits), bound)


def _solved(streams: Streams, costs: PatternCosts, limits: Limits, base: Counts) -> AreaPlacement | None:
    """The joint program: one pattern for each stage, a number for each pair of patterns along an edge."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    builder = _Program(streams, costs, limits, base)
    rows, columns, values, low, high = builder.rows()
    table = coo_array((values, (rows, columns)), shape=(len(low), builder.size)).tocsr()
    found = milp(
        builder.cost,
        integrality=builder.whole,
        bounds=Bounds(0, builder.most),
        constraints=[LinearConstraint(table, low, high)],
        options={"mip_rel_gap": 0.0},
    )
    if found.x is None:
        return None
    chosen = {place: int(np.argmax(found.x[builder.first[place] :][: len(costs.alone[place])])) for place in costs.free}
    made = Deployment.of(table_of(costs, chosen, base))
    if not streams.fits(made, limits.alpha * (1 + NEAR), limits.budget_usd_h):
        return None
    cost = goal_of(streams, made, limits)
    return AreaPlacement(made, cost, min(cost, costs.fixed + float(found.mip_dual_bound)))


class _Program:
    """Numbers of the joint program: x[stage, pattern], then z[edge, pattern, pattern]."""

    def __init__(self, streams: Streams, costs: PatternCosts, limits: Limits, base: Counts) -> None:
        self._streams, self._costs, self._limits, self._base = streams, costs, limits, base
        self.first: dict[int, int] = {}
        self.pair_first: dict[tuple[int, int], int] = {}
        self.size = 0
        for place in costs.free:
            self.first[place] = self.size
            self.size += len(costs.alone[place])
        stages = self.size
        for edge, of_pairs in costs.pairs.items():
            self.pair_first[edge] = self.size
            self.size += of_pairs.size
        every = [*costs.alone.values(), *(t.ravel() for t in costs.pairs.values())]
        flat = np.concatenate(every) if every else np.zeros(0)
        self.most = np.where(np.isfinite(flat), 1.0, 0.0)
        self.cost = np.where(np.isfinite(flat), flat, 0.0)
        self.whole = (np.arange(self.size) < stages).astype(int)

    def rows(self) -> tuple[list[int], list[int], list[float], list[float], list[float]]:
        """Of the constraints, as coordinates."""
        self._at: list[int] = []
        self._of: list[int] = []
        self._is: list[float] = []
        self._low: list[float] = []
        self._high: list[float] = []
        for place in self._costs.free:
            n = len(self._costs.alone[place])
            self._row([(self.first[place] + k, 1.0) for k in range(n)], 1.0, 1.0)
        for (one, two), table in self._costs.pairs.items():
            z = self.pair_first[one, two] + np.arange(table.size).reshape(table.shape)
            for k in range(table.shape[0]):
                self._row([*((int(v), 1.0) for v in z[k]), (self.first[one] + k, -1.0)], 0.0, 0.0)
            for k in range(table.shape[1]):
                self._row([*((int(v), 1.0) for v in z[:, k]), (self.first[two] + k, -1.0)], 0.0, 0.0)
        self._slots()
        self._links()
        return self._at, self._of, self._is, self._low, self._high

    def _row(self, entries: list[tuple[int, float]], low: float, high: float) -> None:
        row = len(self._low)
        for column, value in entries:
            self._at.append(row)
            self._of.append(column)
            self._is.append(value)
        self._low.append(low)
        self._high.append(high)

    def _slots(self) -> None:
        left = self._streams.area.slots - self._streams.taken(self._base)
        for site in range(len(left)):
            entries = [
                (self.first[place] + k, float(n))
                for place in self._costs.free
                for k, n in enumerate(self._costs.patterns[place].counts[:, site].tolist())
                if n
            ]
            if entries:
                self._row(entries, -np.inf, float(left[site]))

    def _links(self) -> None:
        """Bytes by link, for each number that puts some on it; and what they cost, if there is a budget."""
        plan, m = self._streams.plan, len(self._streams.area)
        use: dict[tuple[int, int], list[tuple[int, float]]] = {}
        fixed = np.zeros((m, m))
        for above, below in plan.edges():
            amount = edge_bytes(plan, self._streams.rates.out, (above, below))
            if (above, below) in self.pair_first:
                one, two = (self._costs.patterns[p].parts for p in (above, below))
                flows = np.einsum("ka,lb->klab", one, two).reshape(-1, m, m)
                self._collect(use, self.pair_first[above, below], amount * flows)
            elif above in self.first or below in self.first:
                place, other = (below, above) if below in self.first else (above, below)
                there, parts = shares(self._base[other]), self._costs.patterns[place].parts
                flows = np.einsum("a,kb->kab", there, parts) if place == below else np.einsum("ka,b->kab", parts, there)
                self._collect(use, self.first[place], amount * flows)
            else:
                fixed += amount * np.outer(shares(self._base[above]), shares(self._base[below]))
        room = self._limits.alpha * self._streams.area.links.bandwidth - fixed
        for (a, b), entries in use.items():
            self._row(entries, -np.inf, float(room[a, b]))
        self._budget(use, fixed)

    def _collect(self, use: dict[tuple[int, int], list[tuple[int, float]]], first: int, flows: Floats) -> None:
        for k, a, b in zip(*(part.tolist() for part in np.nonzero(flows > SAME)), strict=True):
            if a != b and self.most[first + k]:
                use.setdefault((a, b), []).append((first + k, float(flows[k, a, b])))

    def _budget(self, use: dict[tuple[int, int], list[tuple[int, float]]], fixed: Floats) -> None:
        if self._limits.budget_usd_h <= 0:
            return
        price = self._streams.usd_per_gb * 3600 / 1e9
        paid: dict[int, float] = {}
        for (a, b), entries in use.items():
            for column, amount in entries:
                paid[column] = paid.get(column, 0.0) + amount * float(price[a, b])
        self._row(list(paid.items()), -np.inf, self._limits.budget_usd_h - float((fixed * price).sum()))
