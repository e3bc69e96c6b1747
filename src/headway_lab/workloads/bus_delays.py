"""Reports of buses and of road sensors, and how the buses' reports fall behind (Zacheilas et al., DEBS 2017, section 6).

A source sends its reports in order. Where a report is held up, those behind it are held up too: delays of single reports
add up to seconds.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from headway.errors import SettingError
from headway.sim.delays import Zipf

Floats = NDArray[np.float64]


class Holdup(Protocol):
    """When reports that were made at these moments come in: never before they were made, and in order."""

    def arrivals(self, made_ms: Floats, rng: np.random.Generator) -> Floats: ...


@dataclass(frozen=True, slots=True)
class Prompt:
    """Every report comes in at once."""

    def arrivals(self, made_ms: Floats, rng: np.random.Generator) -> Floats:
        return made_ms


@dataclass(frozen=True, slots=True)
class Growing:
    """Each report comes in `step_ms` later after its making than the one before: the source falls behind for ever."""

    step_ms: float = 1.0

    def __post_init__(self) -> None:
        if not self.step_ms >= 0:
            raise SettingError("delay.step_ms", self.step_ms, "0 ms or more")

    def arrivals(self, made_ms: Floats, rng: np.random.Generator) -> Floats:
        return np.asarray(made_ms + self.step_ms * np.arange(1, len(made_ms) + 1))


@dataclass(frozen=True, slots=True)
class Stretch:
    """For so many seconds each report holds the line for a delay drawn from this distribution."""

    seconds: float
    delay: Zipf


# At 500 reports a second a report is made every 2 ms. The first stretch holds the line 3.4 ms a report, so that the source
# falls 8.3 s behind in 20 s; the second 1.44 ms, so that it has caught up 21 s later and is on time for the 29 s after.
PAPER = (Stretch(20, Zipf(1.0, 10)), Stretch(50, Zipf(0.35, 2)))


@dataclass(frozen=True, slots=True)
class Periodic:
    """A line that carries one report at a time and is slow and quick in turns; a report waits for those before it."""

    stretches: tuple[Stretch, ...] = PAPER
    from_s: float = 0.0  # the moment of the cycle at which time begins

    def __post_init__(self) -> None:
        if not self.stretches or any(s.seconds <= 0 for s in self.stretches):
            raise SettingError("delay.stretches", self.stretches, "at least one stretch, each of more than 0 seconds")

    @property
    def period_s(self) -> float:
        return sum(s.seconds for s in self.stretches)

    def arrivals(self, made_ms: Floats, rng: np.random.Generator) -> Floats:
        out = np.empty_like(made_ms)
        done, free_at = 0, 0.0
        begins = -self.from_s % self.period_s * 1000.0 - self.period_s * 1000.0
        while done < len(made_ms):
            for stretch in self.stretches:
                ends = begins + stretch.seconds * 1000.0
                upto = int(np.searchsorted(made_ms, ends))  # a report cannot set out before it is made
                if upto > done and free_at < ends:
                    came, used = _carried(made_ms[done:upto], free_at, ends, stretch.delay, rng)
                    out[done : done + used] = came
                    done += used
                    free_at = out[done - 1] if used else free_at
                begins = ends
        return out


def _carried(made: Floats, free_at: float, ends: float, delay: Zipf, rng: np.random.Generator) -> tuple[Floats, int]:
    """When those reports come in that set out before the stretch ends, and how many they are.

    A report sets out when it is made and the line is free: in = delay + max(made, the one before in), without a loop.
    """
    held = delay.table()[rng.integers(0, len(delay.table()), len(made))].astype(np.float64)
    total = np.cumsum(held)
    came = total + np.maximum.accumulate(np.maximum(made, free_at) - (total - held))
    used = int(np.searchsorted(came - held, ends))  # setting-out times ascend
    return came[:used], used


@dataclass(frozen=True, slots=True)
class SourceReports:
    """What one source says: when each report was made, when it comes in, of which area, and whether it means trouble."""

    made_ms: Floats
    in_ms: Floats
    area: NDArray[np.int64]
    hot: NDArray[np.bool_]  # of a bus: stuck; of a road sensor: more traffic than the limit


AREAS = 25
HOT = 0.1  # share of reports that mean trouble


def reports(seconds: float, per_s: float, holdup: Holdup, seed: int) -> SourceReports:
    """A source of evenly spaced reports."""
    if not (seconds > 0 and per_s > 0):
        raise SettingError("reports", (seconds, per_s), "more than 0 seconds and more than 0 reports a second")
    rng = np.random.default_rng(seed)
    made = np.asarray((np.arange(int(seconds * per_s)) + rng.random()) * (1000.0 / per_s), dtype=np.float64)
    area = rng.integers(0, AREAS, len(made))
    hot = rng.random(len(made)) < HOT
    return SourceReports(made, holdup.arrivals(made, rng), area, hot)
