"""How often, and after which pause, a query that has failed is started again."""

from dataclasses import dataclass, replace

FIRST_MS, MOST_MS = 1_000, 60_000
HEALTHY_MS = 600_000  # so long without a failure, and all is forgotten


@dataclass(frozen=True, slots=True)
class Restarts:
    """The failures of one query that count, and how many it may have."""

    most: int
    used: int = 0

    def after_failure(self, healthy_ms: float) -> "Restarts":
        """A run has failed after it was healthy for so long."""
        used = 0 if healthy_ms >= HEALTHY_MS else self.used
        return replace(self, used=used + 1)

    @property
    def pause_ms(self) -> int | None:
        """How long to wait before the next start; None if there is to be none."""
        return None if self.used > self.most else min(MOST_MS, FIRST_MS << (self.used - 1))
