"""One incarnation on a node: it takes over, runs batch after batch, and ends. Each step is one that a pause may come before.

A file is made in two: whether this incarnation may still make files is looked up first, and the file appears later. So one
that is frozen in between makes it all the same, as in real file systems.
"""

from collections.abc import Callable
from random import Random
from typing import Protocol

from headway.fleet.moves.messages import Copied, Drained, DrainQuery, Receipt, RunFailed, Running, TakeOver
from headway.sim.fleet_faults.disk import CheckpointFolder, ModelDisk, PlannedRows
from headway.sim.fleet_faults.network import Host
from headway.sim.fleet_faults.session import StoreClient

GATE_MS = 150  # between two looks of a query that stands at its gate
BATCH_MS = 3_000  # for the batch that runs when its query is stopped
MOMENTS_MS = (1, 5, 600)  # how long it takes until the moment to drain is good
Reply = Callable[[Receipt], None]


class RunWorld(Protocol):
    """What a run needs of the world."""

    plans_come_along: bool  # False: whether anybody notices
    disk: ModelDisk
    dice: Random
    broken: frozenset[tuple[str, str]]  # a query, and a node on which its launch fails
    spreads_between_batches: bool  # False: whether anybody notices

    def rows_there(self, query: str) -> int:
        """That have come in by now."""
        ...

    def dies_in(self, pipeline: str) -> int | None:
        """The batch of a life in which this code dies; 0 if it never commits any; None if it is sound."""
        ...

    def batch_begins(self, run: "IncarnationRun") -> None:
        """For the laws."""
        ...

    def ends_for(self, run: "IncarnationRun", move: str) -> None:
        """For the laws, too."""
        ...


class IncarnationRun:
    """A life of a query on a node. `state` is taking, ready, running, draining or over."""

    def __init__(
        self, told: TakeOver, host: Host, client: StoreClient, world: RunWorld, release: Callable[["IncarnationRun"], None]
    ) -> None:
        self.query, self.epoch, self.pipeline = told.query, told.epoch, told.revision.pipeline
        self.told, self.host, self.client, self._world = told, host, client, world
        self.session, self._release = client.number, release
        self.state, self.trouble, self.released = "taking", "", False
        self.granted: bool | None = None  # the lease; None until the store has answered
        self.commits, self.awaited, self.in_batch = 0, 1, False
        self.reply: Reply = lambda receipt: None  # to the caller that asked last
        self.drain: DrainQuery | None = None
        self._steps = BatchSteps(self, world)
        self._attempt, self._turn = 0, 0  # what was planned before an interruption, or for an earlier turn, does not happen
        self._ends: str | None = None  # why it ends as soon as its batch is done

    @property
    def folder(self) -> CheckpointFolder:
        return self._world.disk.folder(self.told.folder)

    def later(self, low: int, high: int, event: Callable[[], None]) -> None:
        attempt = self._attempt
        self.host.later(self._world.dice.randrange(low, high), lambda: event() if attempt == self._attempt else None)

    def to_gate(self, low: int, high: int) -> None:
        self._turn += 1
        turn = self._turn
        self.later(low, high, lambda: self._gate() if turn == self._turn else None)

    # ---- what it is told

    def start(self, commits: int) -> None:
        """Only with the lease that it was taken over under."""
        self.awaited = commits
        if self.state == "ready" and self.client.number != self.session:
            self.over("the session is lost")
            return
        if self.state == "ready":
            self.state = "running"
            self.to_gate(20, 150)
        self.answer()

    def answer(self) -> None:
        """How it stands. One that is over says so when its lease is released."""
        if self.state == "ready":
            self.reply(Copied(self.query, self.epoch))
        elif self.state in ("running", "draining"):
            self.reply(Running(self.query, self.epoch, self.commits))
        elif self.state == "over" and self.released:
            drained = self.drain
            if drained is None:
                self.reply(RunFailed(self.query, self.epoch, self.trouble))
            else:
                self.reply(Drained(self.query, drained.move, self.epoch))

    def drain_for(self, told: DrainQuery) -> None:
        if self.state not in ("running", "draining"):
            self.answer()
            return
        self.state, self.drain = "draining", told
        if told.at_once and self.in_batch:
            self._interrupt()
        if not self.in_batch:
            self.to_gate(1, 20)

    def spare(self) -> bool:
        """Whether it goes on. What it was told before comes too late now: the record has another version."""
        if self.state == "draining":
            self.state, self.drain = "running", None
            self.to_gate(1, 20)
        return self.state == "running"

    def end(self, because: str, at_once: bool = True) -> None:
        """Break off whatever it does; or let its batch be done, for a while."""
        if self.in_batch and not at_once:
            self._ends = because
            self.later(BATCH_MS, BATCH_MS + 1, lambda: self.end(because))
        elif self.state != "over":
            self._interrupt()
            self.over(because)

    def _interrupt(self) -> None:
        """What the batch has logged stays."""
        self._attempt += 1
        self.in_batch = False

    def over(self, because: str) -> None:
        if self.state != "over":
            if self.state == "draining" and because != "drained":
                self.drain = None
            self.state, self.trouble, self.in_batch = "over", because, False
            self._release(self)

    # ---- between two batches

    def _gate(self) -> None:
        if self.state not in ("running", "draining") or self.in_batch:
            return
        if self._ends is not None:
            self.over(self._ends)
        elif self.client.number != self.session:
            self.over("the session is lost")
        elif self.drain is not None:
            wait = 1 if self.drain.at_once else self._world.dice.choice(MOMENTS_MS)
            self._turn += 1
            turn = self._turn
            self.later(wait, wait + 5, lambda: self._drained() if turn == self._turn else None)
        elif self.client.sure:
            self._steps.begin()
        else:
            self.to_gate(GATE_MS, GATE_MS + 1)

    def _drained(self) -> None:
        if self.drain is not None and self.state == "draining":
            self._world.ends_for(self, self.drain.move)
            self._world.disk.sinks[self.query].raise_epoch(self.drain.next_epoch)
            self.over("drained")


