"""What is known of one input of a query, and of its partitions: how far it has come, how late its rows are, what waits."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from headway.estimate.delays import Epochs
from headway.estimate.rates import Rate
from headway.estimate.tail import Tail
from headway.loop.kernel import Question
from headway.loop.liveness import LEAD_MS, Liveness
from headway.loop.partitions import CALM, Partitions, PartitionStanding
from headway.loop.questions.patience import patience
from headway.loop.questions.sampling import sampling
from headway.loop.sampler import Sampler
from headway.loop.unread import ReadSoFar
from headway.model.message import InputSeen, InputSpec, Part, PartSeen
from headway.model.patience import PatienceView, Wait
from headway.model.sampling import Sampling
from headway.model.time import LATEST, EventMs, WallMs
from headway.model.view import InputView

ALL_PARTS = -1  # where partitions are not told apart
PORTIONS_FOR = 20  # batches for which a source that has left rows behind is taken for one that may do so again
SURPRISE_ROWS = 1_000  # so many more rows in the log than were expected are news


@dataclass
class InputTracker:
    """The history of one input."""

    spec: InputSpec
    view: InputView = field(init=False)
    epochs: Epochs = field(default_factory=Epochs)
    rate: Rate = field(default_factory=Rate)
    liveness: Liveness = field(init=False)
    portions: int = 0  # batches for which it is taken for a source that hands out portions
    agrees: tuple[bool, bool] = (False, False)  # after the wall clock was set: whether its rows fit to ours, and to that
    read_at: WallMs | None = None
    first_at: WallMs = WallMs(0)  # when it was first read
    confidence: float = 0.95
    parts: "Parts" = field(init=False)
    standing: PartitionStanding = CALM  # of the partitions of its log, by the broker
    behind_since: dict[Part, WallMs] = field(default_factory=dict)
    read: ReadSoFar | None = None  # of that log
    tails: dict[int, Tail] = field(default_factory=dict)  # of the delays of each partition, or of all rows under ALL_PARTS
    sampler: Sampler | None = None
    _heard: "_Heard | None" = None  # until it is decided how long to wait

    def __post_init__(self) -> None:
        self.view = InputView(
            self.spec.name, self.spec.patience_ms, slt_ms=self.spec.slt_ms, held_most_ms=self.spec.idle_after_ms
        )
        self.parts = Parts(self.spec.idle_after_ms)
        policy = self.spec.policy or self.spec.sampling
        most_ms = self.spec.patience_ms if policy is None else policy.most_ms
        self.liveness = Liveness(self.spec.idle_after_ms, most_ms, watched=self.spec.source is not None)

    def saw(
        self,
        seen: InputSeen,
        began: WallMs,
        refused_below: EventMs,
        skew_ms: int = 0,
        left: bool = False,
        asked: WallMs | None = None,
        swept: bool = False,
    ) -> None:
        """Take in what a batch that began then read; rows older than `refused_below` were late.

        `skew_ms` is how far the wall clock, by which delays are taken, is ahead of ours. `left`: more had come than that.
        `asked` is when the source was asked, if that was before. `swept`: the batch acted upon a new watermark.
        """
        if self._heard is not None:
            self._wait(self.view.patience_ms)
        # The first batch has no batch before it to count from: its rows have come since the oldest of them.
        since = self.read_at if self.read_at is not None else seen.oldest
        if since is not None:
            self.rate = self.rate.add(seen.rows, began - since)
        self.read_at = began
        self.first_at = self.first_at or began
        self.portions = PORTIONS_FOR if left else max(0, self.portions - 1)
        wall = WallMs(began + skew_ms)
        by_ours = seen.delays if self.spec.arrives or not skew_ms else tuple((d - skew_ms, n) for d, n in seen.delays)
        told = bool(skew_ms) and not self.spec.arrives
        self.agrees = (told and self.liveness.fresh_by(by_ours), told and self.liveness.fresh_by(seen.delays))
        self.epochs = self.epochs.read(by_ours)
        if swept:
            self.epochs = self.epochs.swept()
        self.parts.saw(seen.parts, began)
        if self.sampler is not None:
            self.sampler.saw(seen)
        elif self.asks:
            self._learn_delays(seen)
        self.view = replace(
            self.view,
            rows_per_s=self.rate.rows_per_s,
            late_rows=self.view.late_rows + late_rows(seen, refused_below, wall - self._least_ms, wall),
            timeless=self.view.timeless + seen.timeless,
            future=self.view.future + seen.future,
            # A sample's window waits for no delay. Of others what is known changes when an epoch ends, with a sweep.
            delay=self.epochs.view(self.confidence) if swept and self.sampler is None else self.view.delay,
        )
        self._heard = _Heard(by_ours, _newest(seen, began, skew_ms), seen.foremost, began, asked)
        if not self.asks:
            self._wait(self.spec.patience_ms)

    def _wait(self, patience_ms: int) -> None:
        """Stragglers are waited for so long; by that, the last batch says how far the stream has come."""
        heard, self._heard = self._heard, None
        at = self.read_at or WallMs(0)
        if heard is not None:
            self.liveness.saw(
                heard.delays, heard.newest, heard.foremost, heard.began, self._keeps_up_ms(patience_ms), heard.asked
            )
        slow = self.parts.slow(at, patience_ms)
        frontier, slowest = self._reached(slow, at)
        self.view = replace(self.view, patience_ms=patience_ms, frontier=frontier, slowest=slowest)
        self._judge(bool(slow))

    def _reached(self, slow: Sequence["PartTracker"], now: WallMs) -> tuple[EventMs | None, EventMs | None]:
        """How far its rows have come, and those of the partition that is furthest behind; None: not known."""
        if self.liveness.newest is None:
            return None, None
        frontier = EventMs(min(self.liveness.newest, LATEST))
        if self.spec.slt_ms is None:
            frontier = min([p.newest for p in slow], default=frontier)
            return frontier, None if self.liveness.watched else frontier  # a broker knows of partitions that are behind
        # No source has come further than the clock: rows from the future must not make the present late.
        frontier = EventMs(min(frontier, now))
        speaking = [p.newest for p in self.parts.speaking(now)]
        unheard = self.parts.unheard(self.spec.parts, now - self.first_at)
        return frontier, None if unheard else EventMs(min([*speaking, frontier]))

    def _judge(self, slow_parts: bool) -> None:
        """Whether the clock rules, given all that is known."""
        liveness, limited, gate = self.liveness, self.spec.limited or self.portions > 0, self.spec.slt_ms is not None
        self.view = replace(
            self.view,
            live=liveness.live(limited) and not (slow_parts or self.standing.lagging or gate),
            idle=liveness.idle,
            caught_at=liveness.caught_at if limited or liveness.idle else None,
            held_until=self.view.held_until if liveness.watched or gate else liveness.held_until,
        )

    def _keeps_up_ms(self, patience_ms: int) -> int:
        """How old its newest row may be. A sample's window does not wait, so that its patience says nothing of that."""
        return patience_ms if self.sampler is None else self.sampler.policy.most_ms

    @property
    def _least_ms(self) -> int:
        """Rows older than this when they are read are told of by the tenth of a second."""
        return self.spec.patience_ms if self.spec.policy is None else self.spec.policy.least_ms

    def _learn_delays(self, seen: InputSeen) -> None:
        assert self.spec.policy is not None, "only a policy asks for delays"
        told = [(part.part, part.delays) for part in seen.parts if part.delays] or [(ALL_PARTS, seen.delays)]
        for part, delays in told:
            if delays:
                self.tails[part] = self.tails.get(part, Tail(self.spec.policy.memory_rows)).add(delays)

    # ---- the questions about it

    @property
    def asks(self) -> bool:
        """Whether how long to wait is a question here. A slack gate's threshold is its query's, not its own."""
        return self.sampler is not None or (self.spec.policy is not None and self.spec.slt_ms is None)

    def question(self, query: str, told: Callable[[], str]) -> Question[Any, Any, Any] | None:
        """What is asked about it after each batch; `told` hears that, and says what came of it."""
        scope = f"{query}/{self.spec.name}"

        def waits(decided: Wait, now: WallMs) -> str:
            self._wait(decided.ms)
            return told()

        def takes(decided: Sampling, now: WallMs) -> str:
            assert self.sampler is not None
            self.sampler.sampling = decided
            self._wait(decided.wait_ms if self._hurries else self.sampler.policy.most_ms)
            return told()

        if (sampler := self.sampler) is not None:
            return sampling(scope, sampler.policy, lambda now: sampler.view, takes)
        return patience(scope, self.spec.policy, self._delays_view, waits) if self.asks and self.spec.policy else None

    def _delays_view(self, now: WallMs) -> PatienceView:
        assert self.spec.policy is not None
        return PatienceView(tuple(self.tails.values()), not self._hurries, self.spec.policy.most_ms)

    @property
    def _hurries(self) -> bool:
        return not self.liveness.fastest or (self.liveness.recent and not self.spec.limited)

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

    def found_none(self, at: WallMs, asked: WallMs | None = None) -> None:
        """The source was asked then and had nothing to read, so there was no batch."""
        self.liveness.saw((), None, None, at, self._keeps_up_ms(self.view.patience_ms), asked)
        self._judge(bool(self.parts.slow(at, self.view.patience_ms)))


