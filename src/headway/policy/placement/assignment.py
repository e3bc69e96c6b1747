"""Where each query should run if all that comes were known: an integer program, and how far its answer may be from the best.

What is made small is the *peak*: the greatest load per core of any node in any window. No placement has a lower one than the
load of all in the fullest window, spread evenly. That bound is what the gap is measured against, unless the program proves a
better one.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headway.model.arrays import Floats

Homes = NDArray[np.int64]  # by computation: its node; -1: none yet
MOST_NUMBERS = 4_000  # of the program: a larger one is left to the search
MOST_BRANCHES = 2_000
SAME = 1e-9


@dataclass(frozen=True, slots=True)
class Assignment:
    """A node for each computation."""

    homes: Homes
    peak: float
    bound: float  # below which no placement has its peak

    @property
    def gap(self) -> float:
        """By how much the peak may be above the best one, as a share of that: 0 is proof that there is no better."""
        return max(0.0, self.peak / self.bound - 1) if self.bound > SAME else 0.0


def assign(loads: Floats, cores: Floats, homes: Homes, gap: float = 0.01) -> Assignment:
    """Computations (rows of `loads`, a column a window) to nodes, moving as few as need be.

    First by moving one computation at a time off the fullest node, which is enough where there are many small ones. Where
    that leaves more than the gap, and the program is small enough, by the program.
    """
    bound = float(loads.sum(axis=0).max(initial=0.0) / cores.sum())
    # A node that has the heaviest computation alone is as full as that: no placement is below this either.
    bound = max(bound, float(loads.max(initial=0.0) / cores.max()))
    found = Assignment(searched(loads, cores, homes, bound * (1 + gap)), 0.0, bound)
    found = Assignment(found.homes, peak(loads, cores, found.homes), bound)
    kinds = np.unique(loads, axis=0)
    if found.gap <= gap or len(kinds) * len(cores) > MOST_NUMBERS:
        return found
    solved = solve(loads, cores, homes, gap)
    if solved is None or solved.peak > found.peak:
        return found if solved is None else Assignment(found.homes, found.peak, max(bound, solved.bound))
    return Assignment(solved.homes, solved.peak, max(bound, solved.bound))


def peak(loads: Floats, cores: Floats, homes: Homes) -> float:
    return float((summed(loads, len(cores), homes) / cores[:, None]).max(initial=0.0))


def summed(loads: Floats, nodes: int, homes: Homes) -> Floats:
    """The load of each node in each window."""
    out = np.zeros((nodes, loads.shape[1]))
    np.add.at(out, homes[homes >= 0], loads[homes >= 0])
    return out


def searched(loads: Floats, cores: Floats, homes: Homes, enough: float) -> Homes:
    """What has no node goes where the peak stays lowest; then the fullest node gives away one computation after another."""
    homes = homes.copy()
    full = summed(loads, len(cores), homes)
    waiting = np.flatnonzero(homes < 0)
    for row in waiting[np.argsort(-loads[waiting].max(axis=1, initial=0.0), kind="stable")].tolist():
        node = int(np.argmin(((full + loads[row]) / cores[:, None]).max(axis=1)))
        homes[row] = node
        full[node] += loads[row]
    for _ in range(4 * len(homes)):
        heights = (full / cores[:, None]).max(axis=1, initial=0.0)
        fullest = int(np.argmax(heights))
        if heights[fullest] <= enough:
            break
        step = _best_step(loads, cores, full, np.flatnonzero(homes == fullest), fullest)
        if step is None:
            break
        row, node = step
        full[fullest] -= loads[row]
        full[node] += loads[row]
        homes[row] = node
    return homes


def _best_step(loads: Floats, cores: Floats, full: Floats, rows: Homes, fullest: int) -> tuple[int, int] | None:
    """Which of the fullest node's computations goes where, so that the higher of both is lowest; None if none helps."""
    height = float((full[fullest] / cores[fullest]).max(initial=0.0))
    if not len(rows) or len(cores) < 2:
        return None
    left = ((full[fullest] - loads[rows]) / cores[fullest]).max(axis=1)
    # The targets that are emptiest in the windows in question: all of them against all computations would be a large table.
    nodes = np.argsort((full / cores[:, None]).max(axis=1), kind="stable")[:16]
    nodes = nodes[nodes != fullest]
    there = ((full[nodes][None] + loads[rows][:, None]) / cores[nodes][None, :, None]).max(axis=2)
    both = np.maximum(left[:, None], there)
    row, node = np.unravel_index(int(np.argmin(both)), both.shape)
    return (int(rows[row]), int(nodes[node])) if both[row, node] < height - SAME else None


