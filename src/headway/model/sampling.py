"""How much of a stream is enough: what is seen of it, what a sampling policy knows of it, and what it must say.

A sub-stream is the rows whose event time lies in one stretch of `sub_ms`, all the same whether they are sampled or not, and
whether they came in time or not. Its place is how many sub-streams after the last end of a window it begins: with windows
that end every 3 s and sub-streams of 600 ms, places are 0 to 4.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

import numpy as np

from headway.model.arrays import Floats


@dataclass(frozen=True, slots=True)
class SubStreamSeen:
    """What one batch read of one sub-stream, before any row was left out: sums over rows."""

    index: int  # event time in ms divided by `sub_ms`
    rows: int
    delay: float = 0.0
    delay_sq: float = 0.0
    value: float = 0.0
    value_sq: float = 0.0
    value_cube: float = 0.0
    delay_value: float = 0.0


@dataclass(frozen=True, slots=True)
class GroupSeen:
    """What one batch read of one group, before any row was left out."""

    key: int  # a hash of the group's name
    rows: int
    value: float = 0.0
    value_sq: float = 0.0


@dataclass(frozen=True, slots=True)
class GroupView:
    """One group, as it is expected to be in the coming window."""

    key: int
    rows: float
    mean: float
    sd: float


@dataclass(frozen=True, slots=True)
class StreamView:
    """What is expected of the coming window, by the last sub-streams that are complete (Eq. 4.1)."""

    sub_ms: int
    window_ms: int
    slide_ms: int
    known: int = 0  # complete sub-streams that this rests upon
    rows: float = 0.0  # of a sub-stream, stragglers and all: E[N_i]
    rows_sd: float = 0.0
    delay_ms: float = 0.0  # E[D]
    delay_sd_ms: float = 0.0
    longest_ms: float = 0.0  # ever
    delays: tuple[tuple[float, float], ...] = ()  # (ms, share of rows that take no longer): ascending, ends at share 1
    value_mean: float = 0.0
    value_sd: float = 0.0
    value_skew: float = 0.0
    correlation: float = 0.0  # of delay and value
    correlated_rows: float = 0.0  # on how many rows that rests
    groups: tuple[GroupView, ...] = ()  # largest first; empty where no groups were asked for

    @property
    def places(self) -> int:
        return max(1, self.slide_ms // self.sub_ms)

    @property
    def window_rows(self) -> float:
        """E[N^w]: rows of a window, stragglers and all."""
        return self.rows * self.window_ms / self.sub_ms

    def arrived(self, after_ms: float) -> float:
        """The share of a sub-stream's rows that have come in so long after its end."""
        # Rows lie evenly within a sub-stream: the distribution of delays is averaged over its length.
        ages = after_ms + self.sub_ms * (np.arange(16) + 0.5) / 16
        return float(self.within(ages).mean())

    def window_arrived(self, after_ms: float) -> float:
        """The share of a window's rows that have come in so long after its end."""
        subs = max(1, round(self.window_ms / self.sub_ms))
        ages = after_ms + self.window_ms * (np.arange(16 * subs) + 0.5) / (16 * subs)
        return float(self.within(ages).mean())

    def within(self, delay_ms: Floats) -> Floats:
        """The share of rows that take no longer than this."""
        if not self.delays:
            return np.where(np.asarray(delay_ms) >= 0, 1.0, 0.0)
        ms, share = _columns(self.delays)
        return np.asarray(np.interp(delay_ms, ms, share, left=0.0, right=1.0))


@lru_cache(maxsize=16)
def _columns(delays: tuple[tuple[float, float], ...]) -> tuple[Floats, Floats]:
    """A decision asks some thirty times."""
    ms, share = np.array(delays).T
    return ms, share


@dataclass(frozen=True, slots=True)
class Sampling:
    """How much to take, and how long after a window's end to let it go."""

    share: float  # of a window's rows that are wanted in its sample; 1: all
    arrived: tuple[float, ...]  # by place: the share of a sub-stream that will be there when its window goes
    wait_ms: int
    because: str
    keys: Mapping[int, float] = field(default_factory=dict)  # groups of which only this share is wanted, not `share`
    needed: int = 0  # rows of a window's sample
    # By place: rows that must have come in of a sub-stream before its window goes (Algorithm 4); empty: none must. A window
    # that lacks them waits, but no longer than `until_ms` after its end.
    least: tuple[float, ...] = ()
    until_ms: int = 0

    def rate(self, place: int, key: int | None = None) -> float:
        """theta: with which probability a row is taken that has come in (Eq. 4.8)."""
        wanted = self.share if key is None else self.keys.get(key, self.share)
        return min(1.0, wanted / max(self.arrived[place % len(self.arrived)], 1e-9))


class SamplingPolicy(Protocol):
    """How much of a stream is enough for an answer."""

    @property
    def error(self) -> float:
        """That an answer may have, relatively: 0.05, say."""
        ...

    @property
    def confidence(self) -> float:
        """With which it keeps to that: 0.95, say."""
        ...

    @property
    def most_ms(self) -> int:
        """It never waits longer than this after a window's end."""
        ...

    def decide(self, seen: StreamView) -> Sampling: ...
