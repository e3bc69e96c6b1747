"""What is true of an area at each step, whatever is known of it: bandwidth, slots, and what sources send."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from headway.errors import SettingError
from headway.model.area import Area
from headway.model.arrays import Floats


@dataclass(frozen=True, slots=True, eq=False)
class AreaTruth:
    """By the step: a factor for each link, a factor for each source, and which sites compute."""

    area: Area  # with the bandwidth that the factors are of
    sources: tuple[str, ...]
    rates: Floats  # rows a second, a source each, before its factor
    link_factor: Floats  # step, or step x from x to
    rate_factor: Floats  # step, or step x source
    up: NDArray[np.bool_]  # step x site
    step_ms: int = 1_000
    price: float = field(default=1.0)  # of the price list

    def __post_init__(self) -> None:
        if not len(self.link_factor) == len(self.rate_factor) == len(self.up):
            raise SettingError("truth.steps", len(self.up), f"{len(self.rate_factor)} steps, as many as of rates")
        if self.step_ms < 1 or (self.link_factor < 0).any() or (self.rate_factor < 0).any():
            raise SettingError("truth.step_ms", self.step_ms, "1 ms or more, and no factor below 0")

    @property
    def steps(self) -> int:
        return len(self.up)

    def bandwidth(self, step: int) -> Floats:
        """Bytes a second."""
        return np.asarray(self.area.links.bandwidth * self.link_factor[step])

    def sent(self, step: int) -> Floats:
        """Rows a second by source."""
        return np.asarray(self.rates * self.rate_factor[step])


def steady(area: Area, rates: dict[str, float], steps: int, step_ms: int = 1_000) -> AreaTruth:
    """Nothing changes."""
    return AreaTruth(
        area, tuple(rates), np.array(list(rates.values())), np.ones(steps), np.ones(steps),
        np.ones((steps, len(area)), dtype=bool), step_ms,
    )  # fmt: skip
