"""What the placement policies see: the fleet's nodes and their load, out of statuses, records and rings. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from headway.estimate.rings import stacked, total
from headway.fleet.moves.record import QueryRecord, Step
from headway.fleet.node.wire import MachineFigures, NodeStatus
from headway.model.declared import COOL_DOWN_MS
from headway.model.placement import NEVER, Computations, HostView, NodeView
from headway.model.ring import NEPTUNE, Ring, Rings, RingShape, no_load
from headway.model.time import WallMs

COOL_MS = COOL_DOWN_MS  # after the end of a move, for the node that the query is on then: a new primary sees it, too
FRESH_MS = 3_500  # a status that is older than three and a half of its kind says nothing about now


@dataclass(frozen=True, slots=True)
class NodeHeard:
    """The last status of a node, and when it came, by our own clock."""

    status: NodeStatus
    at: WallMs

    def age_ms(self, now: WallMs) -> int:
        return max(0, now - self.at)


@dataclass(frozen=True, slots=True)
class FleetSeen:
    """All that is known of the fleet at one moment."""

    now: WallMs
    members: frozenset[str]
    heard: Mapping[str, NodeHeard]
    records: tuple[QueryRecord, ...]
    draining: frozenset[str] = frozenset()  # nodes that shall host nothing
    wished: frozenset[str] = frozenset()  # queries whose move has been decided already
    resting: Mapping[str, WallMs] = field(default_factory=dict)
    shape: RingShape = NEPTUNE
    fresh_ms: int = FRESH_MS
    cool_ms: int = COOL_MS

    @property
    def homes(self) -> dict[str, str]:
        """Where each query is, or is on its way to."""
        return {record.query: record.node for record in self.records if record.node is not None}

    @property
    def moving(self) -> frozenset[str]:
        """Nodes that take part in a move. The source does until the query has left it: that the target must still prove
        itself, which may take it until its next window ends, is nothing to wait for on an overloaded node.
        """
        moves = [record.move for record in self.records if record.move is not None]
        sources = [move.source for move in moves if move.step is not Step.FORWARD]
        return frozenset((*sources, *(move.target for move in moves)))

    @property
    def cooling(self) -> dict[str, WallMs]:
        ended = [(record.node, record.ended) for record in self.records if record.ended is not None]
        return {
            node: WallMs(end.at + self.cool_ms)
            for node, end in ended
            if node is not None and end.at + self.cool_ms > self.now
        }

    def usable(self, node: str) -> bool:
        """It can be reached, and takes queries."""
        heard = self.heard.get(node)
        return (
            heard is not None
            and heard.age_ms(self.now) < self.fresh_ms
            and node in self.members
            and node not in self.draining
        )


def hosts(seen: FleetSeen, computations: Mapping[str, Computations]) -> dict[str, HostView]:
    """Each node that has been heard, as it would see itself."""
    moving, cooling, counts = seen.moving, seen.cooling, _counted(seen.homes.values())
    found = {}
    for name, heard in seen.heard.items():
        if name not in seen.members:
            continue
        own = computations.get(name)
        ring = no_load(seen.shape, seen.now) if own is None else total(own.rings)
        view = replace(
            _node(name, heard, ring), cooling_until=cooling.get(name, NEVER), queries=counts.get(name, 0),
            ready=seen.usable(name), moving=name in moving,
        )  # fmt: skip
        mine = own if own is not None else Computations((), _none(seen))
        found[name] = HostView(seen.now, view, mine, dict(seen.resting))
    return found


def _none(seen: FleetSeen) -> Rings:
    return stacked([], seen.shape, seen.now)


def _counted(names: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return counts


def _node(name: str, heard: NodeHeard, ring: Ring) -> NodeView:
    """A query that has not told an upper limit for its bandwidth counts as one that uses none: nothing is known of an
    excess."""
    figures: MachineFigures = heard.status.machine
    limit, cores = heard.status.bandwidth_limit, figures.cores or 1.0
    return NodeView(
        name, ring, cores=cores, load=figures.load_average / cores,
        own_load=figures.own_load, foreign=figures.foreign / cores, bandwidth=figures.bandwidth / limit if limit else 0.0,
        own_bandwidth=figures.own_bandwidth,
    )  # fmt: skip
