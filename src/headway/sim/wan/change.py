"""A change of a running pipeline: its stages stand still, state crosses real links, then they go on where they are now."""

from dataclasses import dataclass

import numpy as np

from headway.model.adaptation import Placed, Replan
from headway.model.area import Area
from headway.model.arrays import Floats
from headway.model.geo import Deployment, GeoPlan

RESTART_MS = 2_000  # to stop a stage and to start it, besides what its state takes
REPLACE_MS = 5_000  # of a whole plan
STATE_SHARE = 0.5  # of a link on which rows go as well


@dataclass(slots=True)
class ChangeUnderWay:
    """What is still to be done of one."""

    plan: GeoPlan
    deployed: Deployment
    stages: frozenset[str]  # that stand still
    starts_ms: int  # not before this: at the end of a window, if state cannot be carried over
    left: Floats  # bytes of state by link
    restart_ms: int
    began_ms: int
    state_bytes: float

    @property
    def moved(self) -> bool:
        return not (self.left > 0).any()

    def carry(self, bandwidth: Floats, busy: Floats, seconds: float) -> Floats:
        """One step of the state's way: the bytes that went over each link."""
        room = bandwidth * seconds * np.where(busy > 0, STATE_SHARE, 1.0)
        went = np.minimum(self.left, room)
        self.left = self.left - went
        self.left[self.left < 1] = 0.0
        return went


def begun(decided: Placed, plan: GeoPlan, area: Area, now_ms: int) -> ChangeUnderWay:
    """`plan`: that runs now."""
    at = {name: place for place, name in enumerate(area.names)}
    left = np.zeros((len(area), len(area)))
    for move in decided.moves:
        left[at[move.source], at[move.target]] += move.megabytes * 1e6
    np.fill_diagonal(left, 0.0)
    if not isinstance(decided, Replan):
        return ChangeUnderWay(
            plan, decided.deployed, frozenset((decided.stage,)), now_ms, left, RESTART_MS, now_ms, float(left.sum())
        )
    starts = now_ms
    if decided.at_window_end:
        longest = max((stage.window_ms for stage in plan.stages), default=0)
        starts = now_ms if not longest else -(-now_ms // longest) * longest
    still = frozenset(s.name for s in plan.stages if s.free)
    return ChangeUnderWay(decided.plan, decided.deployed, still, starts, left, REPLACE_MS, now_ms, float(left.sum()))
