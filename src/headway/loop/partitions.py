"""A log in partitions, as its broker sees it between batches: which of them have come how far, and which are behind.

How far a partition has come is told by the newest timestamp of its rows, not by when they were seen: one that works off what
it owes is still behind although its offsets rush ahead. A partition that is behind may have rows for a window that is about
to close. For `idle_after` the window waits for it. After that, a silent partition is idle and no window waits for it; one
that goes on, but behind the others for good, is lagging: its rows, not the clock, tell how far the stream has come.

A partition that cannot be asked, because it has no leader, say, is mute. It may be getting rows that are not seen, so it is
waited for as well, and no longer than the others. The same goes for a broker that does not answer at all.
"""

from dataclasses import dataclass, field

from headway.model.message import Part, PartEnd, Reached
from headway.model.time import WallMs

GAPS = 8  # silent for so many of its usual gaps, it is not chance any more: once in three thousand, for a steady stream
POLL_MS = 200  # how often the broker is asked: silence cannot be seen more finely
SMOOTHING = 0.2
NEVER = WallMs(1 << 52)  # until then waits an input that never lets go; a number that JSON and floats keep as it is
OVERDUE_MS = 2 * POLL_MS  # a look that is so late has been missed: what fell silent since the last one is not known
BROKER = "the broker, which does not answer"
LOOK = "a look at the broker, which is overdue"


@dataclass(slots=True)
class _Track:
    """One partition."""

    end: int
    newest: WallMs | None
    silent_from: WallMs  # when its end last moved, when it could be asked again, or when we first looked
    per_ms: float = 0.0  # rows; 0 until it has spoken while we looked
    silence_ms: int = 0  # how long it was silent before it last moved
    mute_since: WallMs | None = None  # it cannot be asked
    heard_at: WallMs = WallMs(0)  # when it last could be asked again
    quiet_ms: int = 0  # how long it had been silent when it fell mute; 0 once it has moved since

    def saw(self, seen: PartEnd, at: WallMs, looked_at: WallMs) -> None:
        """Take in what the broker says now; the time before, it was asked at `looked_at`."""
        was_mute = self.mute_since is not None
        if self.mute_since is not None:
            self.quiet_ms = max(self.quiet_ms, self.mute_since - self.silent_from)
            self.mute_since, self.silent_from, self.heard_at = None, at, at
        if seen.end == self.end:
            # A row that came between our two questions, for the newest timestamp and for the end: now its time is known.
            self.newest = self.newest if seen.newest is None else seen.newest
            return
        # Only as long as it was seen not to move: that we could not look for a while says nothing about it.
        self.silence_ms = 0 if was_mute else max(0, looked_at - self.silent_from)
        if not was_mute:
            rate = (seen.end - self.end) / max(1, at - self.silent_from)
            self.per_ms = rate if self.per_ms == 0 else self.per_ms + SMOOTHING * (rate - self.per_ms)
        self.end, self.newest, self.silent_from, self.quiet_ms = seen.end, seen.newest, at, 0

    def fell_mute(self, at: WallMs) -> None:
        self.mute_since = at if self.mute_since is None else self.mute_since

    @property
    def told(self) -> WallMs:
        """The moment up to which all of its rows are there."""
        return self.newest if self.newest is not None and self.newest > 0 else self.silent_from

    def idle(self, at: WallMs, idle_after_ms: int | None) -> bool:
        """Whether it has been silent for so long, as far as could be seen; one that cannot be asked is mute, not silent."""
        if idle_after_ms is None:
            return False
        until = at if self.mute_since is None else self.mute_since
        return self.quiet_ms >= idle_after_ms or until - self.silent_from >= idle_after_ms

    def behind(self, at: WallMs, patience_ms: int) -> bool:
        """Whether rows may be missing that should be there by now: it is silent, or has rows that were not told of yet."""
        if self.per_ms == 0 or self.mute_since is not None:
            return self.per_ms > 0
        # Sooner than patience ends: a window may be due before the next look would have found it out, if that is late, too.
        least_ms = max(patience_ms - OVERDUE_MS, GAPS / self.per_ms, 2 * POLL_MS)
        # Where timestamps say nothing of what it owes, it gets as long as stragglers get.
        settling = self.silence_ms >= least_ms and at - self.silent_from < patience_ms
        return at - self.told >= least_ms or settling


@dataclass(frozen=True, slots=True)
class PartitionStanding:
    """What the partitions of a log ask for, at a certain patience."""

    held_until: WallMs | None = None  # a window that is due waits so long for those that are behind
    lagging: bool = False  # some are behind for good: the clock says nothing about their rows
    behind: tuple[str, ...] = ()  # that are waited for
    let_go: tuple[str, ...] = ()  # that are behind still, but have been waited for long enough


CALM = PartitionStanding()


