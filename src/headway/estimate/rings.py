"""Prediction rings: filled from forecasts, moved on in time, added up, and weighed by how loaded their node is.

A value is arrivals x processing time per message x message size (Buddhika et al., section 4.1.2), per second of its window:
cores that are busy with messages of 1 kB. A ring is a step function of time, and to move it on is to take the means of that
function over the new windows. Sums, means and multiples of rings are therefore rings again.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np

from headway.errors import SettingError
from headway.model.arrays import Floats
from headway.model.placement import NodeView
from headway.model.ring import Ring, Rings, RingShape
from headway.model.time import WallMs

REFERENCE_BYTES = 1000.0  # a message of this size counts once
FLOOR = 0.5  # of "1 - own share"

AnyRing = TypeVar("AnyRing", Ring, Rings)


def fill(shape: RingShape, at: WallMs, rates: Floats, ms_per_message: Floats, bytes_per_message: Floats) -> Rings:
    """Rings of computations: a row of `rates` has the messages per second that are forecast for each window of one."""
    busy_cores = np.asarray(rates, dtype=np.float64) * (np.asarray(ms_per_message)[:, None] / 1000)
    return Rings(shape, at, busy_cores * (np.asarray(bytes_per_message)[:, None] / REFERENCE_BYTES))


def align(ring: AnyRing, at: WallMs) -> AnyRing:
    """The same forecast, seen from another moment. Beyond either end the nearest window is taken to last."""
    if at == ring.at:
        return ring
    return type(ring)(ring.shape, at, ring.values @ _shift(ring.shape, at - ring.at))


def advance(ring: AnyRing, at: WallMs, anew: AnyRing | None = None) -> AnyRing:
    """Past windows drop out. Those at the far end that the old forecast did not wholly reach are filled from `anew`."""
    moved = align(ring, at)
    if anew is None:
        return moved
    ends = ring.shape.starts_ms + ring.shape.widths_ms + (at - ring.at)
    return type(ring)(ring.shape, at, np.where(ends > ring.shape.span_ms, align(anew, at).values, moved.values))


def add(ring: Ring, other: Ring) -> Ring:
    """Both together, as seen from the later of their moments."""
    at = max(ring.at, other.at)
    return Ring(ring.shape, at, align(ring, at).values + align(other, at).values)


def subtract(ring: Ring, other: Ring) -> Ring:
    """What is left of `ring` without `other`, as seen from the later of their moments."""
    at = max(ring.at, other.at)
    return Ring(ring.shape, at, align(ring, at).values - align(other, at).values)


def total(rings: Rings) -> Ring:
    """All of them together: the ring of a node that runs them."""
    return Ring(rings.shape, rings.at, rings.values.sum(axis=0))


def stacked(rings: list[Ring], shape: RingShape, at: WallMs) -> Rings:
    """Single rings as a table of one moment."""
    if not rings:
        return Rings(shape, at, np.zeros((0, shape.size)))
    return Rings(shape, at, np.stack([align(ring, at).values for ring in rings]))


@dataclass(frozen=True, slots=True)
class Normalising:
    """What a node's ring is multiplied with, in its innermost ring only: the load that is measured now does not last.

    The paper's factor "1 - own share" is 0 on a node whose load is all its own, and so is its whole innermost ring: however
    full the node, nothing that comes soon would count. So no share counts for less than `floor`.
    """

    floor: float = FLOOR

    def __post_init__(self) -> None:
        if not 0 < self.floor <= 1:
            raise SettingError("placement.floor", self.floor, "a share above 0 and up to 1, e.g. 0.1")

    def multiplier(self, node: NodeView) -> float:
        """Load per core x excess bandwidth x both shares that are not the node's own."""
        external = max(self.floor, 1 - node.own_load) * max(self.floor, 1 - node.own_bandwidth)
        return node.load * max(1.0, node.bandwidth) * external

    def multipliers(self, nodes: tuple[NodeView, ...], shape: RingShape) -> Floats:
        """By node and window."""
        by_window = np.ones((len(nodes), shape.size))
        by_window[:, : shape.windows] = np.array([self.multiplier(node) for node in nodes])[:, None]
        return by_window

    def normalise(self, ring: Ring, node: NodeView) -> Ring:
        """The ring of this node, or of this node with more or less on it, so that nodes can be compared."""
        return Ring(ring.shape, ring.at, ring.values * self.multipliers((node,), ring.shape)[0])


@lru_cache(maxsize=256)
def _shift(shape: RingShape, by_ms: int) -> Floats:
    """Old values times this are new ones: each new window is made of the parts of old windows that it covers."""
    old_from, widths = shape.starts_ms.astype(np.float64), shape.widths_ms.astype(np.float64)
    old_to = old_from + widths
    # The first and the last window last for ever.
    old_from[0], old_to[-1] = -np.inf, np.inf
    new_from = shape.starts_ms + by_ms
    covered = np.minimum(old_to[:, None], (new_from + widths)[None, :]) - np.maximum(old_from[:, None], new_from[None, :])
    shares = np.maximum(0.0, covered) / widths[None, :]
    shares.setflags(write=False)
    return np.asarray(shares)
