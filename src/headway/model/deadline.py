"""When results fall due in event time: the ends of a query's windows."""

from dataclasses import dataclass

from headway.errors import SettingError
from headway.model.time import EventMs, duration_ms


@dataclass(frozen=True, slots=True)
class Grid:
    """Moments in event time, one every `period_ms`, shifted by `offset_ms`."""

    period_ms: int
    offset_ms: int = 0

    def after(self, moment: int) -> EventMs:
        return EventMs(((moment - self.offset_ms) // self.period_ms + 1) * self.period_ms + self.offset_ms)

    def upto(self, moment: int) -> EventMs:
        return EventMs((moment - self.offset_ms) // self.period_ms * self.period_ms + self.offset_ms)


@dataclass(frozen=True, slots=True)
class Deadlines:
    """All moments at which a query owes a result. Several windows in one query make several grids."""

    grids: tuple[Grid, ...]

    def after(self, moment: int) -> EventMs:
        """The first deadline later than `moment`."""
        return min(grid.after(moment) for grid in self.grids)

    def upto(self, moment: int) -> EventMs:
        """The last deadline not later than `moment`."""
        return max(grid.upto(moment) for grid in self.grids)

    @property
    def period_ms(self) -> int:
        """The shortest time between two deadlines of one grid."""
        return min(grid.period_ms for grid in self.grids)


def window(size: object, slide: object = None, start: object = 0, lag: object = 0) -> Grid:
    """The deadlines of windows of `size` every `slide` from `start`; `lag` is how much later the watermark must be."""
    size_ms = duration_ms("window.size", size)
    slide_ms = size_ms if slide is None else duration_ms("window.slide", slide)
    if slide_ms <= 0 or size_ms <= 0:
        raise SettingError("window", (size, slide), "a size and a slide of more than zero")
    ends = duration_ms("window.start", start) + size_ms + duration_ms("window.lag", lag)
    return Grid(slide_ms, ends % slide_ms)


def every(period: object) -> Grid:
    """Deadlines at a steady pace, for a query that has no windows."""
    ms = duration_ms("every", period)
    if ms <= 0:
        raise SettingError("every", period, "a duration of more than zero")
    return Grid(ms)
