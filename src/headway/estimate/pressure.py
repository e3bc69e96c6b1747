"""Whether memory is short: on at the bound, off when half is freed or the time is up (Klink, section 3.4)."""

from dataclasses import dataclass

from headway.model.time import WallMs
from headway.model.view import MemoryView


@dataclass(frozen=True, slots=True)
class Pressure:
    """Relief runs until half of the memory in use is free again, or `relief_ms` have passed; then slack rules again."""

    bound: float = 0.8
    relief_ms: int = 3_000
    used: float = 0.0
    since: WallMs | None = None
    started_at_use: float = 0.0
    rest_until: WallMs = WallMs(0)

    def step(self, now: WallMs, used: float) -> "Pressure":
        since, start, rest = self.since, self.started_at_use, self.rest_until
        if since is not None and (used <= start / 2 or now - since >= self.relief_ms):
            # A relief that ran out of time rests as long as it ran, or least slack would never get its turn.
            since, rest = None, WallMs(now + self.relief_ms)
        elif since is None and used >= self.bound and now >= rest:
            since, start = now, used
        return Pressure(self.bound, self.relief_ms, used, since, start, rest)

    def view(self) -> MemoryView:
        return MemoryView(self.used, self.since)
