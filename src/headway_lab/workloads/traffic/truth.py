"""Which areas are congested in which windows: in numpy, without Spark."""

import numpy as np

from headway.errors import SettingError
from headway_lab.workloads.feed import Longs
from headway_lab.workloads.traffic.reports import Troubles

SIZE_MS, SLIDE_MS = 5_000, 1_000

Event = tuple[int, int]  # the end of a window in event-time ms, and an area
Seen = tuple[int, int]  # reports of trouble by buses, and by road sensors


def found(bus: Troubles, road: Troubles, size_ms: int = SIZE_MS, slide_ms: int = SLIDE_MS) -> dict[Event, Seen]:
    """Every window and area with trouble reported by both, whenever the reports come in."""
    require_windows(size_ms, slide_ms)
    areas = 1 + max((int(side.area.max()) for side in (bus, road) if len(side.area)), default=0)
    buses, roads = (_counts(side, areas, size_ms, slide_ms) for side in (bus, road))
    return {divmod(pane, areas): (buses[pane], roads[pane]) for pane in sorted(buses.keys() & roads.keys())}


def _counts(side: Troubles, areas: int, size_ms: int, slide_ms: int) -> dict[int, int]:
    """How many reports each pane has; a pane is the end of a window times `areas`, plus an area."""
    # A report is in every window that starts on the grid of the slide and less than a window's size before it.
    back_ms = np.arange(0, size_ms, slide_ms)[:, None]
    start_ms: Longs = side.event_ms - side.event_ms % slide_ms - back_ms
    inside = side.event_ms < start_ms + size_ms
    panes, sizes = np.unique(((start_ms + size_ms) * areas + side.area)[inside], return_counts=True)
    return dict(zip(panes.tolist(), sizes.tolist(), strict=True))


def require_windows(size_ms: int, slide_ms: int) -> None:
    if not 1 <= slide_ms <= size_ms:
        raise SettingError("traffic.slide_ms", slide_ms, f"1 up to size_ms = {size_ms}")
