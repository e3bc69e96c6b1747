"""What is seen of a live wide area while it runs: links by the kernel, pieces by the record, results by their files."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from headway.dashboard.area_words import area_words
from headway.errors import HeadwayError, aloud
from headway.loop.journal import JournalReader
from headway.loop.questions.adaptation import ADAPTATION
from headway.model.adaptation import Keep
from headway.wan.testbed import LinkStatus, WanTestbed
from headway_lab.experiments.wan_live.staged import record_of
from headway_lab.experiments.wan_live.views import delivered

EVERY_S = 1.0
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class AreaMoment:
    """Everything at one moment."""

    at_ms: int
    links: tuple[LinkStatus, ...]
    homes: dict[str, tuple[str, ...]]  # sites of each stage
    results: dict[int, int]  # windows by their ends, with when they were out


@dataclass(frozen=True, slots=True)
class AreaChange:
    """A decision that changed something, in words."""

    at_ms: int
    words: str
    because: str
    receipt: str


@dataclass
class AreaStory:
    """What has happened so far, for the screen and for the page."""

    sites: tuple[str, ...]
    usd_per_gb: float
    policy: str
    scenes: list[tuple[int, str]] = field(default_factory=list)  # since when, what
    moments: list[AreaMoment] = field(default_factory=list)
    changes: list[AreaChange] = field(default_factory=list)

    @property
    def parts(self) -> list[tuple[str, int, int]]:
        """Each scene with when it began and ended."""
        ends = [*(at for at, _ in self.scenes[1:]), self.moments[-1].at_ms + 1]
        return [(what, at, end) for (at, what), end in zip(self.scenes, ends, strict=True)]

    def second(self, at_ms: int) -> float:
        """Since the first scene."""
        return (at_ms - self.scenes[0][0]) / 1000

    def within(self, since: int, until: int) -> list[AreaMoment]:
        return [moment for moment in self.moments if since <= moment.at_ms < until]

    @property
    def sent_bytes(self) -> int:
        """Over all links, since the first moment."""
        return sum(by_link(self.moments[-1]).values()) - sum(by_link(self.moments[0]).values())

    @property
    def dollars(self) -> float:
        return self.sent_bytes / 1e9 * self.usd_per_gb


def by_link(moment: AreaMoment) -> dict[Pair, int]:
    """Bytes that each direction of a link has carried."""
    return {(link.source, link.target): link.sent_bytes for link in moment.links}


def mbit_per_s(moments: Sequence[AreaMoment]) -> dict[Pair, float]:
    """Of each link, on average."""
    if len(moments) < 2:
        return {}
    first, last = by_link(moments[0]), by_link(moments[-1])
    seconds = max(1, moments[-1].at_ms - moments[0].at_ms) / 1000
    return {pair: (last[pair] - first[pair]) * 8 / 1e6 / seconds for pair in last}


def rates(moments: Sequence[AreaMoment], pair: Pair, smooth: int = 5) -> list[tuple[int, float]]:
    """Mbit/s of a link over time."""
    return [
        (after.at_ms, mbit_per_s([before, after])[pair])
        for before, after in zip(moments, moments[smooth:], strict=False)
    ]  # fmt: skip


def delays(story: AreaStory) -> list[tuple[float, float]]:
    """Of each window: the second in which it ended, and how much later it was out."""
    found = story.moments[-1].results
    return [(story.second(until), (at - until) / 1000) for until, at in sorted(found.items())]


def moved(moments: Sequence[AreaMoment]) -> list[tuple[int, str]]:
    """Stages that have changed their sites, and when."""
    return [
        (after.at_ms, f"{stage}: {', '.join(before.homes[stage])} to {', '.join(sites)}")
        for before, after in pairwise(moments)
        for stage, sites in after.homes.items()
        if stage in before.homes and before.homes[stage] != sites
    ]


def changes_in(journal: Path) -> list[AreaChange]:
    found = [entry for entry in JournalReader(journal).entries(ADAPTATION) if not isinstance(entry.decided, Keep)]
    return [AreaChange(one.at, area_words(one.decided), one.decided.because, one.receipt) for one in found]


class AreaWatch(threading.Thread):
    """Looks once a second, until it is told to end."""

    def __init__(self, bed: WanTestbed, folder: Path, story: AreaStory, seen: Callable[[], None]) -> None:
        super().__init__(name="headway-area-watch", daemon=True)
        self._bed, self._folder, self._story, self._seen = bed, folder, story, seen
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(EVERY_S):
            try:
                self._story.moments.append(self._look())
                self._story.changes = changes_in(self._folder / "journal.db")
                self._seen()
            except (HeadwayError, OSError, ValueError) as error:
                if not self._over.is_set():
                    aloud(f"the area cannot be looked at: {error}")

    def close(self) -> None:
        self._over.set()
        self.join(10)

    def _look(self) -> AreaMoment:
        record = record_of(self._folder).read()
        homes: dict[str, tuple[str, ...]] = {}
        for placed in () if record is None else record.current.pieces:
            for stage in placed.piece.stages:
                homes[stage] = (*homes.get(stage, ()), placed.now.site)
        results = {one.until: one.at_ms for one in delivered(self._folder / "results")}
        return AreaMoment(time.time_ns() // 1_000_000, self._bed.status(), homes, results)
