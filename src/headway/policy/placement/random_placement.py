"""Everything goes to some node."""

from dataclasses import dataclass

import numpy as np

from headway.errors import SettingError
from headway.model.placement import FleetView, MoveRequest, NodeView, PlacementDecision, PlacementMemory
from headway.policy.placement.asking import AsksWhenLoaded
from headway.policy.placement.round import Round, answer_each


@dataclass(frozen=True, slots=True)
class RandomPlacement(AsksWhenLoaded):
    """New queries, and what loaded nodes ask to be rid of, go anywhere.

    Which numbers are drawn depends on the seed and on how many rounds there were, which is in the memory: the same view and
    memory give the same answer.
    """

    seed: int = 0

    def __post_init__(self) -> None:
        AsksWhenLoaded.__post_init__(self)
        if self.seed < 0:
            raise SettingError("placement.seed", self.seed, "a whole number of 0 or more")

    def decide(self, seen: FleetView, memory: PlacementMemory) -> tuple[PlacementDecision, PlacementMemory]:
        current = Round(seen, memory, self.cool_down_ms, self.rest_ms)
        numbers = np.random.default_rng((self.seed, memory.turn))

        def some(nodes: list[NodeView]) -> NodeView:
            return nodes[int(numbers.integers(len(nodes)))]

        def any_of(request: MoveRequest, source: NodeView, targets: list[NodeView]) -> tuple[NodeView | None, str]:
            return some(targets), f"drawn among {len(targets)} nodes"

        takers = current.takers()
        for newcomer in seen.newcomers:
            if takers:
                current.start(newcomer.query, some(takers).name, f"drawn among {len(takers)} nodes")
            else:
                current.postpone(newcomer.query, "no node takes queries")
        answer_each(current, any_of)
        return current.end(memory.turn + 1)
