"""The loop that runs everything: one thread reads messages, asks the policy, and answers the gate."""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, Protocol

from headway.estimate.pressure import Pressure
from headway.estimate.slots import Slots
from headway.loop.capacity import GAUGE_EVERY_MS, Capacity, Gauge
from headway.loop.clock_steps import ClockSteps
from headway.loop.drains import Drains
from headway.loop.guards import STANDARD
from headway.loop.inbox import Inbox
from headway.loop.kernel import Kernel, Log, StopWatch
from headway.loop.partitions import Partitions
from headway.loop.questions.order import order
from headway.loop.questions.slack import NAME as SLACK
from headway.loop.roll import Roll
from headway.loop.tracker import QueryTracker
from headway.loop.trouble import QueryTrouble
from headway.loop.views import Views
from headway.model.decision import Decision, Grant, Guard, Hold, OrderPolicy
from headway.model.declared import order_declares
from headway.model.message import (
    Asked,
    BatchSeen,
    Drain,
    Failed,
    Gone,
    Learnt,
    Look,
    Message,
    QuerySpec,
    Reached,
    Resumed,
    Stalled,
    Started,
    Unreadable,
    Use,
)  # fmt: skip
from headway.model.offset import ControlOffset
from headway.model.status import RuntimeStatus, State
from headway.model.time import Clock, WallMs
from headway.model.view import Snapshot


class Actuator(Protocol):
    """Makes a grant true. False means that the query is gone, which is an answer and not a failure."""

    def release(self, query: str, offset: ControlOffset) -> bool: ...


CONFIDENCE = 0.95  # with which the intervals of delays are kept for a policy that does not look at them
Aside = Callable[[Callable[[], None]], object]


def at_once(work: Callable[[], None]) -> None:
    """For worlds without threads."""
    work()


