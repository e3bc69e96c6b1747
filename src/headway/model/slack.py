"""What slack gates say of themselves, what a policy sees of them, and what it must say."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from headway.model.arrays import Floats
from headway.model.graph import Graph


@dataclass(frozen=True, slots=True)
class Report:
    """One operator over one period."""

    operator: str
    at_s: float  # the period's end, seconds since some midnight
    slt_ms: float
    latency_ms: float  # the longest of a tuple that was read, or that waits still
    slack_ready: int
    threads: int = 1
    window_ms: float = 0.0
    gap_ms: float = 0.0  # how far the slowest stream is behind the fastest
    waiting_ms: float = 0.0  # the age of the oldest tuple that waits
    batch_ms: float = 0.0  # how long it took to bring the result out, where that is done in batches


@dataclass(frozen=True, slots=True)
class Curve:
    """Over ascending thresholds: latency that is probably not exceeded, and slack-ready tuples to expect."""

    slt_ms: Floats
    latency_ms: Floats
    slack_ready: Floats

    def latency_at(self, slt_ms: float) -> float:
        return float(np.interp(slt_ms, self.slt_ms, self.latency_ms))

    def slack_ready_at(self, slt_ms: float) -> float:
        return float(np.interp(slt_ms, self.slt_ms, self.slack_ready))


@dataclass(frozen=True, slots=True)
class SlackSeen:
    """All gates of an application at the end of a period."""

    graph: Graph
    slts: Mapping[str, float]  # milliseconds, as they are set now
    last: Mapping[str, Report] = field(default_factory=dict)  # of the period that ends
    before: Mapping[str, Report] = field(default_factory=dict)  # of the one before it
    worst_gap_ms: Mapping[str, float] = field(default_factory=dict)  # the greatest delay ever seen
    periods: int = 0  # seen so far
    curves: Mapping[str, Curve] | None = None  # for the next period; None while too little is known


@dataclass(frozen=True, slots=True)
class SLTs:
    """A threshold for every operator, and why."""

    ms: Mapping[str, float]
    because: str


class SlackPolicy(Protocol):
    """Sets the thresholds of all gates of an application, once a period. What else it may declare is in `declared.py`."""

    def decide(self, seen: SlackSeen) -> SLTs: ...


class Learns(Protocol):
    """What finds out, from reports, which threshold leads to which latency and to how many late rows."""

    def see(self, report: Report) -> None: ...
    def curves(self) -> Mapping[str, Curve] | None: ...
