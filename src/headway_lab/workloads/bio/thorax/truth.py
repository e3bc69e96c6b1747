"""What the screens must show of a feed: in numpy, without Spark."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from headway_lab.workloads.bio.thorax.queries import SIZE_MS, SLIDE_MS, require_windows
from headway_lab.workloads.feed import Feed
from headway_lab.workloads.hashing import Longs

BedPane = tuple[int, str]  # the end of a window in event-time ms, and a patient
ChestSums = tuple[int, int, int, int]  # samples, their sum in millionths, the least and the greatest


@dataclass(frozen=True, eq=False)
class ThoraxTruth:
    """What `last_ten` and `monitored` must say of a feed, whenever its rows arrive."""

    feed: Feed
    size_ms: int = SIZE_MS
    slide_ms: int = SLIDE_MS
    offset_ms: int = 0  # windows start at whole multiples of the slide plus this

    def __post_init__(self) -> None:
        require_windows(self.size_ms, self.slide_ms)

    @cached_property
    def patients(self) -> dict[str, tuple[Longs, Longs]]:
        """Each one's times and values, in the order of time."""
        fields = json.loads(b"[{%b}]" % b"},{".join(self.feed.body)) if len(self.feed) else []
        names = np.array([row["patient"] for row in fields], dtype=np.str_)
        micros = np.array([row["micros"] for row in fields], dtype=np.int64)
        order = np.argsort(self.feed.event_ms, kind="stable")
        at_ms, micros, names = self.feed.event_ms[order], micros[order], names[order]
        return {str(name): (at_ms[names == name], micros[names == name]) for name in np.unique(names)}

    @cached_property
    def windows(self) -> dict[BedPane, ChestSums]:
        """Every window with a sample in it."""
        return {(end, name): sums for name in self.patients for end, sums in self._of(name).items()}

    def _of(self, name: str) -> dict[int, ChestSums]:
        at_ms, micros = self.patients[name]
        first = (at_ms[0] - self.offset_ms - self.size_ms) // self.slide_ms * self.slide_ms + self.offset_ms
        starts = np.arange(first, at_ms[-1] + 1, self.slide_ms)
        since, until = np.searchsorted(at_ms, starts), np.searchsorted(at_ms, starts + self.size_ms)
        panes = zip((starts + self.size_ms).tolist(), since.tolist(), until.tolist(), strict=True)
        return {end: _sums(micros[a:b]) for end, a, b in panes if a < b}

    @cached_property
    def seconds(self) -> dict[BedPane, tuple[ChestSums, ChestSums]]:
        """At the end of each second with a sample in it, but for the last: of the last ten seconds, and of all so far."""
        found = {}
        for name, (at_ms, micros) in self.patients.items():
            for second in np.unique(at_ms // SLIDE_MS)[:-1].tolist():
                end = (second + 1) * SLIDE_MS
                until = int(np.searchsorted(at_ms, end))
                since = int(np.searchsorted(at_ms, end - SIZE_MS))
                found[end, name] = _sums(micros[since:until]), _sums(micros[:until])
        return found

    def wrong(
        self, emitted: Mapping[BedPane, ChestSums], until_ms: int | None = None
    ) -> dict[BedPane, tuple[object, object]]:
        """The windows whose emitted sums differ from the true ones, with both: `(emitted, true)`.

        One that should have been emitted by `until_ms`, or by the end of the last window seen, is wrong if it is missing.
        """
        last_ms = max((end_ms for end_ms, _ in emitted), default=0) if until_ms is None else until_ms
        due = {pane for pane in self.windows if pane[0] <= last_ms}
        both = {pane: (emitted.get(pane), self.windows.get(pane)) for pane in emitted.keys() | due}
        return {pane: pair for pane, pair in sorted(both.items()) if pair[0] != pair[1]}


def _sums(micros: Longs) -> ChestSums:
    return len(micros), int(micros.sum()), int(micros.min()), int(micros.max())
