"""A sink of files that takes a batch twice, and what is in it compared with the truth of the generator."""

import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from headway_lab.workloads.ysb import AdPane, Ysb

Written = list[tuple[AdPane, int]]


@dataclass(frozen=True, slots=True)
class SinkTally:
    """What came out, compared with the truth."""

    windows: int = 0
    panes: int = 0
    missing: int = 0
    twice: int = 0
    miscounted: int = 0

    @property
    def wrong(self) -> int:
        return self.missing + self.twice + self.miscounted

    @property
    def words(self) -> str:
        counts = f"{self.windows:,} windows with {self.panes:,} counts"
        return f"{counts}: {self.missing} missing, {self.twice} twice, {self.miscounted} wrong"

    def __add__(self, other: "SinkTally") -> "SinkTally":
        return SinkTally(*(mine + its for mine, its in zip(astuple(self), astuple(other), strict=True)))


def batch_writer(folder: Path, before: Callable[[], None] = lambda: None) -> Callable[[Any, int], None]:
    """The sink of one query: a batch's file is named by the batch, and appears whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)

    def write(batch: Any, number: int) -> None:
        before()
        rows = [(row["end"], row["campaign_id"], row["count"]) for row in batch.collect()]
        part = folder / f"{number}.part"
        part.write_text(json.dumps(rows))
        part.rename(folder / f"{number}.json")

    return write


def written(work: Path) -> dict[str, Written]:
    """All rows in the sink, per query."""
    out: dict[str, Written] = {}
    for file in sorted(work.glob("out/*/*.json")):
        rows = json.loads(file.read_text())
        out.setdefault(file.parent.name, []).extend(((end, campaign), count) for end, campaign, count in rows)
    return out


def newest(folder: Path) -> int:
    """The end of the newest window written. Files only get newer with their numbers, so a few of the last tell."""
    files = sorted(folder.glob("*.json"), key=lambda f: int(f.stem))[-10:]
    return max((end for f in files for end, _, _ in json.loads(f.read_text())), default=0)


class SinkWatch:
    """What has come out of some queries so far, read as it comes."""

    def __init__(self, work: Path, names: Sequence[str]) -> None:
        self._folders = {name: work / "out" / name for name in names}
        self._seen: dict[str, set[str]] = {name: set() for name in names}
        self.newest = dict.fromkeys(names, 0)
        self._ends: set[tuple[str, int]] = set()

    def look(self) -> int:
        """How many windows have been put out so far."""
        for name, folder in self._folders.items():
            with suppress(FileNotFoundError):
                for file in {f for f in os.listdir(folder) if f.endswith(".json")} - self._seen[name]:
                    self._seen[name].add(file)
                    ends = {end for end, _, _ in json.loads((folder / file).read_text())}
                    self._ends |= {(name, end) for end in ends}
                    self.newest[name] = max(self.newest[name], *ends) if ends else self.newest[name]
        return len(self._ends)

    def all_after(self, ms: int) -> bool:
        self.look()
        return min(self.newest.values()) > ms


def last_end(stream: Ysb, until_ms: int) -> int:
    """The end of the last window that ends by `until_ms`."""
    return until_ms - (until_ms - stream.offset_ms) % stream.window_ms


def tally(stream: Ysb, rows: Written, until_ms: int) -> SinkTally:
    """Every pane of every window that ends by `until_ms` must be there, once, with its true count."""
    true, got, times = _both(stream, rows, until_ms)
    return SinkTally(
        windows=len({end for end, _ in true}),
        panes=len(true),
        missing=sum(pane not in times for pane in true),
        twice=sum(n - 1 for n in times.values()),
        miscounted=sum(true.get(pane) != count for pane, count in got.items()),
    )


def tally_all(streams: Mapping[str, Ysb], rows: Mapping[str, Written], until_ms: int) -> SinkTally:
    """The same of all queries together."""
    return sum((tally(stream, rows.get(name, []), until_ms) for name, stream in streams.items()), SinkTally())


def tally_with_late(stream: Ysb, rows: Written, kept: Counter[AdPane], unkept: int, until_ms: int) -> SinkTally:
    """The same where rows may be late: what is not in a pane must be in the side table, each row once. Of `unkept` rows only
    the number is known; `missing` counts rows here."""
    true, got, times = _both(stream, rows, until_ms)
    late = {pane: n for pane, n in kept.items() if pane[0] <= until_ms}
    there = {pane: got.get(pane, 0) + late.get(pane, 0) for pane in true.keys() | got.keys() | late.keys()}
    lost = sum(max(0, count - there[pane]) for pane, count in true.items())
    return SinkTally(
        windows=len({end for end, _ in true}),
        panes=len(true),
        missing=max(0, lost - unkept),
        twice=sum(n - 1 for n in times.values()),
        miscounted=sum(count > true.get(pane, 0) for pane, count in there.items()),
    )


def _both(stream: Ysb, rows: Written, until_ms: int) -> tuple[dict[AdPane, int], dict[AdPane, int], Counter[AdPane]]:
    true = {pane: count for pane, count in stream.truth(until_ms).items() if pane[0] <= until_ms}
    got = [(pane, count) for pane, count in rows if pane[0] <= until_ms]
    return true, dict(got), Counter(pane for pane, _ in got)
