"""Away from loaded nodes, to the one that is least loaded at this moment; nothing is forecast."""

from dataclasses import dataclass

from headway.model.placement import FleetView, MoveRequest, NodeView, PlacementDecision, PlacementMemory
from headway.policy.placement.asking import AsksWhenLoaded
from headway.policy.placement.round import Round, answer_each


@dataclass(frozen=True, slots=True)
class LeastLoaded(AsksWhenLoaded):
    """A loaded node gives its heaviest computation to the node with the least load per core.

    New queries start there too. Those of one round spread, since each counts as much as the average query of its node.
    """

    def decide(self, seen: FleetView, memory: PlacementMemory) -> tuple[PlacementDecision, PlacementMemory]:
        current = Round(seen, memory, self.cool_down_ms, self.rest_ms)
        _start(current)
        answer_each(current, _least)
        return current.end(memory.turn)


def _least(request: MoveRequest, source: NodeView, targets: list[NodeView]) -> tuple[NodeView | None, str]:
    least = min(targets, key=lambda node: (node.load, node.name))
    if least.load >= source.load:
        return None, f"no free node has less load than {source.load:.2f} per core"
    return least, f"load {least.load:.2f} per core there, {source.load:.2f} here"


def _start(current: Round) -> None:
    takers = current.takers()
    loads = {node.name: node.load for node in takers}
    # A node without queries or without load shows nothing of what one costs: one core of it.
    one = {n.name: n.load / n.queries if n.queries and n.load > 0 else 1 / n.cores for n in takers}
    for newcomer in current.seen.newcomers:
        if not takers:
            current.postpone(newcomer.query, "no node takes queries")
            continue
        name = min(loads, key=lambda name: (loads[name], name))
        current.start(newcomer.query, name, f"least load, {loads[name]:.2f} per core")
        loads[name] += one[name]