class _Heard(NamedTuple):
    """What a batch has told of how far its stream has come."""

    delays: tuple[tuple[float, float], ...]
    newest: EventMs | None
    foremost: EventMs | None
    began: WallMs
    asked: WallMs | None


def _newest(seen: InputSeen, began: WallMs, skew_ms: int) -> EventMs | None:
    """The newest event time that can be believed."""
    # By a wall clock that was set back all rows are ahead, and `newest` knows none.
    newest = seen.foremost if seen.newest is None and skew_ms < 0 else seen.newest
    # They may be ahead of ours as well.
    return None if newest is not None and newest > began + LEAD_MS else newest


@dataclass
class PartTracker:
    """Some partitions of an input, as their rows tell."""

    newest: EventMs = EventMs(0)
    fastest_ms: float = 0.0  # the shortest delay of its last rows
    rows_at: WallMs = WallMs(0)

    def saw(self, seen: PartSeen, began: WallMs) -> None:
        self.newest, self.rows_at = max(self.newest, seen.newest), began
        self.fastest_ms = seen.fastest_ms


@dataclass
class Parts:
    """The partitions of an input that are told apart."""

    idle_after_ms: int | None  # no window waits for one that is silent for longer
    _known: dict[int, PartTracker] = field(default_factory=dict)

    def saw(self, parts: Iterable[PartSeen], began: WallMs) -> None:
        for part in parts:
            self._known.setdefault(part.part, PartTracker()).saw(part, began)

    def speaking(self, now: WallMs) -> list[PartTracker]:
        return [p for p in self._known.values() if self._within_idle(now - p.rows_at)]

    def slow(self, now: WallMs, patience_ms: int) -> list[PartTracker]:
        """Partitions that speak, but even whose last rows were older than our patience."""
        return [p for p in self.speaking(now) if p.fastest_ms > patience_ms]

    def unheard(self, expected: int, for_ms: int) -> bool:
        """One of so many has not spoken since the input was first read, and that is not long ago."""
        return len(self._known) < expected and self._within_idle(for_ms)

    def _within_idle(self, ms: int) -> bool:
        return self.idle_after_ms is None or ms < self.idle_after_ms


def late_rows(seen: InputSeen, refused_below: EventMs, told_below: int, read_at: int) -> int:
    """Rows older than the watermark that refused them, counted before any aggregation.

    None of a batch's rows is late unless its oldest is; beyond that the counts of its old rows per tenth of a second tell.
    They tell of rows older than `told_below`. Rarely does a watermark refuse younger ones; of those only their delays tell,
    by the clock that said `read_at`.
    """
    if seen.oldest is None or seen.oldest >= refused_below:
        return 0
    if seen.foremost is not None and seen.foremost < refused_below:
        return seen.rows - seen.timeless - seen.future
    below = sum(rows for moment, rows in seen.old if moment < refused_below)
    if refused_below > told_below:
        below += sum(rows for delay, rows in seen.delays if told_below <= read_at - delay < refused_below)
    return max(1, round(below))