class Controller(Inbox):
    """Sees through messages, decides by a policy, acts through a gate, and writes everything down."""

    def __init__(
        self,
        clock: Clock,
        policy: OrderPolicy,
        actuator: Actuator,
        journal: Log,
        gauge: Gauge,
        slots: int | Literal["auto"] = "auto",
        cores: int = 2,
        one_task: bool = False,
        planning_cores: int | None = None,
        guards: tuple[Guard, ...] = STANDARD,
        pressure: Pressure | None = None,
        aside: Aside = at_once,
    ) -> None:
        """`aside` runs what takes too long for this thread, such as learning from the past."""
        super().__init__(clock)
        self.policy, self.actuator = policy, actuator
        self.guards = guards
        self.kernel = Kernel(journal)
        self._asked: dict[str, tuple[tuple[str, str], ...]] = {}  # the questions about each query's inputs
        self._aside = aside
        self.capacity = Capacity(gauge, Slots(cores, one_task, planning_cores), pressure or Pressure(), slots)
        self.queries: dict[str, QueryTracker] = {}
        self.roll = Roll()
        self.rebuilt = 0
        self.trouble: str | None = None  # for which it last was
        self.logs: dict[str, Partitions] = {}
        self._steps = ClockSteps(clock, lambda text: journal.note(clock.now(), "", text))
        self._drains = Drains()
        self._afloat: dict[str, WallMs] = {}  # in a batch since, let through before we were rebuilt
        self.views = Views(self.queries)

    @property
    def journal(self) -> Log:
        return self.kernel.journal

    @journal.setter
    def journal(self, journal: Log) -> None:
        self.kernel.journal = journal

    @property
    def watch(self) -> StopWatch:
        """How much processor time decisions take."""
        return self.kernel.watch

    @property
    def slots(self) -> Slots:
        return self.capacity.slots

    @property
    def slots_now(self) -> int:
        return self.capacity.now

    def take(self, message: Message) -> None:
        """Update what is known."""
        now = self.clock.now()
        match message:
            case Started(spec=spec):
                self._started(spec)
            case Gone(query=name):
                if self._leave(name, "ended"):
                    self.journal.note(now, name, "left: stopped or failed")
            case Failed(query=name, error=error):
                self.journal.note(now, name, f"failed: {error}")
                if not self._leave(name, "failed", error):
                    self.roll.failed(now, name, error)
            case Unreadable(query=name, why=why) if name in self.queries:
                raise QueryTrouble(name) from ValueError(why)
            case Asked(query=name, start=start) if name in self.queries:
                tracker = self.queries[name]
                self._afloat.pop(name, None)
                took_ms = now - tracker.granted_at if tracker.granted_at is not None and tracker.ran else None
                self.capacity.ended(name, took_ms, self.views.running)
                tracker.asked(now, start)
                self.views.changed(name)
            case BatchSeen(query=name) if name in self.queries:
                self._batch_seen(self.queries[name], message)
            case Learnt(query=name, by=by) if name in self.queries and self.queries[name].threshold is by:
                self._learnt(self.queries[name], message)
            case Stalled(query=name, granted_at=at) if (runs := self._runs_since(name)) is not None and at in (None, runs):
                self.queries[name].stall(True)
                self.capacity.forget(name)
                self.views.changed(name)
                self.journal.note(now, name, "its batch keeps no core busy: its slot is lent")
            case Resumed(query=name) if name in self.queries:
                self.queries[name].stall(False)
                self.views.changed(name)
            case Use(order=policy, slots=slots, guards=guards):
                self.policy = policy or self.policy
                self.guards = self.guards if guards is None else guards
                if slots is not None:
                    self.capacity.fix(slots)
            case Look(reply=reply):
                reply(self.status())
            case Drain():
                self._drains.add(message)
            case Reached():
                self._reached(message)
            case _:
                pass

    def _started(self, spec: QuerySpec) -> None:
        if again := spec.name in self.queries:
            self.roll.keep_counts(self.queries[spec.name])
        self.roll.started(self.clock.now(), spec.name)
        self._afloat.pop(spec.name, None)
        self.queries[spec.name] = tracker = self._tracker(spec)
        self.views.begin_anew() if again else self.views.joined(tracker)

    def _batch_seen(self, tracker: QueryTracker, message: BatchSeen) -> None:
        name, now = message.query, self.clock.now()
        self.views.changed(name)
        self.capacity.batch()
        self._steps.skew_ms()
        skew = tracker.skew_ms
        ours = tracker.by_our_clock(message)
        if trouble := tracker.saw(ours, skew):
            self.journal.note(now, name, trouble)
        # Asked before the next message is taken in, which is read by what is decided now.
        for question in self._asked[name]:
            if question[0] != SLACK:  # due when something was learnt
                self.kernel.due(*question)
        self.kernel.settle(now)
        self._learn(tracker)
        self.roll.batch(ours)
        self.journal.batch(ours, tracker.view())
        if self._steps.follow([i.agrees for i in tracker.inputs.values()], skew):
            self.logs.clear()  # they count by the clock that was wrong
            self._begin_anew()

    def _reached(self, message: Reached) -> None:
        """A broker has told how far a log has come."""
        log = self._log(replace(message, at=WallMs(message.at - self._steps.skew_ms())))
        for name, tracker in self.queries.items():
            try:
                changed, news = tracker.reached(message.source, log)
            except Exception as error:
                raise QueryTrouble(name) from error
            if changed:
                self.views.changed(name)
            if news:
                self.journal.note(self.clock.now(), name, news)

    def _learn(self, tracker: QueryTracker) -> None:
        """Have somebody learn from the windows that have come out; what is learnt comes back as a message."""
        if tracker.threshold is not None and (work := tracker.threshold.lesson(tracker.spec.name)) is not None:
            self._aside(lambda: self.post(work()))

    def _learnt(self, tracker: QueryTracker, message: Learnt) -> None:
        name, now = tracker.spec.name, self.clock.now()
        assert tracker.threshold is not None
        if message.error is not None:
            tracker.threshold.learning = False
            self.journal.note(now, name, f"its slack threshold stays as it is: learning has failed ({message.error})")
        else:
            tracker.threshold.learnt(message)
            self.kernel.due(SLACK, name)
            self.kernel.settle(now)
        self._learn(tracker)  # from those that have come out meanwhile

    def _log(self, message: Reached) -> Partitions:
        log = self.logs.setdefault(message.source, Partitions())
        try:
            log.reached(message)
        except Exception:  # better learnt anew than wrong for good
            del self.logs[message.source]
            raise
        return log

    def _runs_since(self, name: str) -> WallMs | None:
        """When the batch that a query runs was let through; None if it runs none."""
        tracker = self.queries.get(name)
        if tracker is None or tracker.waiting_since is not None:
            return None
        return self._afloat.get(name, tracker.granted_at)

    def _leave(self, name: str, state: State, error: str | None = None) -> bool:
        """A query is ours no longer; False if it was not before."""
        self.views.begin_anew()
        self.capacity.forget(name)
        self._afloat.pop(name, None)
        tracker = self.queries.pop(name, None)
        self._drop_questions(name)
        if tracker is not None:
            self.roll.left(self.clock.now(), tracker, state, error)
        return tracker is not None

    def put_aside(self, name: str, why: str) -> None:
        """A query goes on without us."""
        self._leave(name, "put aside", why)
        self.journal.note(self.clock.now(), name, f"put aside, goes on ungated: {why}")

    def rebuild(self, trouble: str) -> list[QueryTrouble]:
        """Begin anew after an error: what was learnt may be what is wrong."""
        self.rebuilt, self.trouble = self.rebuilt + 1, trouble
        self.journal.note(self.clock.now(), "", f"the controller has failed and begins anew: {trouble}")
        return self._begin_anew()

    def _begin_anew(self) -> list[QueryTrouble]:
        """Every query as after its restart; who stood at the gate, stands there. How far logs have come is kept, since
        windows wait for it. Returns what went wrong with single queries."""
        before, failed = dict(self.queries), []
        self.queries.clear()
        for name, old in before.items():
            if old.running and old.granted_at is not None:
                self._afloat[name] = old.granted_at
            try:
                self.queries[name] = fresh = self._tracker(old.spec)
            except Exception as error:
                self.queries[name] = old
                failed.append(QueryTrouble(name))
                failed[-1].__cause__ = error
                continue
            self.roll.keep_counts(old)
            fresh.refusing = old.refusing  # by which the batch that runs refuses rows
            if old.waiting_since is not None:
                fresh.asked(self.clock.now(), old.start)
        self.capacity.begin_anew()
        self.views.begin_anew()
        self.kernel.forget_said()
        return failed

    def _tracker(self, spec: QuerySpec) -> QueryTracker:
        tracker = QueryTracker(spec, order_declares(self.policy).confidence or CONFIDENCE)
        tracker.skew_ms = self._steps.skew_ms()  # its first report may be of a batch that nobody let through
        self._drop_questions(spec.name)
        for question in (questions := tracker.questions()):
            self.kernel.add(question)
        self._asked[spec.name] = tuple(question.key for question in questions)
        return tracker

    def _drop_questions(self, name: str) -> None:
        for question in self._asked.pop(name, ()):
            self.kernel.drop(*question)

    def status(self) -> RuntimeStatus:
        """How things stand. For this thread; others ask with `look`."""
        return RuntimeStatus(
            self.clock.now(), type(self.policy).__name__, self.slots_now, self.roll.all(self.queries, self._afloat),
            self.rebuilt, self.trouble, self._steps.said, self.slots.cores, self.watch.count, self.watch.total_ms,
        )  # fmt: skip

    def turn(self) -> WallMs:
        """Decide until nobody else may run; returns when to look again."""
        self._take_posted()
        self.capacity.read_gauge(self.clock.now())
        for name in self._drains.settle(self.queries, self._afloat):
            self._leave(name, "ended")
        while isinstance(decided := self.tick(), Grant):
            pass
        later = WallMs(self.clock.now() + GAUGE_EVERY_MS)
        return later if decided is None else min(decided.until, later)

    @property
    def _full(self) -> bool:
        afloat = sum(not self.queries[name].stalled for name in self._afloat)
        return self.views.running + afloat >= self.slots_now

    def tick(self) -> Decision | None:
        """Whose batch runs next? None if nobody's may, whoever was chosen."""
        question = order(self.policy, self.guards, self._next_view, self._apply)
        return self.kernel.ask(question, self.clock.now())

    def _next_view(self, now: WallMs) -> Snapshot | None:
        # Asking the policy would only cost: whatever it wished, a guard would refuse.
        return None if self._drains.all or self._full else self.snapshot(now)

    def snapshot(self, now: WallMs) -> Snapshot:
        return self.views.snapshot(now, self.slots_now, self.capacity.pressure.view())

    def _apply(self, decided: Decision, now: WallMs) -> str:
        if isinstance(decided, Hold):
            return "held"
        tracker = self.queries[decided.query]
        self.capacity.began(decided.query, self.views.running + 1)
        try:
            tracker.skew_ms = self._steps.skew_ms()
            offset = tracker.granted(now, decided.announce)
            self.views.changed(decided.query)
            if self.actuator.release(decided.query, offset):
                self.roll.granted(decided.query, decided.because)
                return "granted"
        except Exception as error:
            raise QueryTrouble(decided.query) from error
        self._leave(decided.query, "ended")
        return "refused: the query is gone"
