"""Where do the tasks of one stage go? An integer program, as Jonathan et al. state it (Eq. 1 to 5), and its solution.

The stages around it stand. What each task adds to the delay, how many tasks fit at a site, and what a link may carry are all
linear in the number of tasks by site.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from headway.estimate.stream_rates import edge_bytes, shares, usd_an_hour
from headway.model.area import LOCAL
from headway.model.arrays import Floats
from headway.model.geo import Counts
from headway.policy.adaptation.streams import Streams

Goal = Literal["delay", "dollars"]
TIE = 1e-6  # of the other goal, so that equals are told apart
SLIVER = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class StageProgram:
    """min sum cost[s] n[s], with 0 <= n[s] <= most[s], sum n = tasks, rows @ n <= limits."""

    cost: Floats
    most: Counts  # by slots, and by links that only one site's tasks use
    tasks: int
    rows: Floats  # links that tasks of two sites share, and the budget; none is the usual case
    limits: Floats

    def solve(self) -> Counts | None:
        """The best there is, or None if there is none.

        With no shared rows the cheapest sites first is the best: all tasks weigh the same. If that keeps to the rows it
        is the best with them too. Otherwise HiGHS.
        """
        if int(self.most.sum()) < self.tasks:
            return None
        filled = self._cheapest_first()
        if not len(self.rows) or (self.rows @ filled <= self.limits + SLIVER).all():
            return filled
        return self._by_program()

    def _cheapest_first(self) -> Counts:
        order = np.argsort(self.cost, kind="stable")
        before = np.cumsum(self.most[order]) - self.most[order]
        filled = np.zeros_like(self.most)
        filled[order] = np.clip(self.tasks - before, 0, self.most[order])
        return filled

    def _by_program(self) -> Counts | None:
        from scipy.optimize import Bounds, LinearConstraint, milp

        found = milp(
            self.cost,
            integrality=np.ones(len(self.cost)),
            bounds=Bounds(0, self.most),
            constraints=[
                LinearConstraint(np.ones((1, len(self.cost))), self.tasks, self.tasks),
                LinearConstraint(self.rows, -np.inf, self.limits),
            ],
            options={"mip_rel_gap": 0.0},
        )
        return np.rint(found.x).astype(np.int64) if found.x is not None else None


@dataclass(frozen=True, slots=True)
class Limits:
    """What a placement has to keep to."""

    alpha: float = 0.8  # of a link's bandwidth
    goal: Goal = "delay"
    budget_usd_h: float = 0.0  # for the whole pipeline; 0: none


@dataclass(slots=True)
class StageTable:
    """Tasks by stage and site while they are being placed, and what that puts on each link."""

    streams: Streams
    table: Counts
    use: Floats  # bytes a second, the diagonal included
    taken: Counts  # slots by site
    _parts: list[Floats]
    _near: dict[int, list[tuple[int, int, float]]]  # edges of each stage, with bytes a second

    @staticmethod
    def of(streams: Streams, table: Counts) -> "StageTable":
        near: dict[int, list[tuple[int, int, float]]] = {place: [] for place in range(len(table))}
        for edge in streams.plan.edges():
            told = (*edge, edge_bytes(streams.plan, streams.rates.out, edge))
            near[edge[0]].append(told)
            near[edge[1]].append(told)
        parts = [shares(row) for row in table]
        none = np.zeros((table.shape[1], table.shape[1]))
        made = StageTable(streams, table.copy(), none, streams.taken(table), parts, near)
        for place in range(len(table)):
            for above, below, amount in near[place]:
                if above == place:
                    made.use += amount * np.outer(parts[above], parts[below])
        return made

    def neighbours(self, place: int) -> list[tuple[Floats, float, bool]]:
        """Of each edge of a stage: shares at the other end, bytes a second, and whether they come from there."""
        return [
            (self._parts[above if below == place else below], amount, below == place)
            for above, below, amount in self._near[place]
        ]

    def put(self, place: int, row: Counts) -> None:
        """The stage has these tasks from now on."""
        if self.table[place].any():
            self._add(place, -1.0)
        if self.streams.plan.stages[place].kind != "source":
            self.taken += row - self.table[place]
        self.table[place], self._parts[place] = row, shares(row)
        if row.any():
            self._add(place, 1.0)

    def _add(self, place: int, sign: float) -> None:
        for above, below, amount in self._near[place]:
            self.use += (sign * amount * self._parts[above])[:, None] * self._parts[below]


def stage_program(placed: StageTable, place: int, tasks: int, limits: Limits, extra: Floats | None = None) -> StageProgram:
    """The program of one stage while the others stand; `extra`: what a task at each site costs besides, in ms.

    The stage itself is taken out of the table.
    """
    streams, m = placed.streams, placed.table.shape[1]
    links = streams.area.links
    placed.put(place, np.zeros(m, dtype=np.int64))
    into, onward = np.zeros(m), np.zeros(m)  # bytes a second from each site, and to each
    delay, usd = np.zeros(m), np.zeros(m)
    priced = limits.budget_usd_h > 0 or limits.goal == "dollars"
    price = streams.usd_per_gb * 3600 / 1e9 if priced else None
    for other, amount, inward in placed.neighbours(place):
        if not other.any():
            continue  # not placed yet
        if inward:
            into += amount * other
            delay += other @ links.latency_ms
        else:
            onward += amount * other
            delay += links.latency_ms @ other
        if price is not None:
            usd += amount * (other @ price if inward else price @ other)
    room = limits.alpha * links.bandwidth - placed.use
    np.fill_diagonal(room, LOCAL)
    left = streams.area.slots.astype(np.int64) - placed.taken
    most = np.minimum(left, _that_fit(room, into, onward, tasks))
    rows, bounds = _shared_rows(room, into, onward, tasks)
    if limits.budget_usd_h > 0:
        rows = np.vstack([rows, usd[None] / tasks])
        bounds = np.append(bounds, limits.budget_usd_h - usd_an_hour(placed.use, links.usd_per_gb))
    cost = delay if extra is None else delay + extra
    if limits.goal == "dollars":
        cost = usd + TIE * cost
    return StageProgram(cost, np.maximum(0, most), tasks, rows, bounds)


def _that_fit(room: Floats, into: Floats, onward: Floats, tasks: int) -> Counts:
    """Eq. 2 and 3, each alone: each task has 1 / tasks of the stream."""
    with np.errstate(divide="ignore", invalid="ignore"):
        inward = np.where(into[:, None] > 0, tasks * room / into[:, None], np.inf).min(axis=0)
        outward = np.where(onward[None, :] > 0, tasks * room / onward[None, :], np.inf).min(axis=1)
    fit = np.floor(np.minimum(inward, outward) + SLIVER)
    return np.asarray(np.clip(fit, 0, tasks).astype(np.int64))


def _shared_rows(room: Floats, into: Floats, onward: Floats, tasks: int) -> tuple[Floats, Floats]:
    """A link from a site that sends to this stage, to a site that hears from it: tasks at both ends use it."""
    m = len(into)
    froms, tos = np.flatnonzero(into > 0), np.flatnonzero(onward > 0)
    pairs = [(a, b) for a in froms.tolist() for b in tos.tolist() if a != b]
    rows = np.zeros((len(pairs), m))
    for row, (a, b) in enumerate(pairs):
        rows[row, b] += into[a] / tasks
        rows[row, a] += onward[b] / tasks
    return rows, np.array([room[a, b] for a, b in pairs])
