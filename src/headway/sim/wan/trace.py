"""What a run of an area was like: by the second, and all in all."""

from dataclasses import dataclass, field

import numpy as np

from headway.model.arrays import Floats
from headway.sim.wan.cohorts import Rows

QUANTILES = (0.5, 0.93, 0.95, 0.99)


@dataclass(frozen=True, slots=True)
class AreaSecond:
    """One step."""

    at_ms: int
    results: int  # rows that sinks processed
    done: dict[str, tuple[int, float]]  # by stage: rows processed, and those that would be with nothing in the way
    delay_ms: float  # on average; that of the step before where there are none
    tasks: int
    wan_bytes: float
    usd: float
    changing: bool


@dataclass(frozen=True, slots=True)
class CarriedOut:
    """One change, from its decision to its end."""

    technique: str
    stage: str
    began_ms: int
    ended_ms: int
    state_mb: float
    expected_s: float


@dataclass(slots=True)
class AreaTrace:
    """Steps, changes, and how many result rows had which delay."""

    step_ms: int
    seconds: list[AreaSecond] = field(default_factory=list)
    changes: list[CarriedOut] = field(default_factory=list)
    lost: int = 0
    _delays: list[tuple[float, Rows]] = field(default_factory=list)  # network ms, rows by age in steps

    def results(self, by_age: Rows, network_ms: float) -> float:
        """Rows that came out in a step; answers with their mean delay."""
        total = int(by_age.sum())
        if not total:
            return self.seconds[-1].delay_ms if self.seconds else 0.0
        self._delays.append((network_ms, by_age))
        ages = (np.arange(len(by_age)) + 0.5) * self.step_ms
        return float((ages * by_age).sum() / total) + network_ms

    def delays(self) -> tuple[Floats, Floats]:
        """Every delay that there was, in ms, and how many rows had it."""
        if not self._delays:
            return np.zeros(1), np.zeros(1)
        at = [(np.arange(len(rows)) + 0.5) * self.step_ms + network for network, rows in self._delays]
        return np.concatenate(at), np.concatenate([rows for _, rows in self._delays]).astype(float)

    def quantile_ms(self, share: float) -> float:
        at, rows = self.delays()
        order = np.argsort(at, kind="stable")
        through = np.cumsum(rows[order])
        if not through[-1]:
            return 0.0
        return float(at[order][np.searchsorted(through, share * through[-1])])

    def between(self, from_ms: int, to_ms: int) -> list[AreaSecond]:
        return [one for one in self.seconds if from_ms <= one.at_ms < to_ms]

    def ratio(self, from_ms: int, to_ms: int) -> float:
        """Processed by wanted, of the stage that is furthest behind; above 1 where all that is left is to catch up."""
        sums: dict[str, list[float]] = {}
        for one in self.between(from_ms, to_ms):
            for name, (rows, wanted) in one.done.items():
                so_far = sums.setdefault(name, [0.0, 0.0])
                so_far[0] += rows
                so_far[1] += wanted
        ratios = [rows / wanted for rows, wanted in sums.values() if wanted > 0]
        if not ratios:
            return 1.0
        return min(ratios) if min(ratios) < 1 else max(ratios)

    def mean_delay_ms(self, from_ms: int, to_ms: int) -> float:
        """Over result rows."""
        found = self.between(from_ms, to_ms)
        rows = sum(one.results for one in found)
        return sum(one.delay_ms * one.results for one in found) / rows if rows else 0.0
