"""What nodes measure and forecast of their computations: a table with a row for each, wherever it runs."""

from dataclasses import dataclass

import numpy as np

from headway.errors import SettingError
from headway.estimate.forecast import Forecaster, ForecastSettings
from headway.estimate.rings import REFERENCE_BYTES, fill
from headway.model.arrays import Floats
from headway.model.ring import NEPTUNE, Rings, RingShape
from headway.model.time import WallMs
from headway.sim.fleet.engine import FleetStep
from headway.sim.fleet.load import FleetLoad

ASLEEP_S = 30.0  # without a message: what comes after that begins anew


@dataclass(frozen=True, slots=True)
class Sight:
    """What nodes can see, and in which unit they tell it."""

    # Of a source that is held up: what it would send, as the ends of a topic tell, or only what gets through.
    wanted: bool = True
    unit_bytes: float = REFERENCE_BYTES  # a message of this size counts once in a ring
    shape: RingShape = NEPTUNE

    def __post_init__(self) -> None:
        if not self.unit_bytes > 0:
            raise SettingError("sight.unit_bytes", self.unit_bytes, "more than 0 bytes")


class Senses:
    """Forecasts of what comes in, by the live forecaster. Costs and sizes of messages are measured, so they are known.

    The length of a season is given, as an operator of the paper's would know it; models run on the smoothing that they come
    with, for a fit takes a library some hundredths of a second, and here are thousands of series. A computation that was
    silent for long begins anew, as one does that has just been started: the zeros before say nothing about what comes.
    """

    def __init__(self, load: FleetLoad, step_s: float, sight: Sight) -> None:
        self._load, self._step_s, self._sight = load, step_s, sight
        in_steps = np.round(load.period_s / step_s).astype(int).tolist()
        seasons = [length if deep and length >= 2 else None for length, deep in zip(in_steps, load.depth > 0, strict=True)]
        self._forecaster = Forecaster(seasons, ForecastSettings(step_ms=round(1000 * step_s)))
        self._silent_s = np.full(len(load), np.inf)

    def see(self, step: FleetStep) -> None:
        """The step that has ended."""
        messages = step.offered if self._sight.wanted else step.came
        woken = (messages > 0) & (self._silent_s >= ASLEEP_S)
        self._silent_s = np.where(messages > 0, 0.0, self._silent_s + self._step_s)
        self._forecaster.seen[woken] = 0
        self._forecaster.observe(messages / self._step_s)

    def rings(self, now: WallMs) -> Rings:
        return self._filled(now, self._forecaster.rates(self._sight.shape))

    def true_rings(self, now: WallMs) -> Rings:
        """What the load will be in truth, in the middle of each window."""
        middles = now + self._sight.shape.starts_ms + self._sight.shape.widths_ms / 2
        return self._filled(now, np.stack([self._load.rates(float(at)) for at in middles], axis=1))

    def _filled(self, now: WallMs, rates: Floats) -> Rings:
        counted = self._load.wire_bytes * (REFERENCE_BYTES / self._sight.unit_bytes)
        return fill(self._sight.shape, now, rates, self._load.cpu_us / 1000, counted)
