"""What all sampling policies are asked for: how far an answer may be off, how surely, and how late it may be."""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from headway.errors import SettingError
from headway.estimate.sample_size import OF
from headway.model.sampling import Sampling, StreamView

LEAST_KNOWN = 3  # complete sub-streams: before, nothing is left out


@dataclass(frozen=True, slots=True)
class Promise:
    """An answer of this kind that is off by more than `error` in no more than 1 - `confidence` of all windows."""

    error: float = 0.05
    confidence: float = 0.95
    of: str = "mean"
    start_ms: int = 1000  # how long to wait for stragglers before the first delay is known
    most_ms: int = 10_000  # never longer, whatever the promise
    # No smaller sample of a window or group, whatever the spread: for an operator that needs more rows than a mean does,
    # such as k-means, about a hundred points for each centre.
    least: int = 1

    def __post_init__(self) -> None:
        for key, example in (("error", "0.05"), ("confidence", "0.95")):
            share = getattr(self, key)
            if not isinstance(share, int | float) or not 0 < share < 1:
                raise SettingError(f"approximate.{key}", share, f"a share between 0 and 1, e.g. {example}")
        if self.of not in OF:
            raise SettingError("approximate.of", self.of, f"one of {', '.join(OF)}")
        for key in ("start_ms", "most_ms"):
            if getattr(self, key) < 0:
                raise SettingError(f"approximate.{key}", getattr(self, key), "0 or more milliseconds")
        if not isinstance(self.least, int) or self.least < 1:
            raise SettingError("approximate.least", self.least, "a whole number of rows, 1 or more")

    def longest_ms(self, seen: StreamView) -> int:
        """As long as the longest delay so far (K-slack)."""
        return min(self.most_ms, ceil(seen.longest_ms) if seen.delays else self.start_ms)

    def least_wait(self, arrived: Callable[[float], float], share: float, seen: StreamView) -> int:
        """The shortest wait after which this share has come in."""
        if arrived(0) >= share - 1e-9:  # as a rule; the search asks a dozen times
            return 0
        return bisect_left(range(self.longest_ms(seen)), share - 1e-9, key=arrived)

    def all_of(self, seen: StreamView, because: str) -> Sampling:
        """Every row, and the patience of K-slack."""
        everywhere = (1.0,) * seen.places
        return Sampling(1.0, everywhere, self.longest_ms(seen), because, needed=ceil(seen.window_rows))


def unknown(seen: StreamView) -> str:
    return f"{seen.known} of {LEAST_KNOWN} sub-streams are complete: takes every row until more is known"
