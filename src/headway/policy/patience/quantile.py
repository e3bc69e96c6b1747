"""Quantile: as patient as it takes for a wanted share of the rows to be in time."""

from dataclasses import dataclass
from math import sqrt

from headway.errors import SettingError
from headway.model.patience import Delays, PatienceView, Wait
from headway.policy.patience.bounds import Bounded

LATE_REMEMBERED = 20  # a share is known by how many rows miss it: so many, on average, are in memory
SURE = 1.64  # standard deviations: in nineteen of twenty streams the true share lies below


@dataclass(frozen=True, slots=True)
class Quantile(Bounded):
    """Wait so long that `share` of the rows, of every partition, come in time; the rest is late, and is counted.

    What is remembered are the delays of the last rows, as many as have some twenty late ones among them, so that it follows
    a stream which becomes slower within a window or two, and one which becomes faster as soon as the slow rows are
    forgotten. A quantile of few rows is uncertain: the fewer there are, the further out it is taken.
    """

    share: float = 0.99

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise SettingError("patience.share", self.share, "a share of rows between 0 and 1, e.g. 0.99")
        Bounded.__post_init__(self)

    @property
    def memory_rows(self) -> float:
        return LATE_REMEMBERED / (1 - self.share)

    def decide(self, seen: PatienceView) -> Wait:
        known = [part for part in seen.parts if part.rows > 0]
        if not known:
            return Wait(self.delay_ms, "nothing is known of its delays yet")
        wait = max(map(self._wait, known))
        of = "" if len(known) == 1 else f" of the slowest of {len(known)} partitions"
        return Wait(self.bounded(wait), f"{self.share:.6g} of the rows{of} take no longer than {wait:.0f} ms")

    def _wait(self, part: Delays) -> float:
        unsure = sqrt(self.share * (1 - self.share) / part.rows)
        return part.within(min(1.0, self.share + SURE * unsure)) * (1 + 1 / sqrt(part.rows))
