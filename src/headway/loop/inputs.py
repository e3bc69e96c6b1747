"""What is known of one input of a query, and of its partitions: how far it has come, how late its rows are, who waits."""

from dataclasses import dataclass, field, replace

from headway.estimate.delays import Epochs, moments
from headway.estimate.rates import Rate
from headway.estimate.tail import Tail
from headway.loop.partitions import CALM, Partitions, Standing
from headway.loop.sampler import Sampler
from headway.loop.unread import ReadSoFar
from headway.model.message import InputSeen, InputSpec, Part, PartSeen
from headway.model.time import EventMs, WallMs
from headway.model.view import InputView

ALL_PARTS = -1  # where partitions are not told apart
LIVE_MEMORY = 20  # batches with rows, over which the fastest row tells whether a stream is live
SURPRISE_ROWS = 1_000  # so many more rows in the log than were expected are news


@dataclass
class InputTracker:
    """The history of one input."""

    spec: InputSpec
    view: InputView = field(init=False)
    epochs: Epochs = field(default_factory=Epochs)
    rate: Rate = field(default_factory=Rate)
    fastest: list[float] = field(default_factory=list)
    read_at: WallMs | None = None
    first_at: WallMs = WallMs(0)  # when it was first read
    rows_at: WallMs | None = None  # when rows last came, or when we first looked
    confidence: float = 0.95
    parts: dict[int, "PartTracker"] = field(default_factory=dict)
    standing: Standing = CALM  # of the partitions of its log, by the broker
    behind_since: dict[Part, WallMs] = field(default_factory=dict)
    read: ReadSoFar | None = None  # of that log
    tails: dict[int, Tail] = field(default_factory=dict)  # of the delays of each partition, or of all rows under ALL_PARTS
    sampler: Sampler | None = None
    news: str | None = None  # of how much is taken

    def __post_init__(self) -> None:
        self.view = self.fresh_view()

    def fresh_view(self, live: bool = False) -> InputView:
        """Before anything is known of its rows."""
        return InputView(
            self.spec.name, self.spec.patience_ms, live=live and self.spec.slt_ms is None, slt_ms=self.spec.slt_ms,
            held_most_ms=self.spec.idle_after_ms,
        )  # fmt: skip

    def saw(self, seen: InputSeen, began: WallMs, refused_below: EventMs) -> None:
        """Take in what a batch that began then read; rows older than `refused_below` were late."""
        # The first batch has no batch before it to count from: its rows have come since the oldest of them.
        since = self.read_at if self.read_at is not None else seen.oldest
        if since is not None:
            self.rate = self.rate.add(seen.rows, began - since)
        self.read_at = began
        self.first_at = self.first_at or began
        if seen.rows or self.rows_at is None:
            self.rows_at = began
        if seen.rows:
            self.epochs = self.epochs.add(*moments(seen.delays), seen.delays)
            self.fastest = [*self.fastest[1 - LIVE_MEMORY :], min((delay for delay, _ in seen.delays), default=0.0)]
        for part in seen.parts:
            self.parts.setdefault(part.part, PartTracker()).saw(part, began)
        patience_ms = self._patience(seen)
        slow = [p for p in self.parts.values() if p.lagging(began, self.spec.idle_after_ms, patience_ms)]
        frontier = max((f for f in (self.view.frontier, seen.newest) if f is not None), default=None)
        slowest = frontier
        if self.spec.slt_ms is not None and frontier is not None:
            # No source has come further than the clock: rows from the future must not make the present late.
            frontier = EventMs(min(frontier, began))
            speaking = [p.newest for p in self.parts.values() if began - p.rows_at < self.spec.idle_after_ms]
            unheard = len(self.parts) < self.spec.parts and began - self.first_at < self.spec.idle_after_ms
            slowest = None if unheard else EventMs(min([*speaking, frontier]))
        self.view = replace(
            self.view,
            patience_ms=patience_ms,
            # If even the fastest of the last rows took longer than our patience, the wall clock would refuse them all.
            live=self._recent and not slow and not self.standing.lagging and self.spec.slt_ms is None,
            idle=began - self.rows_at >= self.spec.idle_after_ms,
            frontier=frontier if self.spec.slt_ms is not None else min([p.newest for p in slow], default=frontier),
            slowest=slowest,
            rows_per_s=self.rate.rows_per_s,
            late_rows=self.view.late_rows + late_rows(seen, refused_below),
            timeless=self.view.timeless + seen.timeless,
            # A sample's window waits for nobody's delay: it goes when we let it go.
            delay=self.epochs.view(self.confidence) if self.sampler is None else None,
        )

    @property
    def _recent(self) -> bool:
        policy = self.spec.policy or self.spec.sampling
        most_ms = self.spec.patience_ms if policy is None else policy.most_ms
        return bool(self.fastest) and min(self.fastest) <= most_ms and not self.spec.limited

    def _patience(self, seen: InputSeen) -> int:
        """How long stragglers are waited for from now on."""
        if self.sampler is not None:
            self.news = self.sampler.saw(seen)
            return self.sampler.wait_ms if self._recent or not self.fastest else self.sampler.policy.most_ms
        policy = self.spec.policy
        if policy is None:
            return self.spec.patience_ms
        told = [(part.part, part.delays) for part in seen.parts if part.delays] or [(ALL_PARTS, seen.delays)]
        for part, delays in told:
            if delays:
                self.tails[part] = self.tails.get(part, Tail(policy.memory_rows)).add(delays)
        # Nobody waits for the windows of old rows, so nothing is gained by hurrying.
        return policy.decide(tuple(self.tails.values())) if self._recent or not self.fastest else policy.most_ms

    def reached(self, log: Partitions) -> bool:
        """Take in what the broker says of the log; says whether that changes what is to be done."""
        standing = log.standing(self.view.patience_ms, self.spec.idle_after_ms, self.behind_since)
        changed = standing.lagging != self.standing.lagging or standing.held_until != self.view.held_until
        self.standing = standing
        backlog, counted_at = self.view.backlog, self.view.backlog_at
        if self.read is not None and log.away_since is None:
            was, at = backlog or 0, counted_at or log.at
            backlog, counted_at = self.read.unread(log), log.at
            expected = was + self.view.rows_per_s * (log.at - at) / 1000
            # Twice as many, or half: a topic may have been made anew.
            changed = changed or abs(backlog - expected) > max(SURPRISE_ROWS, min(backlog, expected))
        if changed:
            self.view = replace(
                self.view, held_until=standing.held_until, live=self.view.live and not standing.lagging,
                backlog=backlog, backlog_at=counted_at,
            )  # fmt: skip
        return changed

    def found_none(self, at: WallMs) -> None:
        """We looked then, and there was nothing to read: not even a batch tells of it."""
        self.rows_at = at if self.rows_at is None else self.rows_at
        if at - self.rows_at >= self.spec.idle_after_ms and not self.view.idle:
            self.view = replace(self.view, idle=True)


@dataclass
class PartTracker:
    """Some partitions of an input, as their rows tell."""

    newest: EventMs = EventMs(0)
    fastest: list[float] = field(default_factory=list)
    rows_at: WallMs = WallMs(0)

    def saw(self, seen: PartSeen, began: WallMs) -> None:
        self.newest, self.rows_at = max(self.newest, seen.newest), began
        self.fastest = [*self.fastest[1 - LIVE_MEMORY :], seen.fastest_ms]

    def lagging(self, now: WallMs, idle_after_ms: int, patience_ms: int) -> bool:
        """It speaks, but even the last it said was older than our patience."""
        return now - self.rows_at < idle_after_ms and self.fastest[-1] > patience_ms


def late_rows(seen: InputSeen, refused_below: EventMs) -> int:
    """Rows older than the watermark that refused them, counted before any aggregation.

    None of a batch's rows is late unless its oldest is; beyond that the counts of its old rows per tenth of a second tell.
    """
    if seen.oldest is None or seen.oldest >= refused_below:
        return 0
    below = sum(rows for moment, rows in seen.old if moment < refused_below)
    return max(1, round(below))
