"""The loop that runs everything: one thread reads messages, asks the policy, and answers the gate."""

import contextlib
import queue
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import thread_time
from typing import Literal, Protocol

from headway.estimate.pressure import Pressure
from headway.estimate.slots import Slots
from headway.loop.guards import STANDARD, Guard
from headway.loop.partitions import Partitions
from headway.loop.tracker import Aside, QueryTracker, at_once
from headway.model.columns import Columns
from headway.model.decision import Decision, Grant, Hold, OrderPolicy
from headway.model.message import Asked, BatchSeen, Gone, Message, QuerySpec, Reached, Started
from headway.model.time import STEP_MS, Clock, WallMs
from headway.model.view import QueryView, Snapshot


class Actuator(Protocol):
    """Makes a grant true. False means that the query is gone, which is an answer and not a failure."""

    def release(self, query: str, offset: dict[str, int]) -> bool: ...


class Gauge(Protocol):
    """The host's own figures, read now and then."""

    def cpu_ms(self) -> float:
        """Processor time that the engine has used so far."""
        ...

    def memory_used(self) -> float:
        """The share of the engine's memory that is in use."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the journal: what was seen, wished, decided and done."""

    at: WallMs
    seen: Snapshot
    proposed: Decision
    decided: Decision
    receipt: str


class Log(Protocol):
    def append(self, entry: Entry) -> None: ...
    def batch(self, seen: BatchSeen, view: QueryView) -> None: ...
    def note(self, at: WallMs, query: str, text: str) -> None: ...


class StopWatch:
    """How much processor time decisions take, all in all: our own overhead."""

    def __init__(self) -> None:
        self.total_ms, self.count, self._since = 0.0, 0, 0.0

    def start(self) -> None:
        self._since = thread_time()

    def stop(self) -> None:
        self.total_ms += (thread_time() - self._since) * 1000
        self.count += 1


GAUGE_EVERY_MS = 1_000
SAME_MS = 50  # holds whose ends are no further apart say the same


