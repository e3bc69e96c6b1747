"""Queries come and go: the tracker of each, the questions about it, and what is told of it to the outside."""

from collections.abc import Callable
from dataclasses import replace

from headway.estimate.completeness import Completeness
from headway.loop.kernel import Kernel
from headway.loop.partitions import Partitions
from headway.loop.questions.slack import NAME as SLACK
from headway.loop.relayed import heard_by
from headway.loop.roll import Roll
from headway.loop.tracker import QueryTracker
from headway.loop.trouble import QueryTrouble
from headway.loop.views import Views
from headway.model.message import QuerySpec
from headway.model.status import QueryStatus, State
from headway.model.time import Clock, WallMs


class Roster:
    """The queries that are ours, by name."""

    def __init__(self, clock: Clock, kernel: Kernel, make: Callable[[QuerySpec], QueryTracker]) -> None:
        """`make` begins to track a query of which nothing is known yet."""
        self._clock, self._kernel, self._make = clock, kernel, make
        self.queries: dict[str, QueryTracker] = {}
        self.views = Views(self.queries)
        self.roll = Roll()
        self.afloat: dict[str, WallMs] = {}  # in a batch since, let through before we began anew
        self._asked: dict[str, tuple[tuple[str, str], ...]] = {}  # the questions about each query and its inputs

    def started(self, spec: QuerySpec) -> None:
        """A query has come, or has come again."""
        if again := spec.name in self.queries:
            self.roll.keep_counts(self.queries[spec.name])
        self.roll.started(self._clock.now(), spec.name)
        self.afloat.pop(spec.name, None)
        self.queries[spec.name] = tracker = self._tracker(spec)
        self.views.begin_anew() if again else self.views.joined(tracker)

    def leave(self, name: str, state: State, error: str | None = None) -> bool:
        """A query is ours no longer; False if it was not before."""
        self.views.begin_anew()
        self.afloat.pop(name, None)
        tracker = self.queries.pop(name, None)
        self._drop_questions(name)
        if tracker is not None:
            self.roll.left(self._clock.now(), tracker, state, error)
        return tracker is not None

    def begin_anew(self) -> list[QueryTrouble]:
        """Every query as after a restart; one that stood at the gate still does. Returns what went wrong with single
        queries."""
        before, failed = dict(self.queries), []
        self.queries.clear()
        for name, old in before.items():
            if old.running and old.granted_at is not None:
                self.afloat[name] = old.granted_at
            try:
                # What another driver had learnt may be what is wrong, as well.
                self.queries[name] = fresh = self._tracker(replace(old.spec, experience=None))
            except Exception as error:
                self.queries[name] = old
                failed.append(QueryTrouble(name))
                failed[-1].__cause__ = error
                continue
            self.roll.keep_counts(old)
            fresh.refusing = old.refusing  # by which the batch that runs refuses rows
            if old.waiting_since is not None:
                fresh.asked(self._clock.now(), old.start)
        self.views.begin_anew()
        return failed

    def due(self, name: str) -> None:
        """A batch was seen: what is asked about its query is to be asked again."""
        for question in self._asked[name]:
            if question[0] != SLACK:  # due when something was learnt
                self._kernel.due(*question)

    def reached(self, source: str, log: Partitions) -> None:
        """A log has come so far; its readers are told."""
        self._tell(lambda tracker: tracker.reached(source, log))

    def _tell(self, told: Callable[[QueryTracker], tuple[bool, str | None]]) -> None:
        for name, tracker in self.queries.items():
            try:
                changed, news = told(tracker)
            except Exception as error:
                raise QueryTrouble(name) from error
            if changed:
                self.views.changed(name)
            if news:
                self._kernel.journal.note(self._clock.now(), name, news)

    def heard(self, topic: str, known: Completeness, now: WallMs) -> None:
        """Stages that write to a topic have said how far they are; its readers are told."""

        def tell(tracker: QueryTracker) -> tuple[bool, str | None]:
            changed, news = heard_by(tracker.inputs.values(), topic, known, now)
            if changed:
                tracker.told()
            return changed, news

        self._tell(tell)

    def runs_since(self, name: str) -> WallMs | None:
        """When the batch that a query runs was let through; None if it runs none."""
        tracker = self.queries.get(name)
        if tracker is None or tracker.waiting_since is not None:
            return None
        return self.afloat.get(name, tracker.granted_at)

    @property
    def busy(self) -> int:
        """How many batches take a slot now."""
        return self.views.running + sum(not self.queries[name].stalled for name in self.afloat)

    def told(self) -> tuple[QueryStatus, ...]:
        """How each stands, also those that have left."""
        return self.roll.all(self.queries, self.afloat)

    def _tracker(self, spec: QuerySpec) -> QueryTracker:
        tracker = self._make(spec)
        self._drop_questions(spec.name)
        for question in (questions := tracker.questions()):
            self._kernel.add(question)
        self._asked[spec.name] = tuple(question.key for question in questions)
        return tracker

    def _drop_questions(self, name: str) -> None:
        for question in self._asked.pop(name, ()):
            self._kernel.drop(*question)
