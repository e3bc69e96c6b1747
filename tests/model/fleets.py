"""Rings, nodes and fleets as tests need them."""

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from headway.estimate.rings import total
from headway.model.arrays import Floats
from headway.model.placement import (
    Computations,
    FleetView,
    HostView,
    MoveRequest,
    Newcomer,
    NodeView,
    PlacementMemory,
)
from headway.model.ring import Ring, Rings, RingShape
from headway.model.time import WallMs

SMALL = RingShape((1000, 2000, 3000), 4)
NOW = WallMs(1_700_000_000_000)

uses = st.floats(0.0, 4.0, allow_subnormal=False)


def values(shape: RingShape = SMALL, use: st.SearchStrategy[float] = uses) -> st.SearchStrategy[Floats]:
    return st.lists(use, min_size=shape.size, max_size=shape.size).map(np.array)


def steady(use: float, shape: RingShape = SMALL, at: WallMs = NOW) -> Ring:
    return Ring(shape, at, np.full(shape.size, use))


def rings(shape: RingShape = SMALL, at: st.SearchStrategy[int] | None = None) -> st.SearchStrategy[Ring]:
    moments = st.just(NOW) if at is None else at.map(WallMs)
    return st.builds(lambda moment, use: Ring(shape, moment, use), moments, values(shape))


def table(uses_: list[float], names: str = "q", homes: tuple[str, ...] = ()) -> Computations:
    """Computations with a steady use each, named q0, q1, ..."""
    rows = np.repeat(np.array(uses_, dtype=float)[:, None], SMALL.size, axis=1).reshape(len(uses_), SMALL.size)
    return Computations(tuple(f"{names}{row}" for row in range(len(uses_))), Rings(SMALL, NOW, rows), homes)


def node(name: str, use: float = 1.0, **other: Any) -> NodeView:
    """A node whose load average is what its computations use, unless it is told otherwise."""
    made = NodeView(name, steady(use), load=use, queries=4)
    return replace(made, **other)


def host(uses_: list[float], name: str = "a", **other: Any) -> HostView:
    computations = table(uses_)
    own: dict[str, Any] = {"ring": total(computations.rings), "load": sum(uses_), "queries": len(uses_)}
    made = node(name, **(own | other))
    return HostView(NOW, made, computations)


def request(query: str, home: str, use: float = 0.2, score: float = 1.0) -> MoveRequest:
    return MoveRequest(query, home, steady(use), score)


@st.composite
def nodes(draw: st.DrawFn, name: str) -> NodeView:
    share = st.floats(0.0, 1.0)
    return NodeView(
        name,
        draw(rings()),
        cores=draw(st.sampled_from([1.0, 2.0, 16.0])),
        load=draw(st.floats(0.0, 3.0)),
        own_load=draw(share),
        foreign=draw(st.sampled_from([0.0, 0.0, 0.3, 3.0])),
        bandwidth=draw(st.floats(0.0, 2.0)),
        own_bandwidth=draw(share),
        cooling_until=WallMs(NOW + draw(st.sampled_from([-10_000, 0, 0, 0, 5_000]))),
        queries=draw(st.integers(0, 9)),
        ready=draw(st.sampled_from([True, True, True, False])),
        moving=draw(st.sampled_from([False, False, False, True])),
    )


@st.composite
def fleets(draw: st.DrawFn) -> FleetView:
    """Some nodes; most of them ask, some new queries wait, and what every node runs is known."""
    names = [f"n{i}" for i in range(draw(st.integers(1, 5)))]
    found = tuple(draw(nodes(name)) for name in names)
    asking = [name for name in names if draw(st.booleans())]
    requests = tuple(MoveRequest(f"q-{name}", name, draw(rings()), draw(st.floats(0.0, 50.0))) for name in asking)
    new = tuple(Newcomer(f"new-{i}", draw(st.none() | rings())) for i in range(draw(st.integers(0, 3))))
    rested = {r.query: WallMs(NOW + 1000) for r in requests if draw(st.integers(0, 5)) == 0}
    computations = Computations(
        tuple(f"q-{name}" for name in names),
        Rings(SMALL, NOW, np.stack([draw(values()) for _ in names])),
        tuple(names),
    )
    return FleetView(NOW, found, requests, new, rested, computations)


@st.composite
def hosts(draw: st.DrawFn) -> HostView:
    count = draw(st.integers(0, 5))
    rows = np.stack([draw(values()) for _ in range(count)]) if count else np.zeros((0, SMALL.size))
    table_ = Computations(tuple(f"q{i}" for i in range(count)), Rings(SMALL, NOW, rows))
    made = replace(draw(nodes("a")), ring=total(table_.rings), queries=count)
    resting = {name: WallMs(NOW + 500) for name in table_.names if draw(st.integers(0, 4)) == 0}
    return HostView(NOW, made, table_, resting)


def ring_later(ring: Ring, by_ms: int) -> Ring:
    return replace(ring, at=WallMs(ring.at + by_ms))


def fleet_later(seen: FleetView, by_ms: int) -> FleetView:
    """The same at another time: every moment in it is as much later."""
    moved = seen.computations and replace(seen.computations, rings=_later(seen.computations.rings, by_ms))
    return FleetView(
        WallMs(seen.now + by_ms),
        tuple(node_later(n, by_ms) for n in seen.nodes),
        tuple(replace(r, ring=ring_later(r.ring, by_ms)) for r in seen.requests),
        tuple(replace(n, ring=n.ring and ring_later(n.ring, by_ms)) for n in seen.newcomers),
        {query: WallMs(until + by_ms) for query, until in seen.resting.items()},
        moved,
    )


def host_later(seen: HostView, by_ms: int) -> HostView:
    computations = replace(seen.computations, rings=_later(seen.computations.rings, by_ms))
    resting = {query: WallMs(until + by_ms) for query, until in seen.resting.items()}
    return HostView(WallMs(seen.now + by_ms), node_later(seen.node, by_ms), computations, resting)


def node_later(seen: NodeView, by_ms: int) -> NodeView:
    return replace(seen, ring=ring_later(seen.ring, by_ms), cooling_until=WallMs(seen.cooling_until + by_ms))


def memory_later(memory: PlacementMemory, by_ms: int) -> PlacementMemory:
    planned = None if memory.planned_at is None else WallMs(memory.planned_at + by_ms)
    cooling, resting = (
        {name: WallMs(until + by_ms) for name, until in told.items()} for told in (memory.cooling, memory.resting)
    )
    return replace(memory, cooling=cooling, resting=resting, planned_at=planned)


def _later(rings_: Rings, by_ms: int) -> Rings:
    return replace(rings_, at=WallMs(rings_.at + by_ms))
