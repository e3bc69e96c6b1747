"""What patience that adapts has in common: from where it starts, and between what it stays."""

from dataclasses import dataclass

from headway.errors import SettingError
from headway.model.time import duration_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounded:
    """Patience from `floor` to `ceiling`, which begins at `start`."""

    floor: str | int = "0 ms"
    ceiling: str | int = "1 minute"
    start: str | int = "2 seconds"

    def __post_init__(self) -> None:
        for key in ("floor", "ceiling", "start"):
            duration_ms(f"patience.{key}", getattr(self, key))
        if self.least_ms > self.most_ms:
            raise SettingError("patience.floor", self.floor, f"no more than the ceiling, {self.ceiling}")

    @property
    def least_ms(self) -> int:
        return duration_ms("patience.floor", self.floor)

    @property
    def most_ms(self) -> int:
        return duration_ms("patience.ceiling", self.ceiling)

    @property
    def delay_ms(self) -> int:
        return self.bounded(duration_ms("patience.start", self.start))

    def bounded(self, ms: float) -> int:
        return round(min(self.most_ms, max(self.least_ms, ms)))
