"""K-slack: as patient as the slowest row so far has needed (Mutschler and Philippsen, 2013)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from headway.model.patience import Delays
from headway.policy.patience.bounds import Bounded


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxDelay(Bounded):
    """Wait as long as the longest delay ever seen: almost nothing is late, and one slow row slows all windows for good."""

    @property
    def memory_rows(self) -> float:
        return inf

    def decide(self, parts: Sequence[Delays]) -> int:
        return self.bounded(max((part.longest_ms for part in parts), default=self.delay_ms))
