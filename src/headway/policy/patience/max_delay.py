"""K-slack: as patient as the slowest row so far has needed (Mutschler and Philippsen, 2013)."""

from dataclasses import dataclass
from math import inf

from headway.model.patience import PatienceView, Wait
from headway.policy.patience.bounds import Bounded


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxDelay(Bounded):
    """Wait as long as the longest delay ever seen: almost nothing is late, and one slow row slows all windows for good."""

    @property
    def memory_rows(self) -> float:
        return inf

    def decide(self, seen: PatienceView) -> Wait:
        if not seen.parts:
            return Wait(self.delay_ms, "nothing is known of its delays yet")
        longest = max(part.longest_ms for part in seen.parts)
        return Wait(self.bounded(longest), f"the longest delay so far is {longest:.0f} ms")
