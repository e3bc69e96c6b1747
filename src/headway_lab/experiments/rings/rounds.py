"""What one round of placement costs: every node looks for what should move, and the orchestrator answers them all."""

from time import process_time
from typing import Any

import numpy as np

from headway.estimate.rings import total
from headway.model.placement import (
    Computations,
    FleetView,
    HostView,
    Move,
    MoveRequest,
    NodeView,
    PlacementMemory,
    PlacementPolicy,
    Placements,
    RequestMemory,
    RequestMove,
)
from headway.model.ring import NEPTUNE, Rings
from headway.model.time import WallMs

NOW = WallMs(1_700_000_000_000)


def hosts(computations: int, nodes: int, seed: int) -> list[HostView]:
    """Nodes with equally many computations each, of which every third node has three times the load."""
    numbers = np.random.default_rng(seed)
    share = computations // nodes
    made = []
    for row in range(nodes):
        waves = 1 + 0.5 * np.sin(np.linspace(0, 6, NEPTUNE.size) + numbers.uniform(0, 6, (share, 1)))
        use = (3 if row % 3 == 0 else 1) * numbers.uniform(0.2, 1.0, (share, 1)) / share
        rings = Rings(NEPTUNE, NOW, waves * use)
        ring = total(rings)
        load = float(ring.values[:30].mean())
        view = NodeView(f"node-{row:04}", ring, load=load, own_load=float(numbers.uniform(0.5, 1.0)), queries=share)
        names = tuple(f"q-{row:04}-{query:03}" for query in range(share))
        made.append(HostView(NOW, view, Computations(names, rings)))
    return made


def play(policy: PlacementPolicy, seen: list[HostView], memories: list[RequestMemory]) -> dict[str, Any]:
    """One round, and the processor time of both halves. The nodes do theirs one after another here, and on nodes at once."""
    began = process_time()
    asked: list[MoveRequest] = []
    for host, memory in zip(seen, memories, strict=True):
        decided, _ = policy.request(host, memory)
        if isinstance(decided, RequestMove):
            asked.append(decided.request)
    between = process_time()
    fleet = FleetView(NOW, tuple(host.node for host in seen), tuple(asked))
    answer, _ = policy.decide(fleet, PlacementMemory())
    ended = process_time()
    choices = answer.choices if isinstance(answer, Placements) else ()
    return {
        "round_s": round(ended - began, 4),
        "nodes_s": round(between - began, 4),
        "orchestrator_s": round(ended - between, 4),
        "requests": len(asked),
        "answers": len(choices),
        "moves": sum(isinstance(choice, Move) for choice in choices),
    }


def measure(policy: PlacementPolicy, computations: int, nodes: int, seed: int) -> dict[str, Any]:
    """A round in which every computation has long been above the threshold, so that every node may ask."""
    seen = hosts(computations, nodes, seed)
    memories = [RequestMemory(dict.fromkeys(host.computations.names, 9)) for host in seen]
    play(policy, seen[:2], memories[:2])  # the first call of anything is slower
    return play(policy, seen, memories)
