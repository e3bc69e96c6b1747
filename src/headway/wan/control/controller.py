"""The controller of a wide area: it places a pipeline, looks at it, asks what to change every so often, and has that done.

One thread samples and decides; another one carries out, because that takes minutes. Between them is the record.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from headway.errors import HeadwayError
from headway.estimate.link import LinkWatch, first_known
from headway.loop.kernel import Kernel, Log
from headway.loop.questions.adaptation import ADAPTATION, Calm, adaptation
from headway.model.adaptation import LONG_AGO, AdaptationPolicy, AreaView
from headway.model.geo import GeoPlan
from headway.model.time import EventMs, SystemClock, WallMs
from headway.wan.control import changes
from headway.wan.control.actuator import AreaActuator
from headway.wan.control.beginning import first_record
from headway.wan.control.book import AreaBook
from headway.wan.control.counts import RowCounts
from headway.wan.control.flows import ChannelFlows
from headway.wan.control.lives import JobFiles, PieceLives
from headway.wan.control.record import AreaRecord, RecordFile
from headway.wan.control.sight import AreaSight, ChangeHistory, KnownArea, LinkMeter
from headway.wan.control.sites import SiteNodes, by_name
from headway.wan.control.worker import AreaWorker
from headway.wan.job import GeoJob


@dataclass(frozen=True, slots=True)
class AreaPace:
    """How often an area is looked at, and how much unrest it is spared."""

    sample_s: float = 1.0
    round_ms: int = 40_000
    calm: Calm = Calm()
    watch: LinkWatch = LinkWatch()
    lag_ms: int = 10_000  # rows may wait for so long besides a window, though all is well


@dataclass(frozen=True, slots=True)
class AreaJob:
    """What is run, and the folder with what the controller must not forget of it."""

    job: GeoJob
    file: Path
    folder: Path
    rates: Mapping[str, float] = field(default_factory=dict)  # rows a second by source, if they are not to be measured


class AreaController:
    """Runs one pipeline. Another one that is made with the same folder goes on with it."""

    def __init__(
        self, wanted: AreaJob, known: KnownArea, token: str, meter: LinkMeter, policy: AdaptationPolicy, journal: Log,
        pace: AreaPace | None = None,
    ) -> None:  # fmt: skip
        self._wanted, self.job, self._policy, self._journal = wanted, wanted.job, policy, journal
        self.pace = pace or AreaPace()
        self._clock, self.sites = SystemClock(), by_name(known.sites)
        self.nodes = SiteNodes(known.sites, token)
        self._limits = wanted.folder / "ends.json"
        self._servers = {site.name: site.broker for site in known.sites}
        self.flows, self.counts = ChannelFlows(self._servers), RowCounts()
        window = 0 if self.job.aggregate is None else self.job.aggregate.window_ms
        links = first_known(known.bandwidth, self._clock.now(), self.pace.watch)
        self.sight = AreaSight(known, links, meter, window + self.pace.lag_ms, self.pace.round_ms)
        self._kernel = Kernel(journal)
        self._over = threading.Event()
        self._lives = PieceLives(self.sites, self.nodes, token, JobFiles(wanted.file, self._limits), self._over.is_set)
        self._running: tuple[AreaWorker, AreaActuator] | None = None
        self._changed_at, self._was_busy = LONG_AGO, True
        self._round_at: WallMs | None = None
        self._away: list[str] = []  # sites with pieces that did not answer when it was last time to ask
        self.said: list[str] = []

    @property
    def record(self) -> AreaRecord:
        return self.worker.book.record

    @property
    def plan(self) -> GeoPlan:
        return self.job.plan(self.record.current.plan)

    @property
    def worker(self) -> AreaWorker:
        assert self._running is not None, "start() it first"
        return self._running[0]

    @property
    def actuator(self) -> AreaActuator:
        assert self._running is not None, "start() it first"
        return self._running[1]

    def start(self) -> None:
        """Place the pipeline, or go on with it as the record has it."""
        file = RecordFile(self._wanted.folder / "record.json")
        known = self.sight.known
        begun = file.read() or first_record(self.job, known, self._policy, self._wanted.rates)
        if begun.sites != known.names:
            raise HeadwayError(f"record = {str(file.path)!r}: expected one of the sites {', '.join(known.names)}")
        book = AreaBook(file, begun)
        actuator = AreaActuator(self.job, self.sites, self._limits, book, self.flows.complete)
        actuator.mend()
        worker = AreaWorker(book, self._lives, self.sites, self._say, self._over)
        self._running = worker, actuator
        question = adaptation(self.job.query.name, self._policy, self._see, actuator.act, self.pace.calm)
        self._kernel.add(question)
        self.nodes.start()
        self.sight.meter.start()
        self._follow()
        worker.start()

    def stop(self, end: bool = True) -> None:
        """With `end` every piece is stopped between two batches; else they run on, and another controller may take over."""
        self._over.set()
        if self._running is not None:
            self.worker.stop()
            if end:
                self.worker.end_all()
        self.sight.meter.stop()
        self.flows.close()
        self.nodes.close()

    def step(self) -> None:
        """One look; and a question, if it is time."""
        now = self._clock.now()
        record = self.record
        self._follow()
        for plan in record.plans:
            for placed in plan.pieces:
                found = self.nodes.query(placed.now.site, placed.name)
                if found is not None and found.epoch == placed.now.epoch:
                    self.counts.saw(found)
        complete = self.flows.complete()
        self.worker.complete = complete
        self.worker.watermarks = {
            piece.name: mark
            for piece in changes.pieces_in(record)
            if (mark := self.counts.watermark(piece.name)) is not None
        }
        pieces = tuple(placed.piece for placed in record.current.pieces)
        self.sight.runs(self.plan, pieces)
        self.sight.saw(self.counts.sample(now, pieces, self.flows.rows(), complete))
        self._settled(now)
        self._ask(now)

    def delivered(self) -> EventMs | None:
        """Up to where results are out."""
        sinks = [placed.name for placed in self.record.current.pieces if not placed.piece.writes]
        marks = [self.counts.watermark(name) for name in sinks]
        return None if not marks or None in marks else min(mark for mark in marks if mark is not None)

    # ---- deciding

    def _ask(self, now: WallMs) -> None:
        """Not before the pipeline has begun and is warm: a cold JVM looks like a stage with too few tasks."""
        warm = self._changed_at != LONG_AGO and now - self._changed_at >= self.pace.calm.settle_ms
        if not warm and not self.actuator.past:
            return
        if self._round_at is None:
            self._round_at = now
        if now - self._round_at < self.pace.round_ms:
            return
        self._round_at = now
        self.sight.measure(now)
        if self._unheard():
            return
        self._kernel.due(ADAPTATION, self.job.query.name)
        self._kernel.settle(now)

    def _unheard(self) -> bool:
        """Of a piece whose node does not answer nobody knows what it processes: it would look as if it had too few tasks."""
        away = sorted({placed.now.site for placed in self.record.current.pieces} & self.nodes.silent)
        if away:
            self.sight.begin()
        if away != self._away:
            self._away = away
            self._say("", f"nothing is asked while {', '.join(away)} does not answer" if away else "all sites answer again")
        return bool(away)

    def _see(self, now: WallMs) -> AreaView | None:
        history = ChangeHistory(self.worker.busy, self._changed_at, self.actuator.past)
        return self.sight.view(now, self.record, self.job.plans, history, self.nodes.silent)

    # ---- looking after

    def _settled(self, now: WallMs) -> None:
        """A change is over: what was measured before it says nothing of what is now."""
        busy = self.worker.busy
        if self._was_busy and not busy:
            self._changed_at = now
            self.sight.begin()
            self.worker.book.change(lambda record: changes.as_it_stands(record, self.plan))
        self._was_busy = busy

    def _follow(self) -> None:
        self.flows.follow(
            channel
            for plan in self.record.plans
            for placed in plan.pieces
            for channel in placed.piece.writes
        )  # fmt: skip

    def _say(self, piece: str, text: str) -> None:
        self.said.append(f"{piece}: {text}" if piece else text)
        self._journal.note(self._clock.now(), piece or self.job.query.name, text)