class Controller:
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
        guards: tuple[Guard, ...] = STANDARD,
        pressure: Pressure | None = None,
        aside: Aside = at_once,
    ) -> None:
        """`aside` runs what takes too long for this thread, such as learning from the past."""
        self.clock, self.policy, self.actuator, self.journal = clock, policy, actuator, journal
        self.gauge, self.guards, self.watch = gauge, guards, StopWatch()
        self._aside = aside
        self.queries: dict[str, QueryTracker] = {}
        self.pressure = pressure or Pressure()
        self.slots = Slots(cores, least=cores if one_task else 1)
        self.fix_slots(slots)
        self.logs: dict[str, Partitions] = {}
        self._inbox: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._gauged: tuple[WallMs, float, int] | None = None
        self._batches = 0
        self._at_once: dict[str, int] = {}  # how many batches ran when this one began
        self._said: Decision | None = None
        self._draining = False
        self._skew = 0  # by how much the wall clock was set, when we last looked
        self._idle = threading.Event()
        self._views: list[QueryView] = []  # of all queries, as of the last look, and the same as columns
        self._rows: dict[str, int] = {}
        self._columns: Columns | None = None  # None: queries have come or gone
        self._changed: set[str] = set()

    def fix_slots(self, slots: int | Literal["auto"]) -> None:
        """From now on so many batches at once, or as many as fill the cores."""
        self._fixed_slots = None if slots == "auto" else slots

    def post(self, message: Message) -> None:
        """Put a message into the inbox; any thread may."""
        self._inbox.put(message)

    def stop(self) -> None:
        self._inbox.put(None)

    def drain(self, timeout_s: float) -> bool:
        """Grant nothing more, and wait until no batch runs; False if one still does."""
        self._draining = True
        self.post(Gone(""))  # wake up
        return self._idle.wait(timeout_s)

    def run(self, failed: Callable[[BaseException], None]) -> None:
        """Work until stopped. If a decision raises, say so and let go of the gate: queries must go on."""
        try:
            wait_s = 1.0
            while self._take_all(wait_s):
                wait_s = max(0.001, (self.turn() - self.clock.now()) / 1000)
        except BaseException as error:
            failed(error)

    def _take_all(self, wait_s: float) -> bool:
        """Take in what has come, or wait for it; False once we are told to stop."""
        with contextlib.suppress(queue.Empty):
            message = self._inbox.get(timeout=wait_s)
            while message is not None:
                self.take(message)
                # The report of a batch comes just before its query asks again: only then is there something to decide.
                message = self._inbox.get(timeout=0.05) if isinstance(message, BatchSeen) else self._inbox.get_nowait()
            return False
        return True

    def thread(self, failed: Callable[[BaseException], None]) -> threading.Thread:
        thread = threading.Thread(target=self.run, args=(failed,), name="headway-controller", daemon=True)
        thread.start()
        return thread

    def take(self, message: Message) -> None:
        """Update what is known."""
        now = self.clock.now()
        match message:
            case Started(spec=spec):
                again = spec.name in self.queries
                self.queries[spec.name] = tracker = self._tracker(spec)
                if again or self._columns is None:
                    self._columns = None
                else:
                    self._rows[spec.name] = len(self._views)
                    self._views.append(view := tracker.view())
                    self._columns = self._columns.grown(view)
            case Gone(query=name):
                self._columns = None
                if self.queries.pop(name, None) is not None:
                    self.journal.note(now, name, "left: stopped or failed")
            case Asked(query=name, start=start) if name in self.queries:
                tracker = self.queries[name]
                at_once = self._at_once.pop(name, 0)
                # A grant that found no rows ran no batch: it says nothing about what a batch takes.
                if at_once and tracker.granted_at is not None and tracker.ran:
                    self.slots = self.slots.add_batch(now - tracker.granted_at, max(at_once, self._running))
                tracker.asked(now, start)
                self._changed.add(name)
            case BatchSeen(query=name) if name in self.queries:
                self._changed.add(name)
                self._batches += 1
                skew = self._clock_set(now)
                ours = replace(message, began=WallMs(message.began - skew), ended=WallMs(message.ended - skew))
                tracker = self.queries[name]
                if trouble := tracker.saw(ours, skew):
                    self.journal.note(now, name, trouble)
                self.journal.batch(ours, tracker.view())
                if any(i.wall_is_right for i in tracker.inputs.values()):
                    self._follow_wall(skew)
            case Reached(source=source):
                log = self.logs.setdefault(source, Partitions())
                log.reached(replace(message, at=WallMs(message.at - self._clock_set(now))))
                for name, tracker in self.queries.items():
                    changed, news = tracker.reached(source, log)
                    if changed:
                        self._changed.add(name)
                    if news:
                        self.journal.note(now, name, news)
            case _:
                pass

    def _clock_set(self, now: WallMs) -> int:
        """By how much the wall clock has been set since we looked at it first; what Spark and brokers say is by that."""
        skew = self.clock.skew_ms()
        if abs(skew - self._skew) >= STEP_MS or (self._skew and not skew):
            self._skew = skew
            text = f"the wall clock was set by {skew / 1000:+,.1f} s: time goes on as before until rows agree with it"
            self.journal.note(now, "", text)
            sys.stderr.write(f"headway: {text}\n")
        return skew

    def _follow_wall(self, skew: int) -> None:
        """Rows agree with the wall clock, and not with ours, which was wrong from the start: begin anew by that."""
        self.clock.follow_wall()
        self._skew = 0
        now = self.clock.now()
        text = f"rows agree with the wall clock, which was set by {skew / 1000:+,.1f} s: it is followed"
        self.journal.note(now, "", text)
        sys.stderr.write(f"headway: {text}\n")
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget all but which queries there are and who stands at the gate, as after a restart of theirs."""
        now, before = self.clock.now(), self.queries
        self.queries, self.logs, self._columns, self._at_once = {}, {}, None, {}
        for name, old in before.items():
            self.queries[name] = new = self._tracker(old.spec)
            new.keep_counts(old)
            if old.waiting_since is not None:
                new.asked(now, old.start)

    def _tracker(self, spec: QuerySpec) -> QueryTracker:
        return QueryTracker(spec, getattr(self.policy, "confidence", 0.95), self._aside)

    def turn(self) -> WallMs:
        """Decide until nobody else may run; returns when to look again."""
        self._read_gauge(self.clock.now())
        while True:
            if self._draining:
                if not self._running:
                    self._idle.set()
                return WallMs(self.clock.now() + GAUGE_EVERY_MS)
            if self._full:  # asking the policy would only cost: whatever it wished, a guard would refuse
                return WallMs(self.clock.now() + GAUGE_EVERY_MS)
            decided = self.tick()
            if isinstance(decided, Hold):
                return min(decided.until, WallMs(self.clock.now() + GAUGE_EVERY_MS))

    @property
    def slots_now(self) -> int:
        return self._fixed_slots or self.slots.best

    @property
    def _running(self) -> int:
        return int(self._look().running.sum())

    @property
    def _full(self) -> bool:
        return self._running >= self.slots_now

    def tick(self) -> Decision:
        now = self.clock.now()
        self.watch.start()
        seen = self.snapshot(now)
        proposed = decided = self.policy.decide(seen)
        for guard in self.guards:
            decided = guard(decided, seen)
        self.watch.stop()
        receipt = self._apply(decided, now)
        if _news(decided, self._said):
            self.journal.append(Entry(now, seen, proposed, decided, receipt))
        self._said = decided
        return decided

    def snapshot(self, now: WallMs) -> Snapshot:
        columns = self._look().copy()
        return Snapshot.kept(now, self._views, self.slots_now, self.pressure.view(), columns, self._rows)

    def _look(self) -> Columns:
        """Bring views and columns up to date: between two decisions one or two queries change, of thousands."""
        if self._columns is None:
            self._views = [q.view() for q in self.queries.values()]
            self._rows = {name: row for row, name in enumerate(self.queries)}
            self._columns = Columns.of(self._views)
        else:
            for name in self._changed:
                if name in self._rows:
                    row = self._rows[name]
                    self._views[row] = view = self.queries[name].view()
                    self._columns.put(row, view)
        self._changed.clear()
        return self._columns

    def _apply(self, decided: Decision, now: WallMs) -> str:
        if isinstance(decided, Hold):
            return "held"
        tracker = self.queries[decided.query]
        self._at_once[decided.query] = self._running + 1
        offset = tracker.granted(now, decided.announce)
        self._changed.add(decided.query)
        if self.actuator.release(decided.query, offset):
            return "granted"
        del self.queries[decided.query]
        self._columns = None
        return "refused: the query is gone"

    def _read_gauge(self, now: WallMs) -> None:
        last = self._gauged
        if last is not None and now - last[0] < GAUGE_EVERY_MS:
            return
        cpu_ms = self.gauge.cpu_ms()
        if last is not None and self._batches > last[2]:
            self.slots = self.slots.add_cpu(cpu_ms - last[1], self._batches - last[2])
        self.pressure = self.pressure.step(now, self.gauge.memory_used())
        self._gauged = (now, cpu_ms, self._batches)


def _news(decided: Decision, said: Decision | None) -> bool:
    """A grant always is; a hold only if it ends at another time than the hold before, estimates being estimates."""
    if isinstance(decided, Grant) or not isinstance(said, Hold):
        return True
    return decided.because != said.because and abs(decided.until - said.until) > SAME_MS
