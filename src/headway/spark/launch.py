"""How a query is started: what it reads and wants is looked up in its plan, and what cannot work is refused at once."""

import logging
from dataclasses import dataclass, replace
from typing import Any

from headway.errors import HeadwayError, SettingError
from headway.model.deadline import Grid
from headway.model.declared import OrderDeclares
from headway.model.experience import Experience
from headway.model.message import QuerySpec
from headway.spark.channel.control import CAN_END
from headway.spark.held_start import HeldStart, begun_and_held
from headway.spark.plan import inspect
from headway.spark.plane import Plane
from headway.spark.profile import Profile, own_work, partitions, settled, usual
from headway.spark.queries import Queries
from headway.spark.sampling import refuse_unbounded
from headway.spark.spec import spec_of
from headway.spark.supervisor import check_restart
from headway.spark.trigger import taken_over
from headway.spark.writer import option_of, output_mode

LOG = logging.getLogger("headway")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a user says of a query beside its writer; `Runtime.start` tells what each is for."""

    name: str | None = None
    windows: list[Grid] | None = None
    every: str | int | None = None
    checkpoint: str | None = None
    table: str | None = None
    group: str | None = None
    restart: int = 0


@dataclass(frozen=True, slots=True)
class ReadyQuery:
    """A query that was looked at and may be started: its plan is analysed, and nothing in it cannot work."""

    name: str
    writer: Any
    wanted: Wanted
    spec: QuerySpec | None  # as the controller is told of it; None: there is no gate
    profile: Profile

    @property
    def inputs(self) -> tuple[str, ...]:
        return () if self.spec is None else tuple(i.name for i in self.spec.inputs)


@dataclass(frozen=True, slots=True)
class Launch:
    """Starts the queries of a runtime, under its gate if it has one."""

    spark: Any
    order: OrderDeclares
    queries: Queries
    plane: Plane | None

    def start(self, writer: Any, wanted: Wanted) -> Any:
        """Spark's query, which is looked after from now on."""
        self._free(_named(writer, wanted))
        return self.begin(self.ready(writer, wanted))

    def ready(self, writer: Any, wanted: Wanted) -> ReadyQuery:
        """All of a start that may be done beforehand: nothing is begun, and no checkpoint is touched."""
        name, table, plane = _named(writer, wanted), wanted.table, self.plane
        if wanted.checkpoint is not None:
            writer = writer.option("checkpointLocation", wanted.checkpoint)
        if table is not None and not (isinstance(table, str) and table.strip()):
            raise SettingError("table", table, "the name of a table, such as 'sales.per_minute'")
        writer = writer.queryName(name)
        check_restart(self.spark, writer, wanted.restart)
        if plane is None:  # with settings for all policies: else a comparison would be of them
            return ReadyQuery(name, writer, wanted, None, usual(self.spark))
        writer, spec, profile = _specified(plane, writer, name, wanted)
        return ReadyQuery(name, writer, wanted, spec, profile)

    def hold(self, ready: ReadyQuery) -> HeldStart | None:
        """All of a start that needs no more of the checkpoint than the query's id, which must be there. The query then waits
        for `begin`, and must be given up if that never comes. None where this cannot be had."""
        if self.plane is None or ready.spec is None or ready.wanted.table is not None or not self.plane.by_jar:
            return None
        writer, profile = ready.writer, ready.profile
        own_work(writer, profile)
        session = writer._df.sparkSession
        return begun_and_held(session, ready.name, writer.start, settled(session, profile))

    def begin(
        self,
        ready: ReadyQuery,
        experience: Experience | None = None,
        proves: bool = False,
        held: HeldStart | None = None,
    ) -> Any:
        """Start it, once. With the `experience` of the driver that ran it before. If it `proves` itself, its first batch
        runs whether there are rows or not. One that is `held` goes on from there."""
        name, wanted, plane = ready.name, ready.wanted, self.plane
        self._free(name)
        if plane is None or ready.spec is None:
            return self.queries.begun(name, lambda: self._start_gateless(ready), wanted.restart)
        _tell_group(plane, name, wanted.group)
        spec = replace(ready.spec, experience=experience, proves=proves)
        return self.queries.begun(name, lambda: _start_gated(plane, ready, spec, held), wanted.restart)

    def forget(self, ready: ReadyQuery) -> None:
        """It will not be started, or not again: its inputs' names are free."""
        if self.plane is not None:
            for name in ready.inputs:
                self.plane.inputs.pop(name, None)

    def _free(self, name: str) -> None:
        supervisor = self.queries.supervisor
        supervisor.look()  # a run that died is told of before the next begins: else that would be taken for dead
        if supervisor.alive(name):
            raise SettingError("name", name, "a name that no running query of this runtime has")

    def _start_gateless(self, ready: ReadyQuery) -> Any:
        writer, name = ready.writer, ready.name
        if self.order.every_ms:
            writer = writer.trigger(processingTime=f"{self.order.every_ms} milliseconds")
        context = self.spark.sparkContext
        context.setLocalProperty("spark.scheduler.pool", name if self.order.pools else None)
        try:
            query = _begun(writer, ready.profile, ready.wanted.table)
        finally:
            context.setLocalProperty("spark.scheduler.pool", None)
        self.queries.handles[name] = query
        return query


