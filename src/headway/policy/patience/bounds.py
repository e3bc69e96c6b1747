"""What patience that adapts has in common, and what slack gates do: from where it starts, and between what it stays."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf

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


@dataclass(frozen=True, slots=True)
class Gated(ABC):
    """Patience of a slack gate: it starts with the slack threshold, and all rows that came are remembered."""

    @property
    @abstractmethod
    def slt_ms(self) -> int:
        """The slack threshold at the start."""

    @property
    def delay_ms(self) -> int:
        return self.slt_ms

    @property
    def least_ms(self) -> int:
        return 0

    @property
    def memory_rows(self) -> float:
        return inf
