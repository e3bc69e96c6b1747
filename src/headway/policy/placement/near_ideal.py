"""The placement that is best if the future is known: what all other policies are measured against."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from headway.errors import SettingError
from headway.estimate.rings import align
from headway.model.arrays import Floats
from headway.model.placement import (
    Computations,
    FleetView,
    HostView,
    NodeView,
    PlacementDecision,
    PlacementMemory,
    RequestDecision,
    RequestMemory,
    Stay,
)
from headway.policy.placement.asking import check_times
from headway.policy.placement.assignment import Assignment, assign
from headway.policy.placement.round import Round, start_in_turn

LEAST_SHARE = 0.05  # of its cores that a node is taken to have, however much others use


@dataclass(frozen=True, slots=True)
class NearIdeal:
    """Plan for all computations by what they will use, so that the greatest load per core of any node is least.

    The simulator shows it the true future; live it has forecasts only, and is no better than these. Every reason says by how
    much the plan may be worse than the best one. It moves one computation a node and round, until the plan is carried out.
    """

    gap: float = 0.01  # that is good enough
    replan_ms: int = 180_000
    cool_down_ms: int = 0
    foresees: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_times(1, self.cool_down_ms, 0)
        if not 0 < self.gap < 1:
            raise SettingError("placement.gap", self.gap, "a share above 0 and below 1, e.g. 0.01")
        if self.replan_ms < 1:
            raise SettingError("placement.replan_ms", self.replan_ms, "1 ms or more")

    def request(self, seen: HostView, memory: RequestMemory) -> tuple[RequestDecision, RequestMemory]:
        return Stay("the orchestrator plans for all"), memory

    def decide(self, seen: FleetView, memory: PlacementMemory) -> tuple[PlacementDecision, PlacementMemory]:
        current = Round(seen, memory, self.cool_down_ms, 0)
        nodes, known = current.takers(), seen.computations
        if known is None or not nodes:
            turn = start_in_turn(current, memory.turn)
            decided, after = current.end(turn)
            return decided, replace(after, plan=memory.plan, planned_at=memory.planned_at)
        memory, says = self._planned(seen, memory, nodes, known)
        for newcomer in seen.newcomers:
            current.start(newcomer.query, memory.plan[newcomer.query], f"planned; {says}")
        self._carry_out(current, memory, known, says)
        decided, after = current.end(memory.turn)
        return decided, replace(after, plan=memory.plan, planned_at=memory.planned_at)

    def plan(self, seen: FleetView, nodes: list[NodeView], known: Computations) -> Assignment:
        """For the nodes in this order; computations first, newcomers behind them."""
        at = {node.name: row for row, node in enumerate(nodes)}
        loads = align(known.rings, seen.now).values
        usual = loads.mean(axis=0) if len(loads) else np.ones(known.rings.shape.size)
        new = [usual if n.ring is None else align(n.ring, seen.now).values for n in seen.newcomers]
        homes = [at.get(home, -1) for home in known.homes] + [-1] * len(new)
        table = np.vstack([loads, *new]) if new else loads
        return assign(table, _own_cores(nodes), np.array(homes, dtype=np.int64), self.gap)

    def _planned(
        self, seen: FleetView, memory: PlacementMemory, nodes: list[NodeView], known: Computations
    ) -> tuple[PlacementMemory, str]:
        queries = [*known.names, *(newcomer.query for newcomer in seen.newcomers)]
        names = {node.name for node in nodes}
        stands = memory.planned_at is not None and seen.now - memory.planned_at < self.replan_ms
        if stands and all(memory.plan.get(query) in names for query in queries):
            return memory, f"plan of {seen.now - (memory.planned_at or 0)} ms ago"
        made = self.plan(seen, nodes, known)
        plan = {query: nodes[row].name for query, row in zip(queries, made.homes.tolist(), strict=True)}
        says = f"peak {made.peak:.3g} per core, at most {made.gap:.1%} above the best"
        return replace(memory, plan=plan, planned_at=seen.now), says

    def _carry_out(self, current: Round, memory: PlacementMemory, known: Computations, says: str) -> None:
        """Moves towards the plan, the heaviest computations first."""
        weights = known.rings.values.mean(axis=1)
        nodes = {node.name: node for node in current.nodes}
        for row in np.argsort(-weights, kind="stable").tolist():
            query, home = known.names[row], known.homes[row]
            target = nodes.get(memory.plan.get(query, home))
            source = nodes.get(home)
            if source is None or target is None or source.name == target.name or not target.ready:
                continue
            if current.free(source) and current.free(target):
                current.move(query, home, target.name, f"planned; {says}")


def _own_cores(nodes: list[NodeView]) -> Floats:
    """What other programs leave of each node's cores."""
    return np.array([node.cores * max(LEAST_SHARE, 1 - node.load * (1 - node.own_load)) for node in nodes])
