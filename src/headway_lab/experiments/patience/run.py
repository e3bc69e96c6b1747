"""What patience does to a recorded stream: every window's wait, and which rows came too late for theirs.

The rows come in at their own times, read as the engine would read them; the policy under test is asked by the very tracker
that asks it live. What a batch costs is left out: this is about waiting, not about computing.
"""

from dataclasses import dataclass
from math import inf

import numpy as np

from headway.estimate.ripe import ripe
from headway.loop.inputs import InputTracker
from headway.loop.kernel import Kernel
from headway.model.arrays import Floats
from headway.model.deadline import Deadlines, window
from headway.model.declared import patience_declares
from headway.model.message import InputSeen, InputSpec, PartSeen
from headway.model.patience import PatiencePolicy
from headway.model.time import EventMs, WallMs
from headway.model.view import QueryView
from headway.sim.microbatch import NoJournal
from headway_lab.workloads.feed import Feed, Longs

BINS = 32  # as Spark reports delays
LOOK_MS = 100  # how often rows are read where they, not the clock, close windows


@dataclass(frozen=True)
class Waited:
    """One stream under one policy."""

    ends: Longs  # of the windows
    waits_ms: Floats  # after a window's end, until it was closed
    late: int  # rows whose window was closed when they came
    rows: int
    late_by_window: Longs  # by the window they missed

    @property
    def late_share(self) -> float:
        return self.late / max(1, self.rows)

    @property
    def median_ms(self) -> float:
        return float(np.median(self.waits_ms))


def replay(feed: Feed, policy: PatiencePolicy, window_ms: int = 1_000) -> Waited:
    """Let the rows of `feed` come in, and close window after window as `policy` says.

    Behind a slack gate frontiers are kept by key, since that is what it is about: of phones, say.
    """
    slt_ms = patience_declares(policy).slt_ms
    spec = InputSpec(feed.name, policy.delay_ms, policy=policy, slt_ms=slt_ms)
    tracker, parts, kernel = InputTracker(spec), None if slt_ms is None else _parts(feed), Kernel(NoJournal())
    question = tracker.question("feed", lambda: "set")
    grid = Deadlines((window(window_ms),))
    belongs = (feed.event_ms // window_ms + 1) * window_ms  # to the window that ends then
    read = 0
    at, end = int(feed.arrival_ms[0]), int(belongs.min())
    closed: dict[int, int] = {}
    while read < len(feed):
        at = end + tracker.view.patience_ms if slt_ms is None else at + LOOK_MS
        upto = int(np.searchsorted(feed.arrival_ms, at, side="right"))
        tracker.saw(_seen(feed, parts, read, upto), WallMs(at), EventMs(0))
        if question is not None:
            kernel.ask(question, WallMs(at))
        read = upto
        reached = end if slt_ms is None else ripe(QueryView("", (tracker.view,), grid), WallMs(at))
        while reached is not None and end <= reached:
            closed[end] = at
            end += window_ms
    closed_at = np.array([closed.get(int(e), inf) for e in belongs])
    late = feed.arrival_ms > closed_at
    ends = np.array(sorted(closed))
    missed = np.array([int((belongs[late] == e).sum()) for e in ends])
    return Waited(ends, np.array([closed[int(e)] - e for e in ends], dtype=float), int(late.sum()), len(feed), missed)


def _parts(feed: Feed) -> Longs | None:
    if feed.key is None:
        return None
    return np.unique(np.array(feed.key, dtype=object).astype(str), return_inverse=True)[1].astype(np.int64)


def _seen(feed: Feed, parts: Longs | None, start: int, stop: int) -> InputSeen:
    """What a batch reports that read these rows."""
    event, delay = feed.event_ms[start:stop], (feed.arrival_ms - feed.event_ms)[start:stop].astype(float)
    if not len(event):
        return InputSeen(feed.name, 0)
    told = []
    for part in () if parts is None else np.unique(parts[start:stop]).tolist():
        mine = parts[start:stop] == part if parts is not None else slice(None)
        told.append(PartSeen(part, EventMs(int(event[mine].max())), float(delay[mine].min()), _histogram(delay[mine])))
    return InputSeen(
        feed.name, len(event), EventMs(int(event.max())), EventMs(int(event.min())), _histogram(delay), parts=tuple(told)
    )


def _histogram(delay: Floats) -> tuple[tuple[float, float], ...]:
    """Few bins with about as many rows each."""
    pieces = np.array_split(np.sort(delay), min(BINS, len(delay)))
    return tuple((float(piece.mean()), float(len(piece))) for piece in pieces)