@dataclass
class Partitions:
    """All partitions of one log."""

    total: int = 0  # rows that it has had so far
    at: WallMs = WallMs(0)
    away_since: WallMs | None = None  # the broker does not answer
    unseen: bool = False  # the next look is overdue: on a busy machine the thread that looks may stand still
    gone: tuple[str, ...] = ()  # topics that were there at the last look and are not any more
    epoch: int = 0  # counts how often partitions came, went, or began anew; in between their ends only grow
    _tracks: dict[Part, _Track] = field(default_factory=dict)
    _most_ms: int = 0  # none has been silent for longer than this, now or before it last spoke
    _known: dict[tuple[int, int | None], tuple[Part, ...]] = field(default_factory=dict)  # what is behind at this moment

    def reached(self, seen: Reached) -> None:
        """Take in what the broker said."""
        self._known.clear()
        self.gone, self.unseen = (), False
        looked_at, self.at = self.at, seen.at
        if seen.parts is None:
            self.away_since = seen.at if self.away_since is None else self.away_since
            for track in self._tracks.values():
                track.fell_mute(seen.at)
            return
        self.away_since = None
        if missing := [name for name in self._tracks if name not in seen.parts]:
            self._forget(missing, {topic for topic, _ in seen.parts})
        for name, end in seen.parts.items():
            known = self._tracks.get(name)
            if end is None:
                if known is not None:
                    known.fell_mute(seen.at)
            elif known is None or end.end < known.end:  # its topic was made again: what it did before says nothing
                self._tracks[name] = _Track(end.end, end.newest, seen.at)
                self.epoch += 1
            else:
                known.saw(end, seen.at, looked_at)
        self._sum_up()

    def _forget(self, missing: list[Part], there: set[str]) -> None:
        self.gone = tuple(sorted({topic for topic, _ in missing} - there))
        self.epoch += 1
        for name in missing:
            del self._tracks[name]

    def _sum_up(self) -> None:
        """Once for all inputs that ask: most of the time no partition is behind, at any patience."""
        self.total = self._most_ms = 0
        for track in self._tracks.values():
            self.total += track.end
            if track.per_ms > 0:
                ms = NEVER if track.mute_since is not None else max(self.at - track.told, track.silence_ms)
                self._most_ms = max(self._most_ms, ms)

    @property
    def ends(self) -> dict[Part, int]:
        """As far as is known: a partition that is mute may have come further."""
        return {name: track.end for name, track in self._tracks.items()}

    def overdue(self, now: WallMs) -> bool:
        """Whether the next look has become overdue just now. Windows that are due wait for it, as they do for the broker."""
        if self.unseen or self.away_since is not None or now - self.at <= OVERDUE_MS:
            return False
        self.unseen = True
        return True

    def standing(self, patience_ms: int, idle_after_ms: int | None, since: dict[Part, WallMs]) -> PartitionStanding:
        """For an input that waits `idle_after_ms` at most; None is for ever. `since` keeps what is behind since when."""
        if self.away_since is not None:
            until = _limit(self.away_since, idle_after_ms)
            return PartitionStanding(until, behind=(BROKER,)) if until > self.at else PartitionStanding(let_go=(BROKER,))
        if self.unseen:
            return PartitionStanding(_limit(self.at, idle_after_ms), behind=(LOOK,))
        behind = self._behind(patience_ms, idle_after_ms)
        if not behind:
            since.clear()
            return CALM
        for name in [name for name in since if name not in behind]:
            del since[name]
        until, lagging = WallMs(0), False
        waited_for: list[str] = []
        let_go: list[str] = []
        for name in behind:
            track = self._tracks[name]
            limit = _limit(max(since.setdefault(name, self.at), track.heard_at), idle_after_ms)
            until = max(until, limit)
            lagging = lagging or (limit <= self.at and track.mute_since is None)
            (waited_for if limit > self.at else let_go).append(f"{name[0]}-{name[1]}")
        return PartitionStanding(until if until > self.at else None, lagging, tuple(waited_for), tuple(let_go))

    def _behind(self, patience_ms: int, idle_after_ms: int | None) -> tuple[Part, ...]:
        if self._most_ms < max(patience_ms - OVERDUE_MS, 2 * POLL_MS):
            return ()
        key = (patience_ms, idle_after_ms)
        if key not in self._known:
            self._known[key] = tuple(
                sorted(
                    name
                    for name, track in self._tracks.items()
                    if track.behind(self.at, patience_ms) and not track.idle(self.at, idle_after_ms)
                )
            )
        return self._known[key]


def waiting_news(before: list[PartitionStanding], after: list[PartitionStanding]) -> list[str]:
    """What is new about the sources that are waited for."""
    # A look that is overdue comes in a moment, or the broker does not answer: only that is news.
    was, behind = ([name for standing in every for name in standing.behind if name != LOOK] for every in (before, after))
    known = {name for standing in before for name in standing.let_go}
    given_up = [name for standing in after for name in standing.let_go if name not in known]
    news = [f"windows wait no longer for {', '.join(given_up)}"] if given_up else []
    if behind != was and (behind or not given_up):
        news.append(f"windows wait for {', '.join(behind)}" if behind else "windows wait for no partition any more")
    return news


def _limit(since: WallMs, idle_after_ms: int | None) -> WallMs:
    return NEVER if idle_after_ms is None else WallMs(since + idle_after_ms)


class Logs:
    """The logs that inputs read, by source."""

    def __init__(self) -> None:
        self._known: dict[str, Partitions] = {}

    def reached(self, message: Reached) -> Partitions:
        """A broker has told how far one has come."""
        log = self._known.setdefault(message.source, Partitions())
        try:
            log.reached(message)
        except Exception:  # better learnt anew than wrong for good
            del self._known[message.source]
            raise
        return log

    def overdue(self, now: WallMs) -> list[tuple[str, Partitions]]:
        """Those whose next look has become overdue, by source."""
        return [(source, log) for source, log in self._known.items() if log.overdue(now)]

    def forget(self) -> None:
        self._known.clear()