def solve(loads: Floats, cores: Floats, homes: Homes, gap: float) -> Assignment | None:
    """The integer program: how many computations of each kind (equal loads) are on each node. None: it found nothing."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array, eye_array, hstack, vstack

    kinds, kind_of, counts = np.unique(loads, axis=0, return_inverse=True, return_counts=True)
    kind_of = kind_of.reshape(-1)
    k, m, w = len(kinds), len(cores), loads.shape[1]
    # Numbers: x[kind, node], then as many y <= x that stay where they are, then the peak z.
    x = k * m
    at_home = np.zeros((k, m))
    np.add.at(at_home, (kind_of[homes >= 0], homes[homes >= 0]), 1)
    total = coo_array((np.ones(x), (np.repeat(np.arange(k), m), np.arange(x))), shape=(k, 2 * x + 1))
    node, window, kind = (part.ravel() for part in np.meshgrid(np.arange(m), np.arange(w), np.arange(k), indexing="ij"))
    filled = coo_array((kinds[kind, window], (node * w + window, kind * m + node)), shape=(m * w, 2 * x))
    heights = hstack([filled, coo_array(-np.repeat(cores, w)[:, None])])
    stays = hstack([-eye_array(x), eye_array(x), coo_array((x, 1))])
    # A move costs so little that all together never outweigh the gap.
    scale = max(SAME, float(loads.sum(axis=0).max() / cores.sum()))
    cost = np.concatenate([np.zeros(x), np.full(x, -0.1 * gap * scale / len(loads)), [1.0]])
    found = milp(
        cost,
        integrality=np.concatenate([np.ones(x), np.zeros(x + 1)]),
        bounds=Bounds(0, np.concatenate([np.repeat(counts, m), at_home.ravel(), [np.inf]])),
        constraints=[
            LinearConstraint(total.tocsr(), counts, counts),
            LinearConstraint(vstack([heights, stays]).tocsr(), -np.inf, 0),
        ],
        # No limit of time: the same program has the same answer on every machine.
        options={"mip_rel_gap": gap / 2, "node_limit": MOST_BRANCHES},
    )
    if found.x is None:
        return None
    placed = _spread(np.round(found.x[:x]).astype(np.int64).reshape(k, m), kind_of, homes)
    # What the moves cost only makes the bound lower: it holds for the peak as well.
    least = float(found.mip_dual_bound) if found.mip_dual_bound is not None else 0.0
    return Assignment(placed, peak(loads, cores, placed), max(0.0, least))


def _spread(wanted: NDArray[np.int64], kind_of: Homes, homes: Homes) -> Homes:
    """Which of the computations of a kind go where: those that are there already stay."""
    placed = np.full(len(homes), -1, dtype=np.int64)
    for kind, by_node in enumerate(wanted):
        rows, left = np.flatnonzero(kind_of == kind), by_node.copy()
        for row in rows.tolist():
            if homes[row] >= 0 and left[homes[row]] > 0:
                placed[row] = homes[row]
                left[homes[row]] -= 1
        rest = rows[placed[rows] < 0]
        placed[rest] = np.repeat(np.arange(len(left)), left)
    return placed
