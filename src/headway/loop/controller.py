"""The loop that runs everything: one thread reads messages, asks the policy, and answers the gate."""

from collections.abc import Hashable
from dataclasses import replace
from typing import Protocol

from headway.loop.capacity import GAUGE_EVERY_MS, Capacity
from headway.loop.clock_steps import ClockSteps
from headway.loop.drains import Drains
from headway.loop.guards import STANDARD
from headway.loop.inbox import Inbox
from headway.loop.kernel import Kernel, Log
from headway.loop.lessons import Background, Lessons, at_once
from headway.loop.partitions import Logs
from headway.loop.questions.order import StandingHold, order
from headway.loop.relayed import Relays
from headway.loop.roster import Roster
from headway.loop.tracker import QueryTracker
from headway.loop.trouble import QueryTrouble
from headway.model.decision import Decision, Grant, Guard, Hold, OrderPolicy
from headway.model.declared import order_declares
from headway.model.message import (
    Asked,
    BatchSeen,
    Drain,
    Failed,
    Gone,
    Heard,
    Learnt,
    Look,
    Message,
    QuerySpec,
    Reached,
    Relaying,
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

CONFIDENCE = 0.95  # with which the intervals of delays are kept for a policy that does not look at them


class Actuator(Protocol):
    """Makes a grant true. False means that the query is gone, which is an answer and not a failure."""

    def release(self, query: str, offset: ControlOffset) -> bool: ...


class Controller(Inbox):
    """Sees through messages, decides by a policy, acts through a gate, and writes everything down."""

    def __init__(
        self,
        clock: Clock,
        policy: OrderPolicy,
        actuator: Actuator,
        journal: Log,
        capacity: Capacity,
        guards: tuple[Guard, ...] = STANDARD,
        background: Background = at_once,
    ) -> None:
        """`background` runs what takes too long for this thread, such as learning from the past."""
        super().__init__(clock)
        self.policy, self.actuator, self.capacity, self.guards = policy, actuator, capacity, guards
        self.kernel = Kernel(journal)
        self.roster = Roster(clock, self.kernel, self._tracker)
        self.queries = self.roster.queries
        self.rebuilt = 0
        self.trouble: str | None = None  # for which it last was
        self._logs, self._relays = Logs(), Relays()
        self._lessons = Lessons(self.kernel, background, self.post)
        self._steps = ClockSteps(clock, lambda text: journal.note(clock.now(), "", text))
        self._drains = Drains()
        self._standing = StandingHold()

    def take(self, message: Message) -> None:
        """Update what is known by one message."""
        now, roster, journal = self.clock.now(), self.roster, self.kernel.journal
        match message:
            case Started(spec=spec):
                roster.started(spec)
            case Gone(query=name):
                if self._leave(name, "ended"):
                    journal.note(now, name, "left: stopped or failed")
            case Failed(query=name, error=error):
                journal.note(now, name, f"failed: {error}")
                if not self._leave(name, "failed", error):
                    roster.roll.failed(now, name, error)
            case Unreadable(query=name, why=why) if name in self.queries:
                raise QueryTrouble(name) from ValueError(why)
            case Asked(query=name, start=start) if name in self.queries:
                self._asked(self.queries[name], start)
            case BatchSeen(query=name) if name in self.queries:
                self._batch_seen(self.queries[name], message)
            case Learnt(query=name, by=by) if name in self.queries and self.queries[name].threshold is by:
                self._lessons.learnt(self.queries[name], message, now)
            case Stalled(query=name, granted_at=at) if (runs := roster.runs_since(name)) is not None and at in (None, runs):
                self.queries[name].told(stalled=True)
                self.capacity.forget(name)
                roster.views.changed(name)
                journal.note(now, name, "its batch keeps no core busy: its slot is lent")
            case Resumed(query=name) if name in self.queries:
                self.queries[name].told(stalled=False)
                roster.views.changed(name)
            case Use(order=policy, slots=slots, guards=guards):
                self.policy = policy or self.policy
                self.guards = self.guards if guards is None else guards
                if slots is not None:
                    self.capacity.fix(slots)
            case Look(reply=reply):
                reply(self.status())
            case Drain():
                self._drains.add(message)
            case Reached(source=source, at=at):
                ours = replace(message, at=WallMs(at - self._steps.skew_ms()))
                roster.reached(source, self._logs.reached(ours))
            case Heard(topic=topic):
                roster.heard(topic, self._relays.heard(message, now), now)
            case Relaying(query=name) if name in self.queries:
                self.queries[name].told(below=message)
                roster.views.changed(name)
            case _:
                pass

    def _asked(self, tracker: QueryTracker, start: ControlOffset) -> None:
        now, name = self.clock.now(), tracker.spec.name
        self.roster.afloat.pop(name, None)
        took_ms = now - tracker.granted_at if tracker.granted_at is not None and tracker.ran else None
        self.capacity.ended(name, took_ms, self.roster.views.running)
        tracker.asked(now, start)
        self.roster.views.changed(name)

    def _batch_seen(self, tracker: QueryTracker, message: BatchSeen) -> None:
        name, now = message.query, self.clock.now()
        self.roster.views.changed(name)
        self.capacity.batch()
        self._steps.skew_ms()
        skew = tracker.skew_ms
        ours = tracker.by_our_clock(message)
        if trouble := tracker.saw(ours, skew):
            self.kernel.journal.note(now, name, trouble)
        # Asked before the next message is taken in, which is read by what is decided now.
        self.roster.due(name)
        self.kernel.settle(now)
        self._lessons.give(tracker)
        self.roster.roll.batch(ours)
        self.kernel.journal.batch(ours, tracker.view())
        if self._steps.follow([i.agrees for i in tracker.inputs.values()], skew):
            self._logs.forget()  # they count by the clock that was wrong
            self._begin_anew()

    def _leave(self, name: str, state: State, error: str | None = None) -> bool:
        """A query is ours no longer; False if it was not before."""
        self.capacity.forget(name)
        return self.roster.leave(name, state, error)

    def put_aside(self, name: str, why: str) -> None:
        """A query goes on without the gate."""
        self._leave(name, "put aside", why)
        self.kernel.journal.note(self.clock.now(), name, f"put aside, goes on ungated: {why}")

    def rebuild(self, trouble: str) -> list[QueryTrouble]:
        """Begin anew after an error, which what was learnt may have caused. Returns the queries that cannot, and why."""
        self.rebuilt, self.trouble = self.rebuilt + 1, trouble
        self.kernel.journal.note(self.clock.now(), "", f"the controller has failed and begins anew: {trouble}")
        return self._begin_anew()

    def _begin_anew(self) -> list[QueryTrouble]:
        """How far logs have come is kept, since windows wait for it."""
        failed = self.roster.begin_anew()
        self.capacity.begin_anew()
        self.kernel.forget_said()
        return failed

    def _tracker(self, spec: QuerySpec) -> QueryTracker:
        tracker = QueryTracker(spec, order_declares(self.policy).confidence or CONFIDENCE, self._relays)
        tracker.skew_ms = self._steps.skew_ms()  # its first report may be of a batch that no grant led to
        return tracker

    def status(self) -> RuntimeStatus:
        """How things stand. For this thread; others ask with `look`."""
        capacity, watch = self.capacity, self.kernel.watch
        return RuntimeStatus(
            self.clock.now(), type(self.policy).__name__, capacity.now, self.roster.told(), self.rebuilt, self.trouble,
            self._steps.said, capacity.slots.cores, watch.count, watch.total_ms,
        )  # fmt: skip

    def turn(self) -> WallMs:
        """Decide until no other query may run; returns when to look again."""
        self._take_posted()
        self.capacity.read_gauge(self.clock.now())
        for source, log in self._logs.overdue(self.clock.now()):
            self.roster.reached(source, log)
        for name in self._drains.settle(self.clock.now(), self.queries, self.roster.afloat):
            self._leave(name, "ended")
        later = WallMs(self.clock.now() + GAUGE_EVERY_MS)
        self.kernel.watch.start()
        until = self._standing.until(self.clock.now(), _decided_by(self), self.roster.views.news())
        self.roster.views.told()
        self.kernel.watch.stop(asked=0)  # to see that nothing is to be asked is part of deciding
        if until is not None:
            return min(until, later)
        while isinstance(decided := self.tick(), Grant) and decided.then is None:
            pass
        self.roster.views.told()  # what this turn has changed itself
        self._standing.hold(decided, _decided_by(self), self.policy)
        until = decided.then if isinstance(decided, Grant) else None if decided is None else decided.until
        return later if until is None else min(until, later)

    def tick(self) -> Decision | None:
        """Which query runs its next batch? None if no query may run one, whatever a policy would choose."""
        return self.kernel.ask(order(self.policy, self.guards, self._next_view, self._apply), self.clock.now())

    def _next_view(self, now: WallMs) -> Snapshot | None:
        # Asking the policy would only cost: whatever it wished, a guard would refuse.
        return None if self._drains.all or self.roster.busy >= self.capacity.now else self.snapshot(now)

    def snapshot(self, now: WallMs) -> Snapshot:
        return self.roster.views.snapshot(now, self.capacity.now, self.capacity.memory)

    def _apply(self, decided: Decision, now: WallMs) -> str:
        if isinstance(decided, Hold):
            return "held"
        tracker, views = self.queries[decided.query], self.roster.views
        self.capacity.began(decided.query, views.running + 1)
        try:
            tracker.skew_ms = self._steps.skew_ms()
            offset = tracker.granted(now, decided.announce)
            views.changed(decided.query)
            if self.actuator.release(decided.query, offset):
                self.roster.roll.granted(decided.query, decided.because)
                return "granted"
        except Exception as error:
            raise QueryTrouble(decided.query) from error
        self._leave(decided.query, "ended")
        return "refused: the query is gone"


def _decided_by(it: Controller) -> Hashable:
    """What the order is decided by, besides the time: as long as this is the same, a hold stands."""
    return it.roster.views.version, it.capacity.now, it.capacity.memory.pressed, id(it.policy), id(it.guards)
