"""Everything goes to the next node in turn."""

from dataclasses import dataclass
from itertools import count

from headway.model.placement import FleetView, MoveRequest, NodeView, PlacementDecision, PlacementMemory
from headway.policy.placement.asking import AsksWhenLoaded
from headway.policy.placement.round import Round, answer_each, start_in_turn


@dataclass(frozen=True, slots=True)
class RoundRobinPlacement(AsksWhenLoaded):
    """New queries, and what loaded nodes ask to be rid of, take the nodes in turn, however loaded those are."""

    def decide(self, seen: FleetView, memory: PlacementMemory) -> tuple[PlacementDecision, PlacementMemory]:
        current = Round(seen, memory, self.cool_down_ms, self.rest_ms)
        turns = count(start_in_turn(current, memory.turn))

        def next_in_turn(request: MoveRequest, source: NodeView, targets: list[NodeView]) -> tuple[NodeView | None, str]:
            return targets[next(turns) % len(targets)], f"its turn among {len(targets)} nodes"

        answer_each(current, next_in_turn)
        return current.end(next(turns))
