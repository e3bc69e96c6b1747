"""Which state goes from which site to which, so that the slowest of it arrives soonest (Jonathan et al., section 5).

Tasks of a stage hold equal parts of its state. With as many tasks as before, whole tasks move: an assignment whose slowest
transfer is the least. With another number every task holds another part, and how much goes where is a linear program.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headway.model.adaptation import StateMove
from headway.model.area import Area
from headway.model.arrays import Floats
from headway.model.geo import Counts, Stage

MB = 1e6
LITTLE_MB = 1e-6
NEVER_S = 1e9  # over a link that is down


def state_moves(stage: Stage, before: Sequence[int], after: Sequence[int], area: Area) -> tuple[StateMove, ...]:
    """What has to move when the tasks of a stage change from one row to the other."""
    old, new = np.asarray(before, dtype=np.int64), np.asarray(after, dtype=np.int64)
    if not stage.stateful or not old.sum() or (old == new).all():
        return ()
    seconds = seconds_a_mb(area)
    if old.sum() == new.sum():
        amounts = _whole_tasks(old, new, seconds, stage.state_mb / old.sum())
    else:
        amounts = _parts(old, new, seconds, stage.state_mb)
    names = area.names
    return tuple(
        StateMove(stage.name, names[a], names[b], round(float(amounts[a, b]), 6), float(amounts[a, b] * seconds[a, b]))
        for a, b in zip(*(places.tolist() for places in np.nonzero(amounts > LITTLE_MB)), strict=True)
    )


def takes_s(moves: Sequence[StateMove]) -> float:
    """t_adapt: the slowest of them. One link carries what goes over it one after another."""
    by_link: dict[tuple[str, str], float] = {}
    for move in moves:
        by_link[move.source, move.target] = by_link.get((move.source, move.target), 0.0) + move.seconds
    return max(by_link.values(), default=0.0)


def seconds_a_mb(area: Area) -> Floats:
    with np.errstate(divide="ignore"):
        seconds = np.minimum(MB / area.links.bandwidth, NEVER_S)
    np.fill_diagonal(seconds, 0.0)
    return np.asarray(seconds)


def _whole_tasks(old: Counts, new: Counts, seconds: Floats, megabytes: float) -> Floats:
    """Those that are at a site in both rows stay. The others are matched, the slowest pair as fast as it can be."""
    leaving = np.repeat(np.arange(len(old)), np.maximum(0, old - new))
    coming = np.repeat(np.arange(len(new)), np.maximum(0, new - old))
    cost = seconds[np.ix_(leaving, coming)]
    rows, columns = _bottleneck(cost)
    amounts = np.zeros(seconds.shape)
    np.add.at(amounts, (leaving[rows], coming[columns]), megabytes)
    return amounts


def _bottleneck(cost: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A perfect matching whose dearest pair is the cheapest possible, and of these the one with the least sum."""
    from scipy.optimize import linear_sum_assignment

    levels = np.unique(cost)
    low, high = 0, len(levels) - 1
    while low < high:  # the least level at which a perfect matching exists
        middle = (low + high) // 2
        over = (cost > levels[middle]).astype(float)
        rows, columns = linear_sum_assignment(over)
        low, high = (low, middle) if not over[rows, columns].any() else (middle + 1, high)
    allowed = np.where(cost <= levels[low], cost, cost.sum() * len(cost) + 1.0)
    rows, columns = linear_sum_assignment(allowed)
    return rows, columns


def _parts(old: Counts, new: Counts, seconds: Floats, state_mb: float) -> Floats:
    """min T: every site ends with its part, and what each link carries takes T at most."""
    from scipy.optimize import linprog

    has, needs = old / old.sum() * state_mb, new / new.sum() * state_mb
    gives = np.flatnonzero(has > needs + LITTLE_MB)
    takes = np.flatnonzero(needs > has + LITTLE_MB)
    amounts = np.zeros(seconds.shape)
    if not len(gives) or not len(takes):
        return amounts
    pairs = [(a, b) for a in range(len(gives)) for b in range(len(takes))]
    n = len(pairs)
    equal, sums = np.zeros((len(gives) + len(takes), n + 1)), np.zeros(len(gives) + len(takes))
    slow = np.zeros((n, n + 1))
    for k, (a, b) in enumerate(pairs):
        equal[a, k] = equal[len(gives) + b, k] = 1
        slow[k, k], slow[k, n] = seconds[gives[a], takes[b]], -1
    sums[: len(gives)] = (has - needs)[gives]
    sums[len(gives) :] = (needs - has)[takes]
    cost = np.append([1e-6 * seconds[gives[a], takes[b]] for a, b in pairs], 1.0)
    found = linprog(cost, A_ub=slow, b_ub=np.zeros(n), A_eq=equal[:-1], b_eq=sums[:-1], method="highs")
    if found.x is None:
        return amounts
    for k, (a, b) in enumerate(pairs):
        amounts[gives[a], takes[b]] = found.x[k]
    return amounts
