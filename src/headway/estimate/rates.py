"""How fast rows arrive, as a mean that forgets."""

from dataclasses import dataclass
from math import exp


@dataclass(frozen=True, slots=True)
class Rate:
    """Rows per second; what is older than `memory_ms` counts for little."""

    memory_ms: float = 15_000
    rows_per_s: float = 0.0
    seen_ms: float = 0.0

    def add(self, rows: float, over_ms: float) -> "Rate":
        """The rate after `rows` more rows came in `over_ms`."""
        if over_ms <= 0:
            return self
        fade = exp(-over_ms / self.memory_ms)
        # A young mean has nothing to forget yet: weigh by the time truly seen, or the first rows count for too little.
        old = min(self.seen_ms, self.memory_ms) * fade
        rate = (self.rows_per_s * old + 1000 * rows) / (old + over_ms)
        return Rate(self.memory_ms, rate, self.seen_ms + over_ms)
