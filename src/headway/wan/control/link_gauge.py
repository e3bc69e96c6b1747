"""How much the links of a testbed carry, by the kernel's own counters. It adds nothing to what crosses them.

A link was full in a second in which something had to wait in front of it. How fast it was in such seconds is its bandwidth.
"""

import json
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from headway.errors import HeadwayError, aloud
from headway.model.arrays import Floats
from headway.wan.testbed import WanTestbed, devices_up

EVERY_S = 1.0
ENOUGH = 3  # full seconds before they say how fast a link is


@dataclass(frozen=True, slots=True)
class LinkCount:
    """One direction of a link, by the counters of the device that sends."""

    sent: int  # bytes
    held_up: int  # packets that had to wait
    waiting: int  # bytes that do now
    up: bool = True


Counts = dict[tuple[str, str], LinkCount]  # by the sites from which and to which


def counted(bed: WanTestbed) -> Counts:
    """What the kernel says of every link."""
    out: Counts = {}
    for source in bed.names:
        said = subprocess.run(
            bed.command(source, "tc", "-j", "-s", "qdisc", "show"), capture_output=True, text=True, check=True, timeout=10
        )
        up = devices_up(bed.command(source))
        for one in json.loads(said.stdout):
            target = bed.behind(str(one.get("dev", "")))
            if one.get("kind") == "tbf" and target is not None:
                sent, held_up, waiting = int(one["bytes"]), int(one["overlimits"]), int(one.get("backlog", 0))
                out[source, target] = LinkCount(sent, held_up, waiting, str(one["dev"]) in up)
    return out


@dataclass(frozen=True, slots=True, eq=False)
class LinkRound:
    """Since it was last asked: what each link carried, row *from* and column *to*."""

    seconds: float
    sent: Floats  # bytes
    bytes_per_s: Floats  # while it was full; where it never was, over all
    full: Floats  # the share of the seconds


class LinkGauge:
    """Looks at the counters every second, on a thread of its own."""

    def __init__(self, names: tuple[str, ...], counts: Callable[[], Counts]) -> None:
        self._names, self._counts = names, counts
        self._lock, self._over = threading.Lock(), threading.Event()
        self._begin()
        self._down: frozenset[tuple[str, str]] = frozenset()
        self.total = np.zeros(self._sent.shape)  # bytes, since it was started
        self._thread = threading.Thread(target=self._run, name="headway-links", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join(5)

    def round(self) -> LinkRound:
        with self._lock:
            seconds = max(self._seconds, 1e-3)
            while_full = np.where(self._full_s > 0, self._full_sent / np.maximum(self._full_s, 1e-3), self._sent / seconds)
            full = np.where(self._looks_full >= ENOUGH, self._full_s / seconds, 0.0)
            told = LinkRound(seconds, self._sent, while_full, full)
            self._begin()
            return told

    def full_now(self) -> frozenset[tuple[str, str]]:
        """Links that were full for most of the last looks; one that is down carries no more than it does, too."""
        with self._lock:
            share, down = self._full_s / max(self._seconds, 1e-3), self._down
        pairs = np.argwhere(share >= 0.5)
        return down | {(self._names[a], self._names[b]) for a, b in pairs.tolist()}

    def down_now(self) -> frozenset[tuple[str, str]]:
        """Links that carry nothing."""
        return self._down

    def saw(self, before: Counts, now: Counts, seconds: float) -> None:
        """The difference between two looks."""
        place = {name: n for n, name in enumerate(self._names)}
        with self._lock:
            self._seconds += seconds
            self._down = frozenset(pair for pair, count in now.items() if not count.up)
            for pair in before.keys() & now.keys():
                at, sent = (place[pair[0]], place[pair[1]]), now[pair].sent - before[pair].sent
                if sent < 0:  # its counters began anew
                    continue
                self._sent[at] += sent
                self.total[at] += sent
                if now[pair].held_up > before[pair].held_up and now[pair].waiting > 0 and before[pair].waiting > 0:
                    self._full_s[at] += seconds
                    self._full_sent[at] += sent
                    self._looks_full[at] += 1

    def _begin(self) -> None:
        shape = (len(self._names), len(self._names))
        self._seconds = 0.0
        self._sent, self._full_s, self._full_sent, self._looks_full = (np.zeros(shape) for _ in range(4))

    def _run(self) -> None:
        before, at = self._look(), time.monotonic()
        while not self._over.wait(EVERY_S):
            now, then = self._look(), time.monotonic()
            if before is not None and now is not None:
                self.saw(before, now, then - at)
            before, at = now, then

    def _look(self) -> Counts | None:
        try:
            return self._counts()
        except (OSError, subprocess.SubprocessError, ValueError, KeyError, HeadwayError) as error:
            if not self._over.is_set():
                aloud(f"the links cannot be looked at: {error}")
            return None
