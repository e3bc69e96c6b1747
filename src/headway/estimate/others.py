"""What other programs use of a node, and how scores take it into account, in two ways.

**Added** (`AddedOthers`, ours): cores and bandwidth are scored each by itself, in shares of what should be in use at most.
How much of each a unit of a ring takes is learnt from all nodes together: what they measure of their own use over the sum of
their rings. A ring is a product of both uses and does not tell them apart: by how much a node measures more of one than the
rest, its own rings count for more. What others use is added like one more computation.

**Multiplied** (`MultipliedOthers`, as published): a node's innermost ring is multiplied with the measured load, the excess
bandwidth and the shares that are not the node's own (section 4.1.2); see `Normalising`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from headway.estimate.interference import Interference
from headway.estimate.rings import Normalising
from headway.model.arrays import Floats, Places
from headway.model.placement import NodeView
from headway.model.ring import RingShape

LEAST_USE = 1e-9  # of all rings together, from which a unit can be learnt
MOST_HIDDEN = 2.0  # times: how much greater than it is measured a use of a full link may be
# Of the score by cores: what the computations of a node do to each other, whatever else its machine does. Nodes that share a
# machine all measure the same load, and one of them would look as good as another however many queries it had.
AMONG_OWN = 0.25
MOST_MIXED = 2.0  # times: how far a node may stray from what its rings explain
LATE = 0.5  # of that counts for cores: after a move a load average takes a minute to follow
NEARLY_ALL = 0.95  # of a link: from there on it may hide what is asked of it


class Others(Protocol):
    """Scores in view of what others use. Rings are rows of windows; `own` has one for each node: of all that runs there."""

    def of_node(self, node: NodeView, shape: RingShape, own: Floats, without: Floats, computations: Floats) -> Floats:
        """Of the computations of one node, each beside what is `without` it there."""
        ...

    def of_fleet(
        self, nodes: Sequence[NodeView], shape: RingShape, own: Floats, coming: Floats | float, computations: Floats
    ) -> Floats:
        """Of every computation (row) on every node (column); `coming` is what will be there besides."""
        ...

    def at_home(
        self, nodes: Sequence[NodeView], shape: RingShape, own: Floats, homes: Places, computations: Floats
    ) -> Floats | None:
        """Of computations on the nodes where they are. None: what each node itself says of that is good enough."""
        ...

    def room(self, nodes: Sequence[NodeView], shape: RingShape, own: Floats, homes: Places, computations: Floats) -> "Room":
        """Whether each node (column) can carry the computation (row) of another one."""
        ...


@dataclass(frozen=True, slots=True)
class MultipliedOthers:
    """As published, in the innermost ring; or, if `everywhere`, in all of them."""

    score: Interference
    normalising: Normalising
    everywhere: bool = False

    def of_node(self, node: NodeView, shape: RingShape, own: Floats, without: Floats, computations: Floats) -> Floats:
        weighed = without * self._multipliers((node,), shape)
        return np.asarray(self.score.each(shape, weighed, computations) / node.cores**self.score.amplifier)

    def of_fleet(
        self, nodes: Sequence[NodeView], shape: RingShape, own: Floats, coming: Floats | float, computations: Floats
    ) -> Floats:
        cores = np.array([node.cores for node in nodes])
        weighed = (own + coming) * self._multipliers(nodes, shape)
        return np.asarray(self.score.all(shape, weighed, computations) / cores**self.score.amplifier)

    def at_home(
        self, nodes: Sequence[NodeView], shape: RingShape, own: Floats, homes: Places, computations: Floats
    ) -> Floats | None:
        return None

    def room(self, nodes: Sequence[NodeView], shape: RingShape, own: Floats, homes: Places, computations: Floats) -> "Room":
        anywhere = np.ones((len(computations), len(nodes)), dtype=np.bool_)
        return Room(anywhere, ~anywhere)

    def _multipliers(self, nodes: Sequence[NodeView], shape: RingShape) -> Floats:
        if self.everywhere:
            return np.array([[self.normalising.multiplier(node)] for node in nodes])
        return self.normalising.multipliers(tuple(nodes), shape)


@dataclass(frozen=True, slots=True)
class AddedOthers:
    """What others use is added to all rings; or only to the innermost one."""

    amplifier: int
    cpu: float  # of the cores, that should be in use at most,
    bandwidth: float  # and of the link
    everywhere: bool = True

    def of_node(self, node: NodeView, shape: RingShape, own: Floats, without: Floats, computations: Floats) -> Floats:
        found = np.zeros(len(computations))
        for part in self._resources((node,), shape, own):
            beside = np.maximum(without + (part.mix[0] - 1) * own, 0.0) + self._beside(part, shape)
            found += part.weight * self._score.each(shape, beside, computations) * part.unit[0] ** self.amplifier
        return found

    def of_fleet(
        self, nodes: Sequence[NodeView], shape: RingShape, own: Floats, coming: Floats | float, computations: Floats
    ) -> Floats:
        found = np.zeros((len(computations), len(nodes)))
        for part in self._resources(nodes, shape, own):
            beside = part.mix[:, None] * own + coming + self._beside(part, shape)
            found += part.weight * self._score.all(shape, beside, computations) * part.unit**self.amplifier
        return found

    def at_home(
        self, nodes: Sequence[NodeView], shape: RingShape, own: Floats, homes: Places, computations: Floats
    ) -> Floats | None:
        """By the units of the whole fleet, as on all other nodes: one node knows its own only."""
        found = np.zeros(len(computations))
        for part in self._resources(nodes, shape, own):
            without = np.maximum((part.mix[:, None] * own)[homes] - computations, 0.0)
            beside = without + self._beside(part, shape)[homes]
            found += part.weight * self._score.each(shape, beside, computations) * part.unit[homes] ** self.amplifier
        return found

    def room(self, nodes: Sequence[NodeView], shape: RingShape, own: Floats, homes: Places, computations: Floats) -> "Room":
        """No move makes a node fuller than it can be, of anything, unless where it comes from is fuller of the same."""
        allowed = np.ones((len(computations), len(nodes)), dtype=np.bool_)
        carried, overfull = allowed.copy(), np.zeros(len(nodes), dtype=np.bool_)
        for part in self._resources(nodes, shape, own):
            full = part.unit * part.mix * own.mean(axis=1) + part.others
            after = full + part.unit * computations.mean(axis=1)[:, None]
            allowed &= after <= np.maximum(part.most, full[homes])[:, None]
            carried &= after <= part.most
            overfull |= full > part.most
        return Room(allowed, carried & overfull[homes, None])

    def _resources(self, nodes: Sequence[NodeView], shape: RingShape, own: Floats) -> tuple["ResourceUse", ...]:
        return resources(nodes, shape, own, self.cpu, self.bandwidth)

    @property
    def _score(self) -> Interference:
        return Interference(self.amplifier, 1.0, 1.0)  # the limits are in the units

    def _beside(self, part: "ResourceUse", shape: RingShape) -> Floats:
        """What others use, by node and window, in the unit of rings."""
        beside = np.repeat((part.others / part.unit)[:, None], shape.size, axis=1)
        if not self.everywhere:
            beside[:, shape.windows :] = 0.0
        return beside


@dataclass(frozen=True, eq=False, slots=True)
class Room:
    """Where computations (rows) can go, by node (column)."""

    allowed: NDArray[np.bool_]
    relieves: NDArray[np.bool_]  # its home has more than it can carry, and that node would not


@dataclass(frozen=True, eq=False, slots=True)
class ResourceUse:
    """One resource of some nodes. All values are shares of what should be in use of it at most."""

    unit: Floats  # by node: what a computation takes of it whose ring has the value 1
    mix: Floats  # by node: how much more of it than of all together its own computations take
    others: Floats  # by node: what other programs use
    most: float  # that there is of it
    weight: float = 1.0  # of its score


def resources(
    nodes: Sequence[NodeView], shape: RingShape, own: Floats, cpu: float, bandwidth: float
) -> tuple[ResourceUse, ...]:
    """Cores and bandwidth, as the nodes measure them and as their rings explain it.

    Sums over all nodes do not change when something moves, although a load average takes a minute to follow. A resource that
    the fleet does not use is left out. Where nothing has been measured yet, a ring is taken to be cores. What others use of
    cores is told of the last minute and of the last seconds, and the more counts: a program that has just begun is evaded.
    """
    now = own[:, : shape.windows].mean(axis=1)
    cores, load, own_load, foreign, wire, own_wire = (
        np.array(column, dtype=np.float64) for column in zip(*map(_told, nodes), strict=True)
    )
    all_rings = float(now.sum())
    busy, sent = float((load * own_load * cores).sum()), float((wire * own_wire).sum())
    others = np.maximum(load * (1 - own_load), foreign) / cpu
    if all_rings < LEAST_USE or max(busy, sent) < LEAST_USE:
        return _cores(1 / (cores * cpu), np.ones(len(nodes)), others, cpu)
    found: tuple[ResourceUse, ...] = ()
    if busy >= LEAST_USE:
        unit = busy / all_rings
        mix = 1 + LATE * (_mix(load * own_load * cores, unit * now) - 1)
        found = _cores(unit / (cores * cpu), mix, others, cpu)
    if sent >= LEAST_USE:
        unit = sent / all_rings
        # A full link carries less than is asked of it, of others' bytes as of our own; ours are known from the rings.
        hidden = np.clip(unit * now / np.maximum(wire * own_wire, LEAST_USE), 1.0, MOST_HIDDEN)
        shared = (wire > 1) & (own_wire > 0) & (own_wire < 1)
        hidden, mix = np.where(shared, hidden, 1.0), _mix(wire * own_wire, unit * now)
        mix = np.where(shared | (wire > NEARLY_ALL / bandwidth), np.maximum(mix, 1.0), mix)
        found = (*found, ResourceUse(np.full(len(nodes), unit), mix, wire * (1 - own_wire) * hidden, 1 / bandwidth))
    return found


def _cores(unit: Floats, mix: Floats, others: Floats, cpu: float) -> tuple[ResourceUse, ...]:
    return ResourceUse(unit, mix, others, 1 / cpu), ResourceUse(unit, mix, np.zeros(len(unit)), inf, AMONG_OWN)


def _mix(measured: Floats, explained: Floats) -> Floats:
    """What nodes measure of their own use, over what their rings explain of it."""
    ratio = measured / np.maximum(explained, LEAST_USE)
    return np.asarray(np.where(explained > LEAST_USE, np.clip(ratio, 1 / MOST_MIXED, MOST_MIXED), 1.0))


def _told(node: NodeView) -> tuple[float, float, float, float, float, float]:
    return node.cores, node.load, node.own_load, node.foreign, node.bandwidth, node.own_bandwidth
