"""When a query is drained: right after it has put out a window, if nothing is wanted of it before the target is there."""

from dataclasses import dataclass

OUTAGE_MS = 1_000  # out of service and the first batch: measured 0.9 to 1.1 s with 54,000 keys of state
PATIENCE_MS = 10_000


@dataclass(frozen=True, slots=True)
class DrainMoment:
    """Waits for a batch boundary with enough slack, but not for ever."""

    outage_ms: int = OUTAGE_MS  # how long the move is expected to keep the query from its next batch
    patience_ms: int = PATIENCE_MS

    def good(self, slack_ms: float, waited_ms: int, at_once: bool = False) -> bool:
        """At a batch boundary. `slack_ms` is the time until the next batch must run for its window to be on time."""
        return at_once or slack_ms >= self.outage_ms or waited_ms >= self.patience_ms
