"""A script played in virtual time: modelled Spark, the real control source, and the real controller between them."""

import contextlib
import io
import traceback
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from headway.loop.controller import Controller
from headway.model.decision import OrderPolicy
from headway.model.message import Asked, BatchSeen, Gone, Message, Started
from headway.model.offset import ControlOffset
from headway.model.status import RuntimeStatus
from headway.model.time import EventMs, VirtualClock, WallMs
from headway.policy.load import order_policy
from headway.sim.agenda import Agenda
from headway.sim.microbatch import NoJournal
from headway_lab.experiments.scripts.virtual.engine import BatchResult, ModelRow, PlannedBatch, SparkQuery
from headway_lab.experiments.scripts.virtual.line import LOST_MS, SHIFT_MS, VirtualLine
from headway_lab.experiments.scripts.virtual.reports import beyond, input_seen
from headway_lab.experiments.scripts.virtual.script import BASE, Action, Script, ScriptQuery, arrivals, kind_of
from headway_lab.experiments.scripts.virtual.trace import ArrivedRow, QueryTrace, ScriptTrace, SourceLook

STARTING_MS = 50  # until a started query asks
POLLING_MS = 10  # Spark's pause after it has found nothing to do
FRESH_EVERY_MS, FRESH_DELAY_MS = 500, 50  # rows after the script's end
CLOSING_MS = 10_000  # how long they come, and as long again for every query


@dataclass
class TwoClocks:
    """The machine's wall clock, which can be set, and its monotonic clock, which cannot."""

    true: VirtualClock
    off: int = 0  # how far the wall clock is ahead of true time
    followed: int = 0  # and how far the controller's own is

    def now(self) -> WallMs:
        """By the controller's own clock, which goes on as the monotonic clock does."""
        return WallMs(BASE + self.true.at + self.followed)

    def wall(self) -> WallMs:
        return WallMs(BASE + self.true.at + self.off)

    def skew_ms(self) -> int:
        return self.off - self.followed

    def follow_wall(self) -> None:
        self.followed = self.off


class PlayedController(Protocol):
    """What the world needs of a controller."""

    policy: OrderPolicy

    def take(self, message: Message) -> None: ...
    def turn(self) -> WallMs: ...
    def rebuild(self, trouble: str) -> object: ...
    def status(self) -> RuntimeStatus: ...


Maker = Callable[["ScriptWorld"], PlayedController]


def real(world: "ScriptWorld") -> PlayedController:
    """The controller that users run."""
    return Controller(world.clock, order_policy(world.policy), world, NoJournal(), world, slots=world.script.slots)


@dataclass
class _QueryState:
    """Where one query stands."""

    query: ScriptQuery
    kept: QueryTrace
    line: VirtualLine
    times: dict[str, list[int]]  # by input: when its rows come in
    run: int = 0
    up: bool = False
    waiting: ControlOffset | None = None  # at the gate, with everything up to here done
    asked_at: int = 0
    cut_until: int = 0
    known: bool = False  # the controller was told of it
    crash: str | None = None  # when its next batch dies
    down_ms: int = 0
    faults: list[Action] = field(default_factory=list)  # of its next reports
    report: tuple[BatchSeen, SourceLook] | None = None  # not yet told
    told_from: int = 0  # reports come in the order of their batches: one that is delayed delays those after it
    ends: dict[str, int] | None = None  # how far a bounded run goes

    @property
    def spark(self) -> SparkQuery:
        return self.kept.spark

    @property
    def offset(self) -> ControlOffset:
        end = self.spark.offsets
        return ControlOffset() if end is None else end["control"]


