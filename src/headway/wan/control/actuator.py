"""What is decided becomes a record of what shall be: moves of pieces, or another plan from a moment of the stream on."""

from collections.abc import Callable, Mapping
from pathlib import Path

from headway.model.adaptation import AdaptationDecision, Degrade, Keep, PastChange, Placed, Replan, technique_of
from headway.model.geo import Deployment, GeoPlan
from headway.model.time import EventMs, WallMs
from headway.wan.control import changes
from headway.wan.control.book import AreaBook
from headway.wan.control.record import AreaRecord
from headway.wan.control.sites import SiteAddress
from headway.wan.job import GeoJob
from headway.wan.site_file import ends_of, set_end

KEPT = 16  # past changes in a view
AHEAD_MS = 10_000  # a plan takes over no sooner than this after what is complete now
Complete = Callable[[], Mapping[str, EventMs]]  # up to where each topic is


class AreaActuator:
    """Writes down what is to be done; the worker does it."""

    def __init__(
        self, job: GeoJob, sites: Mapping[str, SiteAddress], limits: Path, book: AreaBook, complete: Complete
    ) -> None:
        self._job, self._sites, self._limits, self._book, self._complete = job, sites, limits, book, complete
        self.past: tuple[PastChange, ...] = ()
        self.last: AdaptationDecision | None = None

    def act(self, decided: AdaptationDecision, now: WallMs) -> str:
        """Answers with a receipt."""
        self.last = decided
        if isinstance(decided, Keep):
            return "nothing to do"
        if isinstance(decided, Degrade):
            return "not done: rows are not dropped here"
        record = self._book.record
        plan = self._job.plan(record.current.plan)
        self._remember(decided, plan, record, now)
        if changes.can_move(record, plan, decided):
            made = changes.moved(record, plan, decided.deployed, self._sites)
            self._book.change(lambda _: made)
            moving = [placed.name for placed in made.current.pieces if placed.moving]
            return f"begun: {', '.join(moving) or 'no piece'} moves"
        since = self._moment(record, now)
        new = decided.plan if isinstance(decided, Replan) else plan
        # Said before there is anything new: a controller that is killed in between is followed by one that finds it.
        set_end(self._limits, record.current.number, since)
        number = self._begin_generation(new, decided.deployed, since)
        return f"begun: generation {number} goes on from {since} of the stream, where generation {number - 1} ends"

    def mend(self) -> None:
        """A plan whose end was said, and nothing begins there: the same plan does."""
        current = self._book.record.current
        end = ends_of(self._limits).get(current.number)
        if end is not None:
            self._begin_generation(self._job.plan(current.plan), current.deployed, end)

    def _begin_generation(self, plan: GeoPlan, deployed: Deployment, since: EventMs) -> int:
        record = self._book.record
        made = changes.generation(record.pipeline, record.current.number + 1, plan, deployed, self._sites, since)
        self._book.change(lambda record: record.with_plan(made))
        return made.number

    def _remember(self, decided: Placed, plan: GeoPlan, record: AreaRecord, now: WallMs) -> None:
        stage, before, after = "", (), ()  # type: str, tuple[int, ...], tuple[int, ...]
        if not isinstance(decided, Replan):
            stage, place = decided.stage, plan.index(decided.stage)
            before, after = record.current.deployed.tasks[place], decided.deployed.tasks[place]
        self.past = (*self.past, PastChange(now, stage, technique_of(decided), before, after))[-KEPT:]

    def _moment(self, record: AreaRecord, now: WallMs) -> EventMs:
        """Nothing of it has been delivered yet: the sources are complete up to less."""
        complete = self._complete()
        names = [c.topic for placed in record.current.pieces if not placed.piece.reads for c in placed.piece.writes]
        known = [complete[topic] for topic in names if topic in complete]
        assert self._job.aggregate is not None  # without state pieces are moved
        return changes.moment_for(known, now, AHEAD_MS, self._job.aggregate.window_ms)
