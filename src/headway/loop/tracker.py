"""What is known of one query: messages in, an immutable view out."""

from collections import deque
from dataclasses import replace
from typing import Any

from headway.estimate.costs import BatchCost
from headway.estimate.due import READ_MOST_MS, worked_out
from headway.estimate.ripe import ripe
from headway.loop.experience import cost_of, give
from headway.loop.inputs import InputTracker
from headway.loop.kernel import Question
from headway.loop.partitions import Partitions, waiting_news
from headway.loop.relayed import Relays, relayed_input
from headway.loop.sampler import Sampler
from headway.loop.thresholds import QUERY, Threshold
from headway.loop.unread import ReadSoFar
from headway.model.message import BatchSeen, InputSpec, QuerySpec, Relaying
from headway.model.offset import ControlOffset, Sampled
from headway.model.slack import Report
from headway.model.time import STEP_MS, EventMs, WallMs
from headway.model.view import QueryView


class QueryTracker:
    """The history of one query, and where it stands: at the gate or in a batch."""

    def __init__(self, spec: QuerySpec, confidence: float = 0.95, relays: Relays | None = None) -> None:
        """`relays` has what the stages in front of it have said so far."""
        self.spec = spec
        self.threshold = Threshold.of(spec)
        # A run that ends by itself is measured by its rows: the clock would have it wait for rows that it will not read.
        inputs = [replace(i, idle_after_ms=None) if spec.bounded else i for i in spec.inputs]
        self.inputs = {i.name: _input(spec, i, confidence, relays or Relays()) for i in inputs}
        self.below: Relaying | None = None  # the topic that it writes to, and what the stages behind that cost
        self.cost = BatchCost() if spec.experience is None else cost_of(spec.experience)
        self.start = ControlOffset()
        self.waiting_since: WallMs | None = None
        self.granted_at: WallMs | None = None
        self.announced = EventMs(0)
        self.swept = EventMs(0)
        self.skew_ms = 0  # how far the wall clock was ahead of ours at the last grant
        self.ripens = WallMs(0)  # when the announced watermark may be swept
        self.refusing = EventMs(0)  # the watermark by which the next batch will refuse late rows
        self.selectivity = 1.0 if spec.experience is None else spec.experience.selectivity
        self.state_rows = self.state_bytes = 0
        self.had_rows = True
        self.batches = 0
        self.batch: int | None = None  # the number of the last one
        self._told: deque[int] = deque(maxlen=100)  # batches that were told of
        self.stalled = False  # the running batch keeps no core busy
        self._took = EventMs(0)  # the last watermark of ours that a batch ran with
        self._sweeping = EventMs(0)  # the watermark that the running batch acts upon
        self._asked_at: WallMs | None = None  # when sources were asked that do not wait for the gate
        self._last: BatchSeen | None = None  # the batch that the last grant led to
        self._view: QueryView | None = None
        self._late_before = 0  # rows, when the threshold was last thought about
        self._slts = [0.0, 0.0]  # thresholds under which the last watermark was announced, and the one that is swept
        if spec.experience is not None:
            give(spec.experience, list(self.inputs.values()))

    def questions(self) -> list[Question[Any, Any, Any]]:
        """What is asked about it and its inputs."""
        asked = (tracker.question(self.spec.name, self._told_anew) for tracker in self.inputs.values())
        inputs = [question for question in asked if question is not None]
        return inputs if self.threshold is None else [*inputs, self.threshold.question(self.spec.name)]

    def _told_anew(self) -> str:
        """Something was decided about an input; says what follows from it."""
        self._view = None
        return (self._last and self._hold(self._last.began)) or "set"

    def by_our_clock(self, batch: BatchSeen) -> BatchSeen:
        """The same by our clock. Its wall clock may have been set since it was let through, and Spark does not say when."""
        began = WallMs(batch.began - self.skew_ms)
        if self.granted_at is not None and abs(began - self.granted_at) > STEP_MS:
            began = self.granted_at
        return replace(batch, began=began, ended=WallMs(began + batch.ended - batch.began))

    def saw(self, batch: BatchSeen, skew_ms: int = 0) -> str | None:
        """Take in a finished batch, whose delays are by a wall clock so far ahead of ours.

        Says what is wrong if a watermark that was announced did not take."""
        if batch.batch in self._told:
            return None
        if not self._told and batch.dropped:  # the first after a start: Spark does not say by which watermark it refused
            self.refusing = max(self.refusing, EventMs(batch.watermark or 0))
        self._told.append(batch.batch)
        self.batch = batch.batch
        self.batches += 1
        self._last = batch
        read = dict(batch.read)
        asked = batch.began if self._asked_at is None else WallMs(min(batch.began, self._asked_at))
        for tracker in self.inputs.values():
            if (ends := read.get((tracker.spec.source or "").partition("@")[0])) is not None:
                tracker.read = ReadSoFar(ends)
            tracker.view = replace(tracker.view, backlog=None, backlog_at=None)
        # Until something is announced Spark's own watermark is ten years back, and says nothing.
        took = EventMs((batch.watermark or 0) if self._sweeping else 0)
        swept = took > self._took
        for seen in batch.inputs:
            if seen.name in self.inputs:
                self.inputs[seen.name].saw(seen, batch.began, self.refusing, skew_ms, batch.left, asked, swept)
        rows = sum(seen.rows for seen in batch.inputs)
        self.had_rows = rows > 0
        if rows:
            self.selectivity = 0.8 * self.selectivity + 0.2 * min(1.0, batch.state_updated / rows)
        self.state_rows, self.state_bytes = batch.state_rows, batch.state_bytes
        self._view = None
        if self.threshold is not None and swept:
            self._tune(batch, took)
        self.swept = max(self.swept, took, self._sweeping)
        self._took, self.refusing = took, EventMs(batch.watermark or 0)
        if took < self._sweeping:
            return f"announced watermark {self._sweeping} did not take: batch {batch.batch} ran with {took}"
        return None

    def _hold(self, read_at: WallMs) -> str | None:
        """The window that is announced ahead waits if its sample lacks rows by what was read so far; says so."""
        if self.announced <= self.swept or self.ripens == 0:
            return None
        samplers = [tracker.sampler for tracker in self.inputs.values() if tracker.sampler is not None]
        until = max((self.announced + sampler.held_ms(self.announced, read_at) for sampler in samplers), default=0)
        if until <= self.ripens:
            return None
        held, self.ripens = until - self.ripens, WallMs(until)
        return f"the window that ends at {self.announced} is held for {held} ms: its sample lacks rows"

    def _tune(self, batch: BatchSeen, watermark: EventMs) -> None:
        """A window has come out: what that says of the slack threshold under which it did."""
        gates = self._gates
        spoken = [t.view for t in gates if t.view.frontier is not None and t.view.slowest is not None]
        if not spoken:
            return
        newest = max(v.frontier or 0 for v in spoken)
        # Of the windows that came out together the first has waited longest.
        first = min(watermark, self.spec.deadlines.after(self._took)) if self._took else watermark
        late = sum(t.view.late_rows for t in gates)
        report = Report(
            QUERY, batch.ended / 1000, self._slts[1],
            latency_ms=float(batch.ended - first),
            slack_ready=late - self._late_before,
            window_ms=self.spec.deadlines.period_ms,
            gap_ms=float(newest - min(v.slowest or 0 for v in spoken)),
            waiting_ms=float(max(0, newest - watermark)),
            batch_ms=float(batch.took_ms),
        )  # fmt: skip
        self._late_before = late
        assert self.threshold is not None
        self.threshold.reports.append(report)

    @property
    def _gates(self) -> list[InputTracker]:
        return [tracker for tracker in self.inputs.values() if tracker.spec.slt_ms is not None]

    def asked(self, now: WallMs, start: ControlOffset) -> None:
        """The query is at the gate again, with everything up to the offset `start` done."""
        if self.granted_at is not None and self.waiting_since is None:
            if self._last is not None:
                self.cost = self.cost.add(sum(seen.rows for seen in self._last.inputs), now - self.granted_at)
            else:  # Spark found neither rows nor state to sweep, so there was no batch
                self.had_rows, self.swept = False, max(self.swept, self._sweeping)
                for tracker in self.inputs.values():
                    tracker.found_none(self.granted_at, self._asked_at)
        if self.granted_at is None and start.wm > 0:  # restarted: the next batch sweeps what was announced before
            before = self.spec.deadlines.upto(start.wm - 1)
            self.swept, self.refusing, self._took = (max(x, before) for x in (self.swept, self.refusing, self._took))
            # It may have been announced ahead, if the clock ruled then; whether it still does, only rows can tell.
            patience_ms = max((i.view.patience_ms for i in self.inputs.values()), default=0)
            # No watermark is announced further ahead than that: one that seems to be was announced by another clock.
            latest = now + READ_MOST_MS + patience_ms
            self.ripens = WallMs(min(latest, start.wm + patience_ms) if start.live else 0)
        if self.threshold is not None:  # its last word; it may be some batches old
            for tracker in self._gates:
                tracker.view = replace(tracker.view, slt_ms=round(self.threshold.ms))
        self.start, self.stalled = start, False
        self.announced = EventMs(max(self.announced, start.wm))
        self.waiting_since = now
        self._view = None

    def reached(self, source: str, log: Partitions) -> tuple[bool, str | None]:
        """The broker has told how far a log has come. Says whether that changes anything for this query, and what if it is
        news that a window has to wait, or does not have to any more."""
        readers = [tracker for tracker in self.inputs.values() if tracker.spec.source == source]
        if not readers:
            return False, None
        before = [tracker.standing for tracker in self.inputs.values()]
        changed = sum(tracker.reached(log) for tracker in readers) > 0  # each is told
        if changed:
            self._view = None
        news = [f"topic {topic} is gone" for topic in log.gone]
        after = [tracker.standing for tracker in self.inputs.values()]
        if after != before:
            news += waiting_news(before, after)
        return changed, "; ".join(news) or None

    @property
    def ran(self) -> bool:
        """Whether the last grant led to a batch; without rows or a watermark to act upon, Spark runs none."""
        return self._last is not None

    def told(self, *, stalled: bool | None = None, below: Relaying | None = None) -> None:
        """What is told from outside: whether the running batch keeps a core busy, since only Spark knows its jobs; where its
        results go, and what that costs behind it. Or its inputs have been told something."""
        self.stalled = self.stalled if stalled is None else stalled
        self.below, self._view = below or self.below, None

    @property
    def running(self) -> bool:
        """Let through, and not back yet."""
        return self.granted_at is not None and self.waiting_since is None

    def granted(self, now: WallMs, announce: EventMs | None) -> ControlOffset:
        """The offset that lets the query through. Unchanged when nothing is announced: then Spark runs a batch only if a
        source has rows, and asks again if none has."""
        view = self.view()
        self._asked_at = None if self.spec.ahead else self.waiting_since
        self.granted_at, self.waiting_since, self._view, self._last = now, None, None, None
        self._sweeping, self._slts[1] = self.announced, self._slts[0]
        live = all(i.view.live for i in self.inputs.values())
        # How much a batch takes rides in its offset: where rows are sampled, a batch without a new one would take them all.
        sampled: Sampled | None = None
        if self.had_rows or self._sweeping > self.swept:
            for tracker in self.inputs.values():
                if tracker.sampler is not None:
                    sampled = tracker.sampler.offset(now, self._sweeping, live)
        if announce is not None and announce > self.announced:
            limit = ripe(view, now)
            over = limit is not None and announce <= limit  # patience is
            self.ripens = WallMs(0 if over and not view.live else now if over else announce + view.patience_ms)
            self.announced, self._slts[0] = announce, float(min((t.view.slt_ms or 0 for t in self._gates), default=0))
        elif sampled is None and not (self.spec.proves and not self.batches):
            return self.start
        # A controller that begins anew from this offset must know that the clock ruled, if only for the inputs that speak.
        return self.start.next(self.announced, view.live, sampled)

    def view(self) -> QueryView:
        if self._view is None:
            self._view = worked_out(
                QueryView(
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
                    ripens=self.ripens,
                    trigger_ms=self.spec.trigger_ms,
                    bounded=self.spec.bounded,
                    fresh_ms=self.spec.fresh_ms,
                    stalled=self.stalled,
                    writes=None if self.below is None else self.below.topic,
                    below_ms=0.0 if self.below is None else self.below.below_ms or 0.0,
                    below_at=None if self.below is None else self.below.at,
                )
            )
        return self._view


def _input(spec: QuerySpec, source: InputSpec, confidence: float, relays: Relays) -> InputTracker:
    if source.relayed is not None:
        return relayed_input(source, spec.deadlines, confidence, relays.of(source.relayed))
    return InputTracker(source, confidence=confidence, sampler=_sampler(spec, source))


def _sampler(spec: QuerySpec, source: InputSpec) -> Sampler | None:
    """With what was told of the input before a restart."""
    if source.sampling is None:
        return None
    sampler = Sampler(source.sampling, spec.deadlines, spec.window_ms)
    for seen in (i for batch in spec.past for i in batch.inputs if i.name == source.name):
        sampler.saw(seen)
    sampler.sampling = source.sampling.decide(sampler.view)
    return sampler