class BatchSteps:
    """One batch after the other: planned, computed, put out, committed."""

    def __init__(self, run: IncarnationRun, world: RunWorld) -> None:
        self._run, self._world = run, world

    def begin(self) -> None:
        run, own, world = self._run, self._run.folder, self._world
        batch, there = own.committed + 1, world.rows_there(self._run.query)
        if batch not in own.planned and there == own.upto and self._run.commits:
            self._run.to_gate(GATE_MS, GATE_MS + 1)
            return
        world.batch_begins(run)
        self._run.in_batch = True
        if batch in own.planned:
            self._run.later(5, 20, lambda: self._compute(batch))
        elif self._may_make_files():
            self._run.later(5, 20, lambda: self._log(batch, PlannedRows(own.upto, there)))

    def _may_make_files(self) -> bool:
        if self._run.folder.closed:
            self._world.disk.refused += 1
            self._run.over("a later incarnation has closed its folder")
        return not self._run.folder.closed

    def _log(self, batch: int, rows: PlannedRows) -> None:
        self._run.folder.planned[batch] = rows
        self._compute(batch)

    def _compute(self, batch: int) -> None:
        dies_in = self._world.dies_in(self._run.pipeline)
        if dies_in == 0:
            return  # it hangs
        dies = dies_in is not None and self._run.commits + 1 >= dies_in
        if dies and self._world.dice.random() < 0.5:
            self._run.later(10, 200, lambda: self._run.over("its code has failed"))
        else:
            self._run.later(10, 700, lambda: self._put_out(batch, dies))

    def _put_out(self, batch: int, dies: bool) -> None:
        rows = self._run.folder.planned.get(batch)
        if rows is None:
            self._run.over("its folder was deleted")
        elif not self._world.disk.sinks[self._run.query].write(self._run.epoch, batch, rows):
            self._run.over("the sink knows a later epoch")
        elif dies:
            self._run.later(1, 30, lambda: self._run.over("its code has failed behind the sink"))
        elif self._may_make_files():
            self._run.later(1, 30, lambda: self._commit(batch, rows))

    def _commit(self, batch: int, rows: PlannedRows) -> None:
        own = self._run.folder
        own.committed, own.upto = batch, rows.end
        own.absorbed += rows.end - rows.start
        own.own_commits += 1
        self._run.in_batch = False
        self._run.commits += 1
        if self._run.commits <= self._run.awaited:
            self._run.answer()
        self._run.to_gate(1, 400)
