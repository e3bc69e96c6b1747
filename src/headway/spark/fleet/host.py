"""Queries of a fleet, hosted under a runtime: prepared, taken over, started, drained, each alone."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import Any

from headway.errors import HeadwayError
from headway.fleet.node.host import Declined
from headway.fleet.node.wire import CommandReceipt, HostedQuery, NodeCommand
from headway.spark import ending
from headway.spark.checkpoint.contents import contents
from headway.spark.checkpoint.folder import folder_of
from headway.spark.fleet.incarnation import TakenOver, check_spread, deleted, replaced_by
from headway.spark.fleet.life import HostedLife, wall_now
from headway.spark.fleet.lives import HostedLives
from headway.spark.fleet.moments import await_gate, await_moment
from headway.spark.fleet.origins import Origins
from headway.spark.fleet.shelf import NodeShelf
from headway.spark.fleet.state_ahead import loaded_ahead
from headway.spark.gauge import DriverGauge
from headway.spark.lease import default_fs, local_path
from headway.spark.runtime import Runtime

FAR_EVERY = 5  # seconds between two looks into folders that are not on this machine


class PartTimes:
    """What took how long, in milliseconds."""

    def __init__(self) -> None:
        self.ms: dict[str, float] = {}

    @contextmanager
    def of(self, part: str) -> Iterator[None]:
        begun = time.monotonic()
        try:
            yield
        finally:
            self.ms[part] = round((time.monotonic() - begun) * 1000, 3)


class RuntimeHost:
    """Hosts the queries of a node under one runtime. It does what it is told, and goes on when it is told nothing."""

    def __init__(self, rt: Runtime, node: str, run: str) -> None:
        """`run` tells this process of the node from those before it."""
        self._rt, self._spark = rt, rt.spark
        self._gauge = DriverGauge(rt.spark)
        self._lives = HostedLives(rt, node, run)
        self.shelf = NodeShelf(rt.spark, self._lives.made)
        self.origins = Origins(rt.spark, node, run, self.shelf)
        self._looks = 0
        self._obeys: dict[str, Callable[[NodeCommand, PartTimes], CommandReceipt]] = {
            "prepare": self._prepare, "take": self._take, "start": self._start, "drain": self._drain,
            "resume": self._resume, "stop": self._stop, "abandon": self._abandon, "clean": self._clean,
        }  # fmt: skip

    # ---- the port

    def obey(self, command: NodeCommand) -> CommandReceipt:
        times = PartTimes()
        receipt = self._obeys[command.action](command, times)
        return replace(receipt, parts_ms=times.ms)

    def hosted(self) -> tuple[HostedQuery, ...]:
        seen = {query.name: query for query in self._rt.status().queries}
        return tuple(life.told(seen.get(life.name)) for life in self._lives.all())

    def heap(self) -> float:
        return self._gauge.memory_used()

    def look_around(self) -> None:
        """A query that another node has taken over since is stopped, even if we were not told to."""
        self._looks += 1
        for life in filter(self._lives.alive, self._lives.all()):
            if self._looks % FAR_EVERY and local_path(life.folder, default_fs(self._spark)) is None:
                continue
            newer = replaced_by(self._spark, life.folder, life.name, life.epoch, life.older)
            if newer is not None:
                life.error = f"epoch {newer.epoch} on {newer.node} has taken its place"
                life.turn("failed")
                self._rt.launch.queries.lost(life.name, life.error)

    # ---- commands

    def _prepare(self, command: NodeCommand, times: PartTimes) -> CommandReceipt:
        with times.of("pull"):
            origin = self.origins.ahead(command)
        if command.partitions is not None:  # before a folder is begun that would be in the way
            check_spread(self._spark, origin.places, command.partitions)
        with times.of("build"):
            life = self._lives.begin(command)
        with times.of("copy"):
            ahead = life.made.ahead(origin.places)
        if life.made.named and command.partitions is None:
            with times.of("hold"):
                life.held = self._rt.launch.hold(life.ready)
        because = f"its plan is built, and {ahead} bytes are copied ahead"
        if life.held is not None and life.made.ahead_of is not None:
            with times.of("load"):
                loaded = loaded_ahead(self._spark, life.held, life.folder, *life.made.ahead_of)
            because += f", the state of {loaded} partitions is in memory" if loaded else ""
        return _done(command, life, because, copied_bytes=ahead)

    def _take(self, command: NodeCommand, times: PartTimes) -> CommandReceipt:
        with times.of("build"):
            life = self._lives.at_hand(command)
        taken, fenced = self._taken(life, command, times)
        because = f"it goes on from {taken.origin}" if taken.origin else "it begins from nothing"
        if command.partitions is not None:
            because += f", its state is spread over {command.partitions} partitions"
        return _done(command, life, because, batch=taken.batch, fenced=fenced, copied_bytes=taken.bytes)

    def _start(self, command: NodeCommand, times: PartTimes) -> CommandReceipt:
        with times.of("build"):
            life, fenced = self._lives.at_hand(command), None
        if life.state == "prepared":
            _, fenced = self._taken(life, command, times)
        life.begins(self._rt.status().query(life.name))
        try:
            with times.of("start"):
                query = self._rt.launch.begin(life.ready, command.experience, proves=True, held=life.held)
            with times.of("gate"):
                await_gate(self._rt, life.name, query)
        except BaseException as error:
            with suppress(Exception):  # what cannot be stopped was not begun
                ending.drain(self._rt.launch.queries, life.name, 0)
            self._rt.launch.forget(life.ready)
            life.error = str(error)
            life.turn("failed")
            raise
        return _done(command, life, "it stands at its gate, or runs", batch=life.batch, fenced=fenced)

    def _drain(self, command: NodeCommand, times: PartTimes) -> CommandReceipt:
        life = self._lives.of(command)
        if life.state == "drained":
            return _done(command, life, "it was drained before", batch=life.batch)
        if not life.serving:
            raise Declined(f"epoch {life.epoch} of {life.name!r} is {life.state}: only one that runs can be drained")
        with times.of("moment"):
            await_moment(self._rt, command)
        with times.of("drain"):
            outcome = ending.drain(self._rt.launch.queries, life.name, command.timeout_ms)
        life.turn("drained")
        self._rt.launch.forget(life.ready)
        life.batch = self._committed(life.folder)
        fenced = None
        if command.next_epoch is not None:
            with times.of("fence"):
                fenced = life.raise_epoch(command.next_epoch)
        receipt = _done(command, life, _ended(outcome), batch=life.batch, fenced=fenced)
        if (stood := outcome.stood) is None:
            return receipt
        return replace(receipt, stood_at=stood.at, watermark=stood.swept, experience=stood.experience)

    def _resume(self, command: NodeCommand, times: PartTimes) -> CommandReceipt:
        life = self._lives.of(command)
        if not self._lives.alive(life):
            raise Declined(f"epoch {life.epoch} of {life.name!r} has ended: it cannot go on")
        return _done(command, life, "it was not drained, and goes on")

    def _stop(self, command: NodeCommand, times: PartTimes) -> CommandReceipt:
        life = self._lives.of(command)
        if life.serving:
            with times.of("drain"):
                ending.drain(self._rt.launch.queries, life.name, command.timeout_ms)
        self._lives.forget(life)
        return _done(command, life, "it is stopped, and forgotten", batch=self._committed(life.folder))

    def _abandon(self, command: NodeCommand, times: PartTimes) -> CommandReceipt:
        life = self._lives.of(command)
        if life.state not in ("prepared", "taken"):
            raise Declined(f"epoch {life.epoch} of {life.name!r} is {life.state}: only one that never ran can be abandoned")
        self._lives.forget(life)
        self.origins.forget_copies(life.folder)
        return _done(command, life, "it is forgotten")

    def _clean(self, command: NodeCommand, times: PartTimes) -> CommandReceipt:
        with times.of("delete"):
            elsewhere = self.origins.cleaned(command)
            gone = deleted(self._spark, command.origins, command.query, command.epoch)
            for life in self._lives.all():
                if life.name == command.query:
                    self.origins.forget_copies(life.folder)
        because = f"{len(gone) + elsewhere} of {len(command.origins)} folders are deleted"
        return CommandReceipt(command.request, command.action, command.query, command.epoch, True, because, wall_now())

    # ---- how it is done

    def _taken(self, life: HostedLife, command: NodeCommand, times: PartTimes) -> tuple[TakenOver, bool]:
        """The epoch is raised before the copy is made: it counts then, whatever a node that was frozen does later."""
        found = self.origins.now(command)  # no node is fenced off whose query is still wanted, or could not be taken over
        with times.of("fence"):
            fenced = life.raise_epoch(life.epoch)
        with times.of("pull") if found is not None and found.seen.url is not None else nullcontext():
            origin = self.origins.brought(command, found)
        with times.of("copy"):
            taken = life.made.copied(origin.places, command.batch)
        if not life.made.continues(taken):
            life.let_go()  # what its run has in memory is not of what it goes on from: it starts anew
        if command.partitions is not None:
            with times.of("partitions"):
                taken = life.made.spread(command.partitions, taken)
        if found is not None:
            taken = replace(taken, origin=found.seen.told.place)
        self.origins.promised(command, origin)
        life.made.sealed(taken)
        life.batch = taken.batch
        life.turn("taken")
        return taken, fenced

    def _committed(self, folder: str) -> int | None:
        try:
            return contents(folder_of(self._spark, folder), folder).done
        except HeadwayError:  # it has never begun a batch
            return None


def _done(command: NodeCommand, life: HostedLife, because: str, **more: Any) -> CommandReceipt:
    return CommandReceipt(
        command.request, command.action, life.name, life.epoch, True, because, wall_now(), folder=life.folder, **more
    )


def _ended(outcome: ending.DrainOutcome) -> str:
    if not outcome.clean:
        return "its batch did not end in time, and was broken off"
    return "it stood between two batches" if outcome.stood is not None else "it had ended, or has no gate to stand at"
