"""What is sent to the sites and what must come of it; and what came, and when."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from headway.sim.delays import Uniform
from headway_lab.workloads.feed import Feed
from headway_lab.workloads.ysb import AdPane, Ysb

Views = dict[AdPane, int]


@dataclass(frozen=True, slots=True)
class AdStream:
    """Ads that a site shows for some seconds."""

    seed: int
    rate: int
    epoch_ms: int
    seconds: int

    def feeds(self) -> Iterable[Feed]:
        ads = Ysb(self.seed, self.rate, self.epoch_ms, Uniform(0, 200))
        for second in range(self.seconds + 1):
            since = self.epoch_ms + second * 1_000
            yield ads.feed(since, min(since + 1_000, self.epoch_ms + self.seconds * 1_000))


def true_views(sent: Iterable[AdStream], window_ms: int) -> Views:
    """By a count in one place."""
    found: Counter[AdPane] = Counter()
    for stream in sent:
        for feed in stream.feeds():
            for _, value, _ in feed.rows():
                row = json.loads(value)
                if row["event_type"] == "view":
                    found[row["event_ms"] // window_ms * window_ms + window_ms, int(row["ad_id"]) // 10] += 1
    return dict(found)


@dataclass(frozen=True, slots=True)
class DeliveredPane:
    """A group of a window, and when its batch was written."""

    until: int
    campaign: int
    views: int
    at_ms: int


def delivered(folder: Path) -> list[DeliveredPane]:
    """All that is in the files of the sink; a group that is there twice, twice."""
    out = []
    for file in sorted(folder.glob("*.json")):
        at = file.stat().st_mtime_ns // 1_000_000
        out += [DeliveredPane(row["until"], row["campaign"], row["views"], at) for row in json.loads(file.read_text())]
    return out


def views_of(found: Iterable[DeliveredPane]) -> Views:
    return {(one.until, one.campaign): one.views for one in found}


def last_end(found: Iterable[DeliveredPane]) -> int:
    return max((one.until for one in found), default=0)


def twice(found: Sequence[DeliveredPane]) -> int:
    return len(found) - len({(one.until, one.campaign) for one in found})


def up_to(views: Views, until: int) -> Views:
    return {pane: n for pane, n in views.items() if pane[0] <= until}


def wrong(got: Views, true: Views) -> int:
    """Groups that are missing, that should not be there, or that have another count."""
    return sum(got.get(pane) != true.get(pane) for pane in got.keys() | true.keys())
