"""The node's half for policies that know of no interference: a loaded node asks to be rid of its heaviest computation."""

from dataclasses import dataclass
from typing import ClassVar

from headway.errors import SettingError
from headway.estimate.rings import align
from headway.model.placement import HostView, MoveRequest, RequestDecision, RequestMemory, RequestMove, Stay


@dataclass(frozen=True, slots=True)
class AsksWhenLoaded:
    """A node asks when its load has been above the limit in so many rounds in a row; while it cools down it begins anew."""

    limit: float = 0.666  # load per core
    rounds: int = 3
    cool_down_ms: int = 30_000
    rest_ms: int = 60_000
    foresees: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.limit >= 0:
            raise SettingError("placement.limit", self.limit, "a load per core of 0 or more, e.g. 0.666")
        check_times(self.rounds, self.cool_down_ms, self.rest_ms)

    def request(self, seen: HostView, memory: RequestMemory) -> tuple[RequestDecision, RequestMemory]:
        node = seen.node
        if node.moving or node.cooling_until > seen.now:
            return Stay(f"{node.name} takes part in a move, or has just done so"), RequestMemory()
        if node.load <= self.limit:
            return Stay(f"load {node.load:.2f} per core, not above {self.limit:g}"), RequestMemory()
        above = memory.above.get(node.name, 0) + 1
        after = RequestMemory({node.name: above})
        if above < self.rounds:
            return Stay(f"load {node.load:.2f} per core for {above} of {self.rounds} rounds"), after
        request = _heaviest(seen)
        if request is None:
            return Stay("there is no computation that might move"), after
        return RequestMove(request, f"load {node.load:.2f} per core for {above} rounds, this is the heaviest"), after


def _heaviest(seen: HostView) -> MoveRequest | None:
    names, rings = seen.computations.names, seen.computations.rings
    use = align(rings, seen.now).values.mean(axis=1)
    rows = [row for row, name in enumerate(names) if seen.resting.get(name, seen.now) <= seen.now]
    if not rows:
        return None
    row = min(rows, key=lambda row: (-float(use[row]), names[row]))
    return MoveRequest(names[row], seen.node.name, rings[row], score=float(use[row]))


def check_times(rounds: int, cool_down_ms: int, rest_ms: int) -> None:
    """Settings that all policies have which move something."""
    if rounds < 1:
        raise SettingError("placement.rounds", rounds, "1 round or more")
    for name, ms in (("cool_down_ms", cool_down_ms), ("rest_ms", rest_ms)):
        if ms < 0:
            raise SettingError(f"placement.{name}", ms, "0 ms or more")
