"""One life of a query on a node: what is known of it from when it is prepared until it is forgotten."""

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from headway import pipeline
from headway.fleet.epochs import SinkEpoch, assigned
from headway.fleet.node.wire import HostedQuery, HostedState
from headway.model.status import QueryStatus
from headway.model.time import WallMs
from headway.spark.fleet.incarnation import IncarnationFolder
from headway.spark.held_start import HeldStart
from headway.spark.launch import ReadyQuery, Wanted
from headway.spark.runtime import Runtime
from headway.spark.user_code import user_code, writer_of

CONTROL = ["at"]  # the columns of our own source, whose rows are none of the user's


def wall_now() -> WallMs:
    return WallMs(time.time_ns() // 1_000_000)


@dataclass
class HostedLife:
    """A query under one epoch. Commands about it come one after the other, so nothing else changes it meanwhile."""

    name: str
    epoch: int
    file: str
    made: IncarnationFolder
    ready: ReadyQuery
    epochs: list[SinkEpoch]
    bytes_per_row: float | None
    state: HostedState = "prepared"
    since: WallMs = field(default_factory=wall_now)
    batches_before: int = 0  # of the query in this runtime before this life,
    rows_before: int = 0
    busy_before: int = 0
    swept: int = 0  # the newest watermark that a batch has acted upon,
    latency_ms: int | None = None  # and how late it was
    batch: int | None = None  # the last that is committed, where it does not run
    error: str | None = None
    held: HeldStart | None = None  # Spark's own start of it, as far as that may be before it is taken over
    older: set[str] = field(default_factory=set)  # folders beside its own, which need no second look

    @property
    def folder(self) -> str:
        return self.made.place

    @property
    def serving(self) -> bool:
        """It was started, and has neither been drained nor stopped."""
        return self.state == "starting"

    def turn(self, state: HostedState) -> None:
        self.state, self.since = state, wall_now()

    def begins(self, before: QueryStatus | None) -> None:
        """What the runtime tells from now on is of this life, beyond what it told before."""
        if before is not None:
            self.batches_before, self.rows_before, self.busy_before = before.batches, before.rows, before.busy_ms
        self.turn("starting")

    def let_go(self) -> None:
        """It will not be started, or not any more."""
        if self.held is not None:
            self.held.give_up()

    def raise_epoch(self, number: int) -> bool:
        """Whether some store of the sink keeps the epoch, which is this from now on."""
        raised = [replace(epoch, number=number).raise_in_stores() for epoch in self.epochs]  # in all of them
        return any(raised)

    def told(self, seen: QueryStatus | None) -> HostedQuery:
        """How it stands; `seen` is what the runtime says of the query.

        One that was drained tells of its last batch still: it ended in the moment after that, and no status may have told.
        """
        if seen is None or not (self.serving or self.state == "drained"):
            return HostedQuery(
                self.name, self.epoch, self.state, self.since, self.folder, self.file, self.error, batch=self.batch,
                bytes_per_row=self.bytes_per_row,
            )  # fmt: skip
        view, commits = seen.view, seen.batches - self.batches_before
        last = seen.last if commits > 0 else None  # else it is of an earlier life here
        if (seen.swept or 0) > self.swept:
            self.swept = int(seen.swept or 0)
            self.latency_ms = self.latency_ms if last is None else last.ended - self.swept
        return HostedQuery(
            self.name, self.epoch, seen.state if self.serving else self.state, seen.since if self.serving else self.since,
            self.folder, self.file, seen.error if self.serving else self.error,
            commits=commits,
            batch=self.batch if last is None else last.number,
            rows=seen.rows - self.rows_before,
            busy_ms=seen.busy_ms - self.busy_before,
            rows_per_s=0.0 if view is None else float(view.rows_per_s),
            fixed_ms=None if view is None else float(view.fixed_ms),
            ms_per_row=None if view is None else float(view.per_row_ms),
            bytes_per_row=self.bytes_per_row,
            watermark=None if last is None else last.watermark,
            backlog=None if view is None else float(view.queued(wall_now())),
            latency_ms=self.latency_ms,
            due=None if view is None or view.due is None else WallMs(int(view.due)),
            reads=() if view is None else tuple(i.upstream.topic for i in view.inputs if i.upstream is not None),
            writes=None if view is None else view.writes,
            below_ms=0.0 if view is None else float(view.below_ms),
            below_at=None if view is None else view.below_at,
        )  # fmt: skip


def built(rt: Runtime, query: pipeline.Query, epoch: int, file: str, made: IncarnationFolder) -> HostedLife:
    """A query that is ready to be started: its plan is built and analysed."""
    with assigned(query.name, epoch) as epochs:
        writer = writer_of(query, Path(file), rt, rt.spark)
        with user_code(Path(file), f"query {query.name}"):  # as the file says, but for the checkpoint
            wanted = Wanted(**{**query.settings, "name": query.name, "checkpoint": made.place})
            ready = rt.launch.ready(writer, wanted)
    return HostedLife(query.name, epoch, file, made, ready, epochs, _bytes_per_row(ready.writer))


def _bytes_per_row(writer: Any) -> float | None:
    """The widest of its inputs' rows, by Spark's own estimate of their types."""
    try:
        leaves = writer._df._jdf.queryExecution().analyzed().collectLeaves()
        widths = [
            float(leaf.schema().defaultSize())
            for leaf in (leaves.apply(n) for n in range(leaves.size()))
            if leaf.isStreaming() and list(leaf.schema().fieldNames()) != CONTROL
        ]
    except Exception:  # a figure is no reason to refuse a query
        return None
    return max(widths, default=None)
