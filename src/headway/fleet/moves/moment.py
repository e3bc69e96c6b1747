"""When a query is drained: at a batch boundary, if nothing is wanted of it before the target is there."""

from collections.abc import Sequence
from dataclasses import dataclass

FIRST_GUESS_MS = 250  # while none is known: moves on busy machines kept queries out of service for 75 ms, 250 at worst
MARGIN = 2  # the next may take longer than any before, and a first batch reads the state, too
PATIENCE_MS = 3_000  # then it is drained with less slack: queries of short windows may never have more


@dataclass(frozen=True, slots=True)
class DrainMoment:
    """Waits for a batch boundary with enough slack, but not for ever."""

    slack_ms: int = FIRST_GUESS_MS  # so long nothing may be wanted of the query
    patience_ms: int = PATIENCE_MS

    @classmethod
    def after(cls, outages_ms: Sequence[int]) -> "DrainMoment":
        """By how long moves kept queries out of service before."""
        return cls(MARGIN * max(outages_ms)) if outages_ms else cls()

    @property
    def at_once(self) -> "DrainMoment":
        return DrainMoment(0, self.patience_ms)
