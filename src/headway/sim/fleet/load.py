"""What flows into computations: a rate as a function of the time since activation, and what a message costs."""

from dataclasses import dataclass

import numpy as np

from headway.errors import SettingError
from headway.model.arrays import Floats


@dataclass(frozen=True, slots=True)
class ComputationKind:
    """Computations that are alike: how many messages a second at most, and what one of them costs."""

    name: str
    rate: float  # messages a second at the top of its profile
    cpu_us: float  # of a core, a message
    wire_bytes: float  # of the node's link, a message


@dataclass(frozen=True, eq=False, slots=True)
class FleetLoad:
    """The load of every computation, as arrays by computation.

    The rate moves between `rate` and `rate * (1 - depth)` in a recurring pattern: a cosine of the time since activation.
    """

    rate: Floats
    cpu_us: Floats
    wire_bytes: Floats
    active_ms: Floats  # when it is activated; infinity: it stays dormant
    depth: Floats  # 0: a fixed rate
    period_s: Floats
    phase: Floats  # of the period, 0 to 1, at activation
    jitter: float = 0.0  # how much a rate strays from second to second: standard deviation over mean

    def __post_init__(self) -> None:
        arrays = (self.rate, self.cpu_us, self.wire_bytes, self.active_ms, self.depth, self.period_s, self.phase)
        if len({len(array) for array in arrays}) > 1:
            raise SettingError("load", [len(array) for array in arrays], "arrays of one length")
        for key, array in (("cpu_us", self.cpu_us), ("wire_bytes", self.wire_bytes), ("period_s", self.period_s)):
            if not np.all(array > 0):
                raise SettingError(f"load.{key}", float(array.min()), "more than 0 for every computation")
        if not (np.all(self.rate >= 0) and np.all((self.depth >= 0) & (self.depth <= 1)) and self.jitter >= 0):
            raise SettingError("load", "a negative rate, depth or jitter", "rates and jitter of 0 or more, depths of 0 to 1")

    def __len__(self) -> int:
        return len(self.rate)

    def rates(self, at_ms: float) -> Floats:
        """Messages a second that the profile says for this moment."""
        since_s = (at_ms - self.active_ms) / 1000
        active = since_s >= 0
        turns = np.where(active, since_s, 0.0) / self.period_s + self.phase
        return np.where(active, self.rate * (1 - self.depth * (1 - np.cos(2 * np.pi * turns)) / 2), 0.0)

    @property
    def mean_rate(self) -> Floats:
        """Messages a second of an active computation, on average over its pattern."""
        return self.rate * (1 - self.depth / 2)


class Arrivals:
    """What sources send: whole messages, so that none is made or lost by rounding."""

    def __init__(self, load: FleetLoad, seed: int) -> None:
        self._load, self._rng = load, np.random.default_rng(seed)
        self._rest = np.zeros(len(load))

    def take(self, at_ms: float, seconds: float) -> Floats:
        """Messages of the next `seconds`. The same for the same seed, whatever becomes of them."""
        strays = np.maximum(0.0, 1 + self._load.jitter * self._rng.standard_normal(len(self._load)))
        due = self._rest + self._load.rates(at_ms) * strays * seconds
        whole = np.floor(due)
        self._rest = due - whole
        return whole
