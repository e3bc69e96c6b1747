"""Fixed patience: a window waits the same time for its stragglers, always."""

from dataclasses import dataclass
from math import inf

from headway.model.patience import PatienceView, Wait
from headway.model.time import duration_ms


@dataclass(frozen=True, slots=True)
class Fixed:
    """Close a window this long after its end: rows with a longer network delay are late, and are counted.

    While the fastest rows of a stream are themselves older than this (a replay of last year's files), the wall clock says
    nothing about them; the watermark then follows the newest row read, as `withWatermark` would.
    """

    delay: str | int = "0 ms"

    def __post_init__(self) -> None:
        duration_ms("patience", self.delay)

    @property
    def delay_ms(self) -> int:
        return duration_ms("patience", self.delay)

    @property
    def least_ms(self) -> int:
        return self.delay_ms

    @property
    def most_ms(self) -> int:
        return self.delay_ms

    @property
    def memory_rows(self) -> float:
        return inf

    def decide(self, seen: PatienceView) -> Wait:
        return Wait(self.delay_ms, "fixed")
