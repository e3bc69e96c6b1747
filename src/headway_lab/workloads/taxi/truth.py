"""What the queries must say of a feed: in numpy, without Spark."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway_lab.workloads.feed import Feed
from headway_lab.workloads.hashing import Longs
from headway_lab.workloads.taxi.queries import require_windows
from headway_lab.workloads.taxi.trips import BOROUGHS, FURTHEST, LONGEST_S, NAMES, ZONES

TaxiPane = tuple[int, str]  # the end of a window in event-time ms, and a borough, or "" for the whole city
Sums = tuple[int, int]  # hundredths of a mile, and trips


@dataclass(frozen=True, eq=False)
class TripTruth:
    """What `mean_distance(chain(rows))` must say of a feed, whenever its rows arrive."""

    feed: Feed
    size_ms: int = 2_000
    slide_ms: int = 1_000
    by_borough: bool = False
    offset_ms: int = 0  # windows start at whole multiples of the slide plus this

    def __post_init__(self) -> None:
        require_windows(self.size_ms, self.slide_ms)

    @cached_property
    def panes(self) -> dict[TaxiPane, Sums]:
        """The true sum and count of every pane with a trip in it."""
        event_ms, borough, hundredths = _possible(self.feed)
        if not self.by_borough:
            borough = np.zeros_like(borough)
        # A trip is in every window that starts on the grid of the slide and less than a window's size before it.
        back_ms = np.arange(0, self.size_ms, self.slide_ms)[:, None]
        start_ms = event_ms - (event_ms - self.offset_ms) % self.slide_ms - back_ms
        inside = event_ms < start_ms + self.size_ms
        pane = ((start_ms + self.size_ms) * len(NAMES) + borough)[inside]
        panes, which = np.unique(pane, return_inverse=True)
        # Sums of whole numbers far below 2 ** 53: exact although numpy adds weights as floats.
        miles = np.bincount(which, np.broadcast_to(hundredths, inside.shape)[inside], len(panes)).astype(np.int64)
        counts = np.bincount(which, minlength=len(panes))
        ends, keys = panes // len(NAMES), panes % len(NAMES)
        names = [NAMES[key] if self.by_borough else "" for key in keys.tolist()]
        sums = zip(miles.tolist(), counts.tolist(), strict=True)
        return dict(zip(zip(ends.tolist(), names, strict=True), sums, strict=True))

    def wrong(self, emitted: Mapping[TaxiPane, Sums], until_ms: int | None = None) -> dict[TaxiPane, tuple[Sums, Sums]]:
        """The panes whose emitted sum or count differs from the true ones, with both: `(emitted, true)`.

        A pane that should have been emitted by `until_ms`, or else by the end of the last window seen, and was not,
        counts as (0, 0).
        """
        last_ms = max((end_ms for end_ms, _ in emitted), default=0) if until_ms is None else until_ms
        due = {pane for pane in self.panes if pane[0] <= last_ms}
        both = {pane: (emitted.get(pane, (0, 0)), self.panes.get(pane, (0, 0))) for pane in emitted.keys() | due}
        return {pane: pair for pane, pair in sorted(both.items()) if pair[0] != pair[1]}


def _possible(feed: Feed) -> tuple[Longs, Longs, Longs]:
    """Event time, the pickup borough's place in `NAMES` and hundredths of a mile, of the trips that `POSSIBLE` keeps."""
    fields = json.loads(b"[{%b}]" % b"},{".join(feed.body)) if len(feed) else []
    hundredths = np.rint(_column(fields, "distance") * 100).astype(np.int64)
    seconds = _column(fields, "seconds").astype(np.int64)
    kept = (
        (hundredths >= 1) & (hundredths <= FURTHEST)
        & (_column(fields, "fare") >= 0)
        & (seconds >= 1) & (seconds <= LONGEST_S)
        & (hundredths * 36 <= seconds * 100)
    )  # fmt: skip
    zone = _column(fields, "pickup_zone").astype(np.int64)
    place = np.array([0, *(NAMES.index(BOROUGHS[letter]) for letter in ZONES)])
    borough = place[np.where((zone >= 1) & (zone <= len(ZONES)), zone, 0)]
    return feed.event_ms[kept], borough[kept], hundredths[kept]


def _column(fields: list[dict[str, Any]], name: str) -> NDArray[np.float64]:
    return np.array([row[name] for row in fields], dtype=np.float64)
