"""Streams in virtual time: how many rows came from when to when, and how old they were."""

from dataclasses import dataclass

import numpy as np

from headway.model.declared import patience_declares
from headway.model.message import InputSeen, InputSpec
from headway.model.patience import PatiencePolicy
from headway.model.time import EventMs
from headway.sim.delays import Delay

SHOWN = 32  # delays that stand for a whole distribution


@dataclass(frozen=True, slots=True)
class VirtualInput:
    """A steady stream whose rows take the given network delays in turn; silent after `until_ms`."""

    name: str = "rows"
    patience_ms: int = 200
    rows_per_s: float = 1_000
    delays_ms: tuple[int, ...] = (20, 60, 100)
    until_ms: int = 1 << 60
    policy: PatiencePolicy | None = None  # patience that adapts, from `patience_ms` on

    @property
    def spec(self) -> InputSpec:
        return InputSpec(self.name, self.patience_ms, policy=self.policy, slt_ms=patience_declares(self.policy).slt_ms)

    @classmethod
    def delayed(cls, delay: Delay, patience_ms: int, rows_per_s: float, name: str = "rows") -> "VirtualInput":
        """One whose delays are those of a model, at equally likely quantiles."""
        middles = (np.arange(SHOWN) + 0.5) / SHOWN
        shown = tuple(int(ms) for ms in np.rint(delay.quantile(middles)))
        return cls(name, patience_ms, rows_per_s, shown)

    @property
    def longest_ms(self) -> int:
        return max(self.delays_ms)

    def between(self, start: int, end: int) -> InputSeen:
        """What a batch reads that takes the rows which came in from `start` to `end`."""
        end = max(start, min(end, self.until_ms))
        rows = int(self.rows_per_s * end / 1000) - int(self.rows_per_s * start / 1000)
        if not rows:
            return InputSeen(self.name, 0)
        share = rows / len(self.delays_ms)
        return InputSeen(
            self.name,
            rows,
            newest=EventMs(end - min(self.delays_ms)),
            foremost=EventMs(end - min(self.delays_ms)),
            oldest=EventMs(start - max(self.delays_ms)),
            delays=tuple((float(d), share) for d in self.delays_ms),
            old=tuple((start - d, share) for d in self.delays_ms if d > self.patience_ms),
        )
