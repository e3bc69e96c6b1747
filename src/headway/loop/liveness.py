"""Whether the clock tells how far a stream has come. It does while the stream's rows keep up with it.

A stream is measured by the clock only if its newest rows were read soon after they happened, if most rows are not ahead of
the clock, and if it has not fallen silent. Everything else is measured by its own rows, as stock Spark measures everything.
After `idle_after` without a row the clock takes over again, so that a silent stream freezes no window.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from headway.model.time import EventMs, WallMs

LIVE_MEMORY = 20  # batches with rows, over which the fastest row tells whether a stream keeps up
LAPSES = 1  # how often it may have fallen behind in as many looks: a stream sparser than its patience goes by its rows
LEAD_MS = 60_000  # clocks differ: a row this far ahead of ours may still tell how far its stream has come

Histogram = Sequence[tuple[float, float]]  # delay in ms, rows


@dataclass
class Liveness:
    """What one input's rows said of that so far."""

    idle_after_ms: int | None  # None: the clock never rules
    most_ms: int  # how long stragglers are waited for at most
    watched: bool = False  # a broker tells between batches what is waited for
    fastest: list[float] = field(default_factory=list)  # of the last batches with rows
    leads: list[tuple[float, float]] = field(default_factory=list)  # of the last batches: rows ahead of the clock, and all
    newest: EventMs | None = None
    rows_at: WallMs | None = None  # when rows last came, or when we first looked
    lapses: list[bool] = field(default_factory=list)  # of the last looks: whether it was behind, and not before
    behind: bool = False  # it has fallen silent, or behind: at the last look its newest row was older than our patience
    idle: bool = False
    caught_at: WallMs | None = None  # when a look found nothing left to read

    def saw(
        self,
        delays: Histogram,
        newest: EventMs | None,
        foremost: EventMs | None,
        at: WallMs,
        patience_ms: int,
        asked: WallMs | None = None,
    ) -> None:
        """Take in a look at that moment; no delays: it found no rows with a time.

        `newest` leaves out rows that are ahead of the clock, `foremost` does not. `asked` is when the source was asked, if
        that was before.
        """
        asked = at if asked is None else asked
        if delays:
            ahead, rows = _lead(delays)
            # By a broker's clock rows may be in time which are all ahead of ours.
            all_ahead = newest is None and foremost is not None
            self.leads = [*self.leads[1 - LIVE_MEMORY :], (rows if all_ahead else ahead, rows)]
            if (soonest := fastest_ms(delays)) is not None and not self.ahead:
                self.fastest = [*self.fastest[1 - LIVE_MEMORY :], soonest]
            reached = foremost if self.ahead else newest
            self.newest = max((t for t in (self.newest, reached) if t is not None), default=None)
            self.caught_at = None
        else:
            self.caught_at = asked
        if delays or self.rows_at is None:
            self.rows_at = at
        self.idle = self.idle_after_ms is not None and at - self.rows_at >= self.idle_after_ms
        before, self.behind = self.behind, self.newest is not None and asked - self.newest > patience_ms
        self.lapses = [*self.lapses[1 - LIVE_MEMORY :], self.behind and not before]

    @property
    def ahead(self) -> bool:
        """Whether most of its rows are ahead of the clock, by more than clocks differ: then its clock is another one."""
        return sum(n for n, _ in self.leads) > sum(n for _, n in self.leads) / 2

    @property
    def recent(self) -> bool:
        """Whether its fastest rows came within our patience: else the clock would refuse them all."""
        return bool(self.fastest) and min(self.fastest) <= self.most_ms and not self.ahead

    def live(self, limited: bool) -> bool:
        """Whether the clock rules. A source that hands out portions may have more: only silence shows that it has not."""
        if self.idle_after_ms is None or not self.recent:
            return False
        return self.idle or (not limited and not self.behind and sum(self.lapses) <= LAPSES)

    @property
    def held_until(self) -> WallMs | None:
        """Until when a window that was announced already waits for a stream that has fallen silent."""
        if (
            self.watched
            or self.rows_at is None
            or self.idle_after_ms is None
            or self.idle
            or not (self.recent and self.behind)
        ):
            return None
        return WallMs(self.rows_at + self.idle_after_ms)

    def fresh_by(self, delays: Histogram) -> bool:
        """Whether rows with such delays keep up with the clock by which the delays were taken."""
        soonest = fastest_ms(delays)
        return soonest is not None and soonest <= self.most_ms


def fastest_ms(delays: Iterable[tuple[float, float]]) -> float | None:
    """The shortest delay, but for rows from the future."""
    return min((d for d, _ in delays if d >= -LEAD_MS), default=None)


def _lead(delays: Histogram) -> tuple[float, float]:
    return sum(n for d, n in delays if d < -LEAD_MS), sum(n for _, n in delays)
