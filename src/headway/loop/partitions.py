"""A log in partitions, as its broker sees it between batches: which of them have come how far, and which are behind.

How far a partition has come is told by the newest timestamp of its rows, not by when they were seen: one that works off what
it owes is still behind although its offsets rush ahead. A partition that is behind may have rows for a window that is about
to close. For `idle_after` the window waits for it. After that, a partition that is silent is idle and holds nobody back; one
that goes on, but behind the others for good, is lagging: its rows, not the clock, tell how far the stream has come.
"""

from dataclasses import dataclass, field

from headway.model.message import PartEnd, Reached
from headway.model.time import WallMs

GAPS = 8  # silent for so many of its usual gaps, it is not chance any more: once in three thousand, for a steady stream
POLL_MS = 200  # how often the broker is asked: silence cannot be seen more finely
SMOOTHING = 0.2
AWAY_MS = 2_000  # a broker that does not answer is asked again and again; meanwhile nothing is swept

Part = tuple[str, int]  # topic and number


@dataclass(slots=True)
class _Track:
    """One partition."""

    end: int
    newest: WallMs | None
    advanced_at: WallMs  # when its end last moved, or when we first looked
    per_ms: float = 0.0  # rows
    silence_ms: int = 0  # how long it was silent before it last moved

    def saw(self, seen: PartEnd, at: WallMs, looked_at: WallMs) -> None:
        """Take in what the broker says now; the time before, it was asked at `looked_at`."""
        if seen.end == self.end:
            return
        # Only as long as it was seen not to move: that we did not look for a while says nothing about it.
        self.silence_ms = max(0, looked_at - self.advanced_at)
        rate = max(0, seen.end - self.end) / max(1, at - self.advanced_at)
        self.per_ms = rate if self.per_ms == 0 else self.per_ms + SMOOTHING * (rate - self.per_ms)
        self.end, self.newest, self.advanced_at = seen.end, seen.newest, at

    def behind(self, at: WallMs, patience_ms: int) -> bool:
        """Whether rows may be missing that should be there by now: it is silent, or has not said all that it owes."""
        if self.per_ms == 0:
            return False
        least_ms = max(patience_ms, GAPS / self.per_ms, 2 * POLL_MS)
        told = self.newest if self.newest is not None and self.newest > 0 else self.advanced_at
        # Where timestamps say nothing of what it owes, it gets as long as stragglers get.
        settling = self.silence_ms >= least_ms and at - self.advanced_at < patience_ms
        return at - told >= least_ms or settling


@dataclass(frozen=True, slots=True)
class Standing:
    """What the partitions of a log ask for, given somebody's patience."""

    held_until: WallMs | None = None  # a window that is due waits so long for those that are behind
    lagging: bool = False  # some are behind for good: the clock says nothing about their rows
    behind: tuple[str, ...] = ()  # which


@dataclass
class Partitions:
    """All partitions of one log."""

    total: int = 0  # rows that it has had so far
    at: WallMs = WallMs(0)
    away: bool = False  # the broker does not answer
    _tracks: dict[Part, _Track] = field(default_factory=dict)
    _behind: dict[tuple[int, int], dict[Part, WallMs]] = field(default_factory=dict)  # since when
    _known: dict[tuple[int, int], Standing] = field(default_factory=dict)  # answers for this moment

    def reached(self, seen: Reached) -> None:
        """Take in what the broker said."""
        self._known.clear()
        if seen.parts is None:
            self.away, self.at = True, seen.at
            return
        if self.away:  # silence counts from now: while it was away nobody could speak
            for track in self._tracks.values():
                track.advanced_at = seen.at
        self.away = False
        for name, end in seen.parts.items():
            if name in self._tracks:
                self._tracks[name].saw(end, seen.at, self.at)
            else:
                self._tracks[name] = _Track(end.end, end.newest, seen.at)
        self.total, self.at = sum(end.end for end in seen.parts.values()), seen.at

    def standing(self, patience_ms: int, idle_after_ms: int) -> Standing:
        key = (patience_ms, idle_after_ms)
        if key not in self._known:
            self._known[key] = self._stand(patience_ms, idle_after_ms, self._behind.setdefault(key, {}))
        return self._known[key]

    def _stand(self, patience_ms: int, idle_after_ms: int, behind: dict[Part, WallMs]) -> Standing:
        if self.away:
            return Standing(WallMs(self.at + AWAY_MS), behind=("the broker, which does not answer",))
        until, lagging = WallMs(0), False
        for name, track in self._tracks.items():
            silent = self.at - track.advanced_at >= idle_after_ms
            if silent or not track.behind(self.at, patience_ms):
                behind.pop(name, None)
                continue
            limit = WallMs(behind.setdefault(name, self.at) + idle_after_ms)
            until, lagging = max(until, limit), lagging or limit <= self.at
        return Standing(until if until > self.at else None, lagging, tuple(f"{topic}-{n}" for topic, n in sorted(behind)))