class ScriptWorld:
    """Plays one script. It is the controller's clock, actuator and gauge."""

    def __init__(self, script: Script, make: Maker = real) -> None:
        self.script, self.policy, self._make = script, script.policy, make
        self.agenda = Agenda()
        self.clock = TwoClocks(self.agenda.clock)
        self.trace = ScriptTrace(script, {})
        self.lives: dict[str, _QueryState] = {}
        self.mind: PlayedController | None = make(self)
        self._unheard: list[Message] | None = None  # while it begins anew
        closing = script.length_ms + CLOSING_MS * (2 + len(script.queries)) + 3 * max(q.trigger_ms for q in script.queries)
        self.trace.end = BASE + closing
        key = 0
        for query in script.queries:
            rows = {i.name: _rows(script, query, i.name, closing) for i in query.inputs}
            for of_input in rows.values():
                of_input[:] = [replace(row, key=(key := key + 1)) for row in of_input]
            spark = SparkQuery(query.windows, {i.name: SHIFT_MS for i in query.inputs}, query.mode)
            kept = self.trace.queries[query.name] = QueryTrace(spark, rows, last=query)
            times = {name: [row.at for row in of_input] for name, of_input in rows.items()}
            self.lives[query.name] = life = _QueryState(query, kept, VirtualLine(), times)
            self.agenda.at(query.starts_ms, lambda life=life: self._start(life, life.query))  # type: ignore[misc]
        for action in script.actions:
            if action["do"] not in ("rows", "stream"):
                self.agenda.at(action["at"], lambda action=action: self._do(action))  # type: ignore[misc]

    @property
    def now(self) -> int:
        """True time."""
        return BASE + self.agenda.clock.at

    def play(self) -> ScriptTrace:
        """All of it, or up to the first error of the controller."""
        with contextlib.redirect_stderr(io.StringIO()):  # the controller says loudly what a script does to it
            self._play()
        self._count()
        for life in self.lives.values():
            life.kept.last = life.query
        return self.trace

    def _play(self) -> None:
        wake, clock = 0, self.agenda.clock
        while (soon := min(wake, self.agenda.next_at if self.agenda.next_at is not None else wake)) <= self.trace.end - BASE:
            clock.at = max(clock.at, soon)
            try:
                self.agenda.run_due()
                again = self.mind.turn() - self.clock.now() if self.mind and self._unheard is None else 1_000
            except Exception as error:
                place = traceback.extract_tb(error.__traceback__)[-1]
                self.trace.raised.append(
                    f"{type(error).__name__}: {error} ({place.filename.rsplit('/', 1)[-1]}, {place.name})"
                )
                break
            wake = clock.at + max(1, min(again, 1_000))

    # ---- the controller's ports

    def release(self, query: str, offset: ControlOffset) -> bool:
        life = self.lives[query]
        if not life.up or life.waiting is None:
            return False
        start, life.waiting = life.waiting, None
        self._proceed(life, start, offset, gated=True)
        return True

    def cpu_ms(self) -> float:
        return 0.0

    def memory_used(self) -> float:
        return 0.0

    def parallelism(self) -> int | None:
        return None

    # ---- the life of a query

    def _start(self, life: _QueryState, query: ScriptQuery) -> None:
        life.query, life.up, life.run = query, True, life.run + 1
        life.kept.starts.append(self.now)
        life.ends = {i.name: self._arrived(life, i.name, self.now) for i in query.inputs} if query.bounded else None
        again = life.spark.restart({i.name: SHIFT_MS for i in query.inputs})
        life.line.starts({i.name: i.patience_ms for i in query.inputs})
        life.known = False
        self._introduce(life)
        if again is None:
            self._later(life, STARTING_MS, lambda: self._ask(life))
        else:
            look = next(look for look in reversed(life.kept.looks) if look.batch == again.batch)
            self._later(life, STARTING_MS, lambda: self._run(life, again, look, self.clock.wall()))

    def _introduce(self, life: _QueryState) -> None:
        if self.mind is not None and not life.known and self.now >= life.cut_until:
            life.known = True
            life.kept.anew.append(self.now)
            self._tell(Started(life.query.spec))

    def _later(self, life: _QueryState, ms: int, action: Callable[[], None]) -> None:
        """If it is still the same run then."""
        run = life.run
        self.agenda.at(self.agenda.clock.at + ms, lambda: action() if life.up and life.run == run else None)

    def _die(self, life: _QueryState, down_ms: int, settings: Mapping[str, Any]) -> None:
        """Stop it where it stands; it comes back later."""
        if not life.up:
            return
        life.up, life.waiting, life.report, life.told_from = False, None, None, 0
        life.kept.away.append((self.now, self.now + down_ms + STARTING_MS))
        if life.known:
            self._tell(Gone(life.query.name))
        query = life.query.changed(dict(settings))
        self.agenda.at(self.agenda.clock.at + down_ms, lambda: self._start(life, query))

    def _ask(self, life: _QueryState) -> None:
        life.asked_at = self.now
        start = life.offset
        if self.now < life.cut_until:
            self._alone(life, start)
            return
        life.waiting = start
        if self.mind is not None:
            self._introduce(life)
            self._report(life)
            self._tell(Asked(life.query.name, start))

    def _alone(self, life: _QueryState, start: ControlOffset) -> None:
        """No gate can be reached: the control source goes on by itself, and tries again before each batch."""
        if (early := life.line.early_ms(start, self.now, self.clock.wall())) > 0:
            self._later(life, min(early, LOST_MS), lambda: self._ask(life))
        else:
            self._later(life, LOST_MS, lambda: self._proceed(life, start, life.line.by_rows(start), gated=False))

    def _next(self, life: _QueryState, pause_ms: int = 0) -> None:
        """Ask again. The user's own trigger is kept by the gate: Spark itself has none."""
        self._later(life, pause_ms, lambda: self._ask(life))

    def _arrived(self, life: _QueryState, name: str, at: int) -> int:
        return bisect_right(life.times[name], at)

    def _proceed(self, life: _QueryState, start: ControlOffset, end: ControlOffset, gated: bool) -> None:
        """The control source has answered: the other sources are asked, and Spark makes a batch of it or not."""
        query, at = life.query, life.asked_at if life.query.before_gate else self.now
        before = life.spark.offsets or {}
        upto: dict[str, int] = {}
        read: dict[str, list[ArrivedRow]] = {}
        left = False
        for i in query.inputs:
            first, there = before.get(i.name, 0), self._arrived(life, i.name, at)
            if life.ends is not None:
                there = min(there, max(first, life.ends[i.name]))
            upto[i.name] = there if i.limit is None else min(there, first + i.limit)
            left = left or upto[i.name] < there
            read[i.name] = life.kept.rows[i.name][first : upto[i.name]]
        wall, horizons = self.clock.wall(), {i.name: i.horizon_ms for i in query.inputs}
        taken = {n: [r for r in rows if not beyond(r.event, wall, horizons[n])] for n, rows in read.items()}
        look = SourceLook(query, life.run, at, self.now, wall, read, taken, start, end, gated, left)
        offsets = {"control": end, **upto}
        if not life.spark.wants(offsets):
            life.kept.looks.append(look)
            if life.ends is not None:
                self._end(life)
            else:
                self._next(life, self._polling_ms)
        elif life.crash == "before-log":
            life.crash = None
            self._die(life, life.down_ms, {})
        else:
            life.kept.looks.append(look)
            logged = life.spark.begin(offsets, wall)
            look.batch = logged.batch
            self._run(life, logged, look, wall)

    @property
    def _polling_ms(self) -> int:
        """Policies that let everybody through at once would poll a hundred times a second, and a script take seconds."""
        return POLLING_MS if self.policy in ("klink", "response-ratio") else 25 * POLLING_MS

    def _run(self, life: _QueryState, logged: PlannedBatch, look: SourceLook, began: WallMs) -> None:
        query = life.query
        rows = [ModelRow(row.key, row.input, row.event) for of_input in look.taken.values() for row in of_input]
        ran = life.spark.run(logged, rows, life.line.rows(look.start, look.end))
        took = query.fixed_ms + query.per_row_ms * sum(map(len, look.read.values()))
        crash, life.crash = life.crash, None
        if crash == "after-log":
            self._later(life, took // 2, lambda: self._die(life, life.down_ms, {}))
            return

        def over() -> None:
            life.spark.put_out(ran)
            if crash == "after-sink":
                self._die(life, life.down_ms, {})
            else:
                self._finish(life, look, ran, began, took)

        self._later(life, took, over)

    def _finish(self, life: _QueryState, look: SourceLook, ran: BatchResult, began: WallMs, took: int) -> None:
        life.spark.commit(ran)
        look.ran, look.done_at, look.done_run = ran, self.now, life.run
        seen = tuple(
            input_seen(i.name, [r.event for r in look.read[i.name]], look.wall, i.patience_ms, i.horizon_ms)
            for i in look.query.inputs
        )
        told = BatchSeen(
            life.query.name, ran.batch, began, WallMs(began + took), took,
            rows=sum(i.rows for i in seen) + (look.announced is not None) * len(seen),
            watermark=EventMs(ran.swept) if ran.swept > 0 else None, inputs=seen,
            state_rows=len(life.spark.state), state_updated=len({end for end, _ in ran.kept}),
            dropped=len({end for end, _ in ran.refused}), left=look.left,
        )  # fmt: skip
        life.report = (told, look)
        life.line.looks(seen)
        self._next(life)

    def _report(self, life: _QueryState) -> None:
        """Tell of the last batch, once; unless the script has it otherwise."""
        if life.report is None:
            return
        (told, look), life.report = life.report, None
        fault: Action = life.faults.pop(0) if life.faults else {"how": "tell"}
        if fault["how"] == "drop":
            return
        if fault["how"] == "delay":
            life.told_from = self.now + fault["by"]

        def tell() -> None:
            for _ in range(2 if fault["how"] == "repeat" else 1):
                self._told(told, look)

        if life.told_from > self.now:
            self._later(life, life.told_from - self.now, tell)
        else:
            tell()

    def _told(self, told: BatchSeen, look: SourceLook) -> None:
        if self.mind is not None:
            self._tell(told)
            look.told_at = self.now

    def _end(self, life: _QueryState) -> None:
        life.up, life.kept.ended = False, True
        self._tell(Gone(life.query.name))

    def _tell(self, message: Message) -> None:
        if self._unheard is not None:
            self._unheard.append(message)
        elif self.mind is not None:
            self.mind.take(message)

    # ---- what the script has in store

    def _do(self, action: Action) -> None:
        life = self.lives[action["query"]] if "query" in action else None
        match action["do"]:
            case "restart" if life is not None:
                self._die(life, action["down"], action.get("settings", {}))
            case "crash" if life is not None:
                life.crash, life.down_ms = action["when"], action["down"]
            case "hang-up" if life is not None and life.up:
                self._hang_up(life, action["down"])
            case "report" if life is not None:
                life.faults.append(action)
            case "driver":
                self._lose_driver(action["down"])
            case "controller":
                self._lose_controller(action["down"])
            case "step":
                self.clock.off += action["by"]
                self.trace.steps.append((self.now, self.clock.off))
            case "policy":
                self.policy = action["name"]
                if self.mind is not None:
                    self.mind.policy = order_policy(self.policy)

    def _hang_up(self, life: _QueryState, ms: int) -> None:
        life.cut_until = max(life.cut_until, self.now + ms)
        if life.known:
            life.known = False
            self._tell(Gone(life.query.name))
        if life.waiting is not None:
            start, life.waiting = life.waiting, None
            self._alone(life, start)

    def _lose_controller(self, down_ms: int) -> None:
        """It fails: messages wait until it has begun anew."""
        if self.mind is None or self._unheard is not None:
            return
        self._unheard = []
        for life in self.lives.values():
            life.kept.away.append((self.now, self.now + down_ms))
        mind = self.mind
        self.agenda.at(self.agenda.clock.at + down_ms, lambda: self._rebuild(mind))

    def _rebuild(self, mind: PlayedController) -> None:
        if self.mind is not mind:  # the driver has died meanwhile
            return
        unheard, self._unheard = self._unheard or [], None
        mind.rebuild("the script says so")
        for life in self.lives.values():
            life.kept.anew.append(self.now)
        for message in unheard:
            self._tell(message)

    def _lose_driver(self, down_ms: int) -> None:
        """Nothing is left of the controller; a new one begins by the wall clock, and is told of queries as they start."""
        self._count()
        self.mind, self._unheard = None, None
        for life in self.lives.values():
            life.known = False
            if not life.up:  # it may come back before the controller does
                life.kept.away.append((self.now, self.now + down_ms + STARTING_MS))
            self._die(life, down_ms, {})

        def begin() -> None:
            if self.mind is None:
                self.clock.follow_wall()
                self.mind = self._make(self)
                for life in self.lives.values():
                    if life.up:  # it was down when the driver died, and was started before the controller was there
                        self._introduce(life)
                    if life.up and life.waiting is not None:
                        self._tell(Asked(life.query.name, life.waiting))

        self.agenda.at(self.agenda.clock.at + down_ms, begin)

    def _count(self) -> None:
        """Write down what users are told of rows that are in no result, before it is forgotten."""
        for query in () if self.mind is None else self.mind.status().queries:
            for told in query.inputs:
                sums = self.trace.counted.setdefault((query.name, told.name), {"late": 0, "timeless": 0, "future": 0})
                for reason in sums:
                    sums[reason] += getattr(told, reason)


def _rows(script: Script, query: ScriptQuery, name: str, closing_ms: int) -> list[ArrivedRow]:
    """All rows of one input, in the order in which its source has them: by arrival."""
    given = [a for a in script.actions if a.get("query") == query.name and a.get("input") == name]
    skew = next(i.skew_ms for i in query.inputs if i.name == name)
    last = range(script.length_ms, 0 if query.bounded else closing_ms, FRESH_EVERY_MS)
    found = [(at, event, kind_of(a)) for a in given for at, event in arrivals(a)]
    found += [(at, at - FRESH_DELAY_MS + skew, "fresh") for at in last]
    return [
        ArrivedRow(0, query.name, name, BASE + at, None if event is None else BASE + event, kind)
        for at, event, kind in sorted(found, key=lambda row: row[0])
    ]
