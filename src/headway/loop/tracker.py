"""What is known of one query: messages in, an immutable view out."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from headway.estimate.costs import BatchCost
from headway.estimate.delays import Epochs, moments
from headway.estimate.rates import Rate
from headway.estimate.slack_reports import Report
from headway.estimate.tail import Tail
from headway.loop.partitions import Partitions
from headway.loop.sampler import Sampler
from headway.model.message import BatchSeen, InputSeen, InputSpec, PartSeen, QuerySpec
from headway.model.time import EventMs, WallMs
from headway.model.view import InputView, QueryView

Aside = Callable[[Callable[[], None]], object]
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
    lagging: bool = False  # by the broker
    behind: tuple[str, ...] = ()  # partitions that a window would wait for
    read: int | None = None  # rows of the log that were read so far
    tails: dict[int, Tail] = field(default_factory=dict)  # of the delays of each partition, or of all rows under ALL_PARTS
    sampler: Sampler | None = None
    news: str | None = None  # of how much is taken

    def __post_init__(self) -> None:
        self.view = self.fresh_view()

    def fresh_view(self, live: bool = False) -> InputView:
        """Before anything is known of its rows."""
        return InputView(
            self.spec.name, self.spec.patience_ms, live=live and self.spec.slt_ms is None, slt_ms=self.spec.slt_ms
        )

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
            live=self._recent and not slow and not self.lagging and self.spec.slt_ms is None,
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
        standing = log.standing(self.view.patience_ms, self.spec.idle_after_ms)
        changed = standing.lagging != self.lagging or standing.held_until != self.view.held_until
        self.lagging, self.behind = standing.lagging, standing.behind
        backlog = None if self.read is None else max(0, log.total - self.read)
        if backlog is not None:
            was, at = self.view.backlog or 0, self.view.backlog_at or log.at
            expected = was + self.view.rows_per_s * (log.at - at) / 1000
            changed = changed or abs(backlog - expected) > max(SURPRISE_ROWS, expected)
        if changed:
            self.view = replace(
                self.view, held_until=standing.held_until, live=self.view.live and not self.lagging,
                backlog=backlog, backlog_at=None if backlog is None else log.at,
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


def at_once(work: Callable[[], None]) -> None:
    """For worlds without threads."""
    work()


def late_rows(seen: InputSeen, refused_below: EventMs) -> int:
    """Rows older than the watermark that refused them, counted before any aggregation.

    None of a batch's rows is late unless its oldest is; beyond that the counts of its old rows per tenth of a second tell.
    """
    if seen.oldest is None or seen.oldest >= refused_below:
        return 0
    below = sum(rows for moment, rows in seen.old if moment < refused_below)
    return max(1, round(below))


class QueryTracker:
    """The history of one query, and where it stands: at the gate or in a batch."""

    def __init__(self, spec: QuerySpec, confidence: float = 0.95, aside: Aside = at_once) -> None:
        """`aside` runs what takes too long for the moment between two batches."""
        self.spec = spec
        self.aside = aside
        tuned = [i.policy for i in spec.inputs if hasattr(i.policy, "tuning")]
        self.tuning: Any = tuned[0].tuning(spec.deadlines.period_ms) if tuned else None  # type: ignore[union-attr]
        self.inputs = {i.name: InputTracker(i, confidence=confidence, sampler=self._sampler(i)) for i in spec.inputs}
        self.cost = BatchCost()
        self.start: dict[str, int] = {"seq": 0, "wm": 0, "live": 0}
        self.waiting_since: WallMs | None = None
        self.granted_at: WallMs | None = None
        self.announced = EventMs(0)
        self.swept = EventMs(0)
        self.refusing = EventMs(0)  # the watermark by which the next batch will refuse late rows
        self.selectivity = 1.0
        self.state_rows = self.state_bytes = 0
        self.had_rows = True
        self.batches = 0
        self._sweeping = EventMs(0)  # the watermark that the running batch acts upon
        self._last: BatchSeen | None = None  # the batch that the last grant led to
        self._view: QueryView | None = None
        self._late_before = 0  # rows, when the threshold was last thought about
        self._slts = [0.0, 0.0]  # thresholds under which the last watermark was announced, and the one that is swept

    def _sampler(self, given: InputSpec) -> Sampler | None:
        if given.sampling is None:
            return None
        sampler = Sampler(given.sampling, self.spec.deadlines, self.spec.window_ms)
        for seen in (i for batch in self.spec.past for i in batch.inputs if i.name == given.name):
            sampler.saw(seen)
        return sampler

    def saw(self, batch: BatchSeen) -> str | None:
        """Take in a finished batch. Says what is wrong if a watermark that was announced did not take, or what is new."""
        self.batches += 1
        self._last = batch
        read = dict(batch.read)
        for tracker in self.inputs.values():
            tracker.read = read.get((tracker.spec.source or "").partition("@")[0], tracker.read)
            tracker.view = replace(tracker.view, backlog=None, backlog_at=None)
        for seen in batch.inputs:
            if seen.name in self.inputs:
                self.inputs[seen.name].saw(seen, batch.began, self.refusing)
        rows = sum(seen.rows for seen in batch.inputs)
        self.had_rows = rows > 0
        if rows:
            self.selectivity = 0.8 * self.selectivity + 0.2 * min(1.0, batch.state_updated / rows)
        self.state_rows, self.state_bytes = batch.state_rows, batch.state_bytes
        self._view = None
        # Until something is announced Spark's own watermark is ten years back, and says nothing.
        took = EventMs((batch.watermark or 0) if self._sweeping else 0)
        if self.tuning is not None and took > self.refusing:
            self._tune(batch, took)
        self.swept = max(self.swept, took, self._sweeping)
        self.refusing = took
        if took < self._sweeping:
            return f"announced watermark {self._sweeping} did not take: batch {batch.batch} ran with {took}"
        return "; ".join(tracker.news for tracker in self.inputs.values() if tracker.news) or None

    def _tune(self, batch: BatchSeen, watermark: EventMs) -> None:
        """A window has come out: what that says of the slack threshold under which it did."""
        gates = self._gates
        spoken = [t.view for t in gates if t.view.frontier is not None and t.view.slowest is not None]
        if not spoken:
            return
        newest = max(v.frontier or 0 for v in spoken)
        # Of the windows that came out together the first has waited longest.
        first = min(watermark, self.spec.deadlines.after(self.refusing)) if self.refusing else watermark
        late = sum(t.view.late_rows for t in gates)
        report = Report(
            "query", batch.ended / 1000, self._slts[1],
            latency_ms=float(batch.ended - first),
            slack_ready=late - self._late_before,
            window_ms=self.spec.deadlines.period_ms,
            gap_ms=float(newest - min(v.slowest or 0 for v in spoken)),
            waiting_ms=float(max(0, newest - watermark)),
            batch_ms=float(batch.took_ms),
        )  # fmt: skip
        self._late_before = late
        self.aside(lambda: self.tuning.step(report))

    @property
    def _gates(self) -> list[InputTracker]:
        return [tracker for tracker in self.inputs.values() if tracker.spec.slt_ms is not None]

    def asked(self, now: WallMs, start: dict[str, int]) -> None:
        """The query is at the gate again, with everything up to the offset `start` done."""
        if self.granted_at is not None and self.waiting_since is None:
            if self._last is not None:
                self.cost = self.cost.add(sum(seen.rows for seen in self._last.inputs), now - self.granted_at)
            else:  # Spark found neither rows nor state to sweep, so there was no batch
                self.had_rows, self.swept = False, max(self.swept, self._sweeping)
                for tracker in self.inputs.values():
                    tracker.found_none(self.granted_at)
        if self.granted_at is None and start["wm"] > 0:  # restarted: the next batch sweeps what was announced before
            self.swept = self.refusing = self.spec.deadlines.upto(start["wm"] - 1)
            for tracker in self.inputs.values():
                tracker.fastest = [0.0] if start["live"] and not tracker.spec.limited else []
                tracker.view = tracker.fresh_view(live=bool(tracker.fastest))
        if self.tuning is not None:  # its last word; it may be some batches old
            for tracker in self._gates:
                tracker.view = replace(tracker.view, slt_ms=round(self.tuning.slt_ms))
        self.start = start
        self.announced = EventMs(max(self.announced, start["wm"]))
        self.waiting_since = now
        self._view = None

    def reached(self, source: str, log: Partitions) -> tuple[bool, str | None]:
        """The broker has told how far a log has come. Says whether that changes anything for this query, and what if it is
        news that a window has to wait, or does not have to any more."""
        before = self._behind
        changed = [tracker.reached(log) for tracker in self.inputs.values() if tracker.spec.source == source]
        if any(changed):
            self._view = None
        if self._behind == before:
            return any(changed), None
        return any(changed), f"windows wait for {', '.join(self._behind)}" if self._behind else "windows wait for nobody"

    @property
    def _behind(self) -> tuple[str, ...]:
        return tuple(part for tracker in self.inputs.values() for part in tracker.behind)

    @property
    def ran(self) -> bool:
        """Whether the last grant led to a batch; without rows or a watermark to act upon, Spark runs none."""
        return self._last is not None

    def granted(self, now: WallMs, announce: EventMs | None) -> dict[str, int]:
        """The offset that lets the query through. Unchanged when nothing is announced: then Spark runs a batch only if a
        source has rows, and asks again if none has."""
        self.granted_at, self.waiting_since, self._view, self._last = now, None, None, None
        self._sweeping, self._slts[1] = self.announced, self._slts[0]
        live = all(i.view.live for i in self.inputs.values())
        # How much a batch takes rides in its offset: where rows are sampled, a batch without a new one would take them all.
        sampling: dict[str, int] = {}
        if self.had_rows or self._sweeping > self.swept:
            for tracker in self.inputs.values():
                if tracker.sampler is not None:
                    sampling |= tracker.sampler.offset(now, self._sweeping, live)
        if announce is not None and announce > self.announced:
            self.announced, self._slts[0] = announce, float(min((t.view.slt_ms or 0 for t in self._gates), default=0))
        elif not sampling:
            return self.start
        return {"seq": self.start["seq"] + 1, "wm": self.announced, "live": int(live), **sampling}

    def view(self) -> QueryView:
        if self._view is None:
            self._view = QueryView(
                self.spec.name,
                tuple(i.view for i in self.inputs.values()),
                self.spec.deadlines,
                waiting_since=self.waiting_since,
                granted_at=self.granted_at,
                announced=self.announced,
                swept=self.swept,
                ahead=self.spec.ahead,
                fixed_ms=self.cost.fixed_ms or 300.0,
                per_row_ms=self.cost.per_row_ms,
                selectivity=self.selectivity,
                state_rows=self.state_rows,
                state_bytes=self.state_bytes,
                # Old rows are replayed as fast as they come; a query without rows is asked once a second.
                pace_ms=0 if self.had_rows else 1000,
            )
        return self._view
