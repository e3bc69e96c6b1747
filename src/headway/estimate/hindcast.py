"""Which constants would have forecast the latest of a series best, as far ahead as a ring looks.

The constants that miss the next step by least are often too quick for what comes in a minute: of a noisy series they follow
the noise. So many of them are run over the series side by side, as rows of one table, and asked on the way.
"""

from collections.abc import Sequence
from itertools import pairwise, product

import numpy as np

from headway.estimate.smoothing import NO_SEASON, Smoothing, SmoothingTable
from headway.model.arrays import Floats, Places

FEWEST = 10  # steps from which a series without a season begins
ASKED = 24  # times: how often each is asked on the way
LEAST_STEPS = 12  # behind the beginning: a series with fewer does not tell which constants are good
WINDOWS = 6  # how often what is looked ahead must fit into a series: of fewer stretches one may be chance
RINGS = (0.0, 1 / 6, 1 / 2, 1.0)  # of what is looked ahead: 30, 60 and 90 of 180 steps
LEVELS = (0.03, 0.07, 0.15, 0.3, 0.6, 1.0)
USUAL = Smoothing(0.07, 0.0, 0.0)  # much like a mean over 30 steps: kept unless something misses less than
BETTER = 0.85  # of what this does
SEASONAL = tuple(product((0.0, 0.02, 0.07, 0.2, 0.5), (0.05, 0.15, 0.4, 1.0)))  # level and season
TRENDS = ((0.0, 0.9), (0.05, 0.98))  # trend and damping: it soon ends, or goes on for a while


def choices(length: int) -> list[Smoothing]:
    """What is tried for a series with such a season. Level 0 and season 1 is the season before, once more."""
    if length == NO_SEASON:
        return [Smoothing(level, 0.0, 0.0) for level in LEVELS]
    return [Smoothing(level, trend, season, damping) for (level, season), (trend, damping) in product(SEASONAL, TRENDS)]


def begun(length: int) -> int:
    """Steps that a model with such a season begins with."""
    return 2 * length if length > NO_SEASON else FEWEST


def best(latest: Floats, tried: Sequence[tuple[int, Sequence[Smoothing]]], ahead: int) -> tuple[int, Smoothing] | None:
    """Of these lengths of a season, and constants for each, those that miss least; None: the series is too short to tell."""
    first = max(begun(length) for length, _ in tried)
    if len(latest) < first + LEAST_STEPS:
        return None
    ahead = max(1, min(ahead, len(latest) // WINDOWS))
    asked = _moments(first, len(latest), ahead)
    found = [(length, constants, misses(latest, length, constants, asked, ahead)) for length, constants in tried]
    length, constants, missed = min(found, key=lambda one: float(one[2].min()))
    usual = misses(latest, NO_SEASON, [USUAL], asked, ahead)[0]
    if float(missed.min()) > BETTER * usual:
        return NO_SEASON, USUAL
    return length, constants[int(np.argmin(missed))]


def misses(latest: Floats, length: int, constants: Sequence[Smoothing], asked: Places, ahead: int) -> Floats:
    """By constants: the mean miss of the steps ahead, those of each ring counting together for a third."""
    rows: Places = np.arange(len(constants))
    table = SmoothingTable(np.full(len(rows), length), constants[0], length)
    for row, smoothing in enumerate(constants):
        table.change(row, length, smoothing)
    first, n, when = begun(length), len(latest), set(asked.tolist())
    table.begin(rows, np.tile(latest[:first], (len(rows), 1)))
    missed, counts = np.zeros((len(rows), ahead)), np.zeros(ahead)
    for at in range(first, n):
        if at in when:
            steps = min(ahead, n - at)
            missed[:, :steps] += np.abs(np.maximum(table.ahead(steps, rows), 0.0) - latest[at : at + steps])
            counts[:steps] += 1
        table.step(np.full(len(rows), latest[at]), rows)
    seen = int(np.count_nonzero(counts))
    by_step = missed[:, :seen] / counts[:seen]
    edges = sorted({min(seen, round(ahead * share)) for share in RINGS})
    return np.asarray(np.mean([by_step[:, low:high].mean(axis=1) for low, high in pairwise(edges)], axis=0))


def _moments(first: int, n: int, ahead: int) -> Places:
    """Of the steps behind the beginning: later ones, and none with hardly anything behind it."""
    left = n - first
    last = n - max(1, min(round(ahead * RINGS[1]), left // 4))
    return np.unique(np.linspace(first + left // 6, last, ASKED).astype(np.int64))