def _named(writer: Any, wanted: Wanted) -> str:
    name = wanted.name or option_of(writer, "queryName")
    if not name:
        raise SettingError("name", name, "a name for the query: rt.start(writer, name=...)")
    return name


def _tell_group(plane: Plane, name: str, group: str | None) -> None:
    plane.reports.groups.pop(name, None)
    if group is not None:
        plane.reports.groups[name] = group


def _specified(plane: Plane, writer: Any, name: str, wanted: Wanted) -> tuple[Any, QuerySpec, Profile]:
    """The writer as Spark starts it under a gate, what the controller is told of it, and how its batches are run."""
    writer, trigger = taken_over(writer, name, can_end=CAN_END or plane.by_jar)
    seen = inspect(writer._df)
    if not seen.inputs:
        raise HeadwayError(f"query {name!r} has no watermark of Headway's: wrap an input in rt.watermark(...) first")
    inputs = {i: plane.inputs[i] for i in seen.inputs}
    if wanted.group is not None and not any(i.log is not None for i in inputs.values()):
        raise SettingError("group", wanted.group, "a query with an input that subscribes to Kafka topics")
    mode = output_mode(writer)
    if sampled := [i for i in seen.inputs if inputs[i].spec.sampling is not None]:
        if len(sampled) > 1:
            raise HeadwayError(f"query {name!r} has {len(sampled)} inputs of rt.approximate: one of them may be sampled")
        refuse_unbounded(writer._df, name)
        if mode not in (None, "Append"):
            raise SettingError("outputMode", mode.lower(), "append: a sample is complete when its window ends")
    specs = {label: i.spec for label, i in inputs.items()}
    spec = spec_of(specs, name, seen, wanted.windows, wanted.every, trigger, mode in ("Update", "Complete"))
    return writer, spec, max((i.profile for i in inputs.values()), key=lambda p: p.rows)


def _start_gated(plane: Plane, ready: ReadyQuery, spec: QuerySpec, held: HeldStart | None) -> Any:
    writer, profile = ready.writer, ready.profile
    if held is not None and held.claim():  # not a second time, when it has failed and is started again
        try:
            return plane.start(writer, spec, held.go_on)
        finally:
            held.give_up()  # if it did not come so far
    own_work(writer, profile)
    query = plane.start(writer, spec, lambda: _begun(writer, profile, ready.wanted.table))
    if LOG.isEnabledFor(logging.INFO):
        LOG.info("query %r: %s", spec.name, profile.says(partitions(writer._df.sparkSession, profile)))
    return query


def _begun(writer: Any, profile: Profile, table: str | None) -> Any:
    """The query as Spark starts it, with settings of its own; into the table, which Spark creates if there is none."""
    with settled(writer._df.sparkSession, profile):
        return writer.start() if table is None else writer.toTable(table)
