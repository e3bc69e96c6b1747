"""Everything: exact answers, for which even the slowest row is waited for (K-slack)."""

from dataclasses import dataclass

from headway.model.sampling import Sampling, StreamView
from headway.policy.sampling.promise import Promise


@dataclass(frozen=True, slots=True)
class Everything(Promise):
    """Take every row, and wait as long as the longest delay so far."""

    def decide(self, seen: StreamView) -> Sampling:
        return self.all_of(seen, f"takes every row: waits {self.longest_ms(seen)} ms, the longest delay so far")
