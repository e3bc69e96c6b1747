"""The life of a query in a script: it starts, asks at the gate, runs batches, dies, and comes back."""

from collections.abc import Callable, Mapping
from typing import Any

from headway.model.message import Asked, BatchSeen, Gone, Started
from headway.model.offset import ControlOffset
from headway.model.time import EventMs, WallMs
from headway.sim.agenda import Agenda
from headway_lab.experiments.scripts.virtual.engine import BatchResult, ModelRow, PlannedBatch, SparkQuery
from headway_lab.experiments.scripts.virtual.host import ControllerHost
from headway_lab.experiments.scripts.virtual.line import LOST_MS, SHIFT_MS, VirtualLine
from headway_lab.experiments.scripts.virtual.report_delivery import ReportDelivery
from headway_lab.experiments.scripts.virtual.reports import beyond_horizon, input_seen
from headway_lab.experiments.scripts.virtual.script import ScriptQuery
from headway_lab.experiments.scripts.virtual.sources import ScriptSources
from headway_lab.experiments.scripts.virtual.trace import QueryTrace, SourceLook
from headway_lab.experiments.scripts.virtual.two_clocks import TwoClocks

STARTING_MS = 50  # until a started query asks


class QueryLife:
    """One query: modelled Spark, the real control source, and what is written down of them."""

    def __init__(
        self, query: ScriptQuery, sources: ScriptSources, agenda: Agenda, clock: TwoClocks, host: ControllerHost
    ) -> None:
        self.query, self.up = query, False
        self.waiting: ControlOffset | None = None  # at the gate, with everything up to here done
        self.known = False  # the controller was told of it
        self.crash: str | None = None  # when its next batch dies
        self.down_ms = 0  # and for how long
        self.spark = SparkQuery(query.windows, {i.name: SHIFT_MS for i in query.inputs}, query.mode)
        self.trace = QueryTrace(self.spark, sources.rows, last=query)
        self.reports = ReportDelivery(clock, host)
        self._line = VirtualLine()
        self._sources, self._agenda, self._clock, self._host = sources, agenda, clock, host
        self._run_number = 0
        self._asked_at = self._cut_until = 0
        self._ends: dict[str, int] | None = None  # how far a bounded run goes

    @property
    def offset(self) -> ControlOffset:
        end = self.spark.offsets
        return ControlOffset() if end is None else end["control"]

    def start(self, query: ScriptQuery) -> None:
        """Begin a run with these settings, where the logs end."""
        now = self._clock.true_ms
        self.query, self.up, self._run_number = query, True, self._run_number + 1
        self.trace.starts.append(now)
        self._ends = {i.name: self._sources.arrived(i.name, now) for i in query.inputs} if query.bounded else None
        again = self.spark.restart({i.name: SHIFT_MS for i in query.inputs})
        self._line.starts({i.name: i.patience_ms for i in query.inputs})
        self.known = False
        self.introduce()
        if again is None:
            self._later(STARTING_MS, self._ask)
        else:
            look = next(look for look in reversed(self.trace.looks) if look.batch == again.batch)
            self._later(STARTING_MS, lambda: self._run(again, look, self._clock.wall()))

    def introduce(self) -> None:
        """Tell the controller of the query, unless it knows or cannot be reached."""
        if self._host.controller is not None and not self.known and self._clock.true_ms >= self._cut_until:
            self.known = True
            self.trace.anew.append(self._clock.true_ms)
            self._host.tell(Started(self.query.spec))

    def die(self, down_ms: int, settings: Mapping[str, Any]) -> None:
        """Stop it where it stands; it comes back later, with these settings changed."""
        if not self.up:
            return
        self.up, self.waiting = False, None
        self.reports.forget()
        self.trace.away.append((self._clock.true_ms, self._clock.true_ms + down_ms + STARTING_MS))
        if self.known:
            self._host.tell(Gone(self.query.name))
        query = self.query.changed(dict(settings))
        self._agenda.at(self._agenda.clock.at + down_ms, lambda: self.start(query))

    def hang_up(self, ms: int) -> None:
        """Its line to the gate is cut for so long."""
        self._cut_until = max(self._cut_until, self._clock.true_ms + ms)
        if self.known:
            self.known = False
            self._host.tell(Gone(self.query.name))
        if self.waiting is not None:
            start, self.waiting = self.waiting, None
            self._go_on_alone(start)

    def let_through(self, offset: ControlOffset) -> bool:
        """The gate opens, if it waits there."""
        if not self.up or self.waiting is None:
            return False
        start, self.waiting = self.waiting, None
        self._proceed(start, offset, gated=True)
        return True

    def _later(self, ms: int, action: Callable[[], None]) -> None:
        """If it is still the same run then."""
        run = self._run_number
        self._agenda.at(self._agenda.clock.at + ms, lambda: action() if self.up and self._run_number == run else None)

    def _ask(self) -> None:
        """The user's own trigger is kept by the gate: Spark itself has none."""
        self._asked_at = self._clock.true_ms
        start = self.offset
        if self._clock.true_ms < self._cut_until:
            self._go_on_alone(start)
            return
        self.waiting = start
        if self._host.controller is not None:
            self.introduce()
            self.reports.deliver(self._later)
            self._host.tell(Asked(self.query.name, start))

    def _go_on_alone(self, start: ControlOffset) -> None:
        """No gate can be reached: the control source goes on by itself, and tries again before each batch."""
        if (early := self._line.early_ms(start, self._clock.true_ms, self._clock.wall())) > 0:
            self._later(min(early, LOST_MS), self._ask)
        else:
            self._later(LOST_MS, lambda: self._proceed(start, self._line.by_rows(start), gated=False))

    def _proceed(self, start: ControlOffset, end: ControlOffset, gated: bool) -> None:
        """The control source has answered: the other sources are asked, and Spark makes a batch of it or not."""
        query, now, wall = self.query, self._clock.true_ms, self._clock.wall()
        at = self._asked_at if query.before_gate else now
        handed = self._sources.hand_out(query, self.spark.offsets or {}, at, self._ends)
        horizons = {i.name: i.horizon_ms for i in query.inputs}
        taken = {n: [r for r in rows if not beyond_horizon(r.event, wall, horizons[n])] for n, rows in handed.read.items()}
        look = SourceLook(query, self._run_number, at, now, wall, handed.read, taken, start, end, gated, handed.left)
        offsets = {"control": end, **handed.upto}
        if not self.spark.wants(offsets):
            self.trace.looks.append(look)
            if self._ends is not None:
                self._end()
            else:
                self._later(self._host.polling_ms, self._ask)
        elif self.crash == "before-log":
            self.crash = None
            self.die(self.down_ms, {})
        else:
            self.trace.looks.append(look)
            planned = self.spark.begin(offsets, wall)
            look.batch = planned.batch
            self._run(planned, look, wall)

    def _run(self, planned: PlannedBatch, look: SourceLook, began: WallMs) -> None:
        rows = [ModelRow(row.key, row.input, row.event) for of_input in look.taken.values() for row in of_input]
        result = self.spark.run(planned, rows, self._line.rows(look.start, look.end))
        took = self.query.fixed_ms + self.query.per_row_ms * sum(map(len, look.read.values()))
        crash, self.crash = self.crash, None
        if crash == "after-log":
            self._later(took // 2, lambda: self.die(self.down_ms, {}))
            return

        def over() -> None:
            self.spark.put_out(result)
            if crash == "after-sink":
                self.die(self.down_ms, {})
            else:
                self._finish(look, result, began, took)

        self._later(took, over)

    def _finish(self, look: SourceLook, result: BatchResult, began: WallMs, took: int) -> None:
        self.spark.commit(result)
        look.ran, look.done_at, look.done_run = result, self._clock.true_ms, self._run_number
        seen = tuple(
            input_seen(i.name, [r.event for r in look.read[i.name]], look.wall, i.patience_ms, i.horizon_ms)
            for i in look.query.inputs
        )
        report = BatchSeen(
            self.query.name, result.batch, began, WallMs(began + took), took,
            rows=sum(i.rows for i in seen) + (look.announced is not None) * len(seen),
            watermark=EventMs(result.swept) if result.swept > 0 else None, inputs=seen,
            state_rows=len(self.spark.state), state_updated=len({end for end, _ in result.kept}),
            dropped=len({end for end, _ in result.refused}), left=look.left,
        )  # fmt: skip
        self.reports.finished(report, look)
        self._line.looks(seen)
        self._later(0, self._ask)

    def _end(self) -> None:
        """A bounded run is over."""
        self.up, self.trace.ended = False, True
        self._host.tell(Gone(self.query.name))
