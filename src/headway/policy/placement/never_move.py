"""Where a query starts, there it stays."""

from dataclasses import dataclass
from typing import ClassVar

from headway.model.placement import (
    FleetView,
    HostView,
    MoveRequest,
    NodeView,
    PlacementDecision,
    PlacementMemory,
    RequestDecision,
    RequestMemory,
    Stay,
)
from headway.policy.placement.round import Round, answer_each, start_in_turn


@dataclass(frozen=True, slots=True)
class NeverMove:
    """New queries take the nodes in turn, and nothing ever moves: what Spark's users have without a fleet."""

    foresees: ClassVar[bool] = False

    def request(self, seen: HostView, memory: RequestMemory) -> tuple[RequestDecision, RequestMemory]:
        return Stay("nothing ever moves"), memory

    def decide(self, seen: FleetView, memory: PlacementMemory) -> tuple[PlacementDecision, PlacementMemory]:
        current = Round(seen, memory, 0, 0)
        turn = start_in_turn(current, memory.turn)
        answer_each(current, _never)
        return current.end(turn)


def _never(request: MoveRequest, source: NodeView, targets: list[NodeView]) -> tuple[NodeView | None, str]:
    return None, "nothing ever moves"
