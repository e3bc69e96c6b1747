"""A host as a member of a fleet: it runs what it holds the lease of, and may be told everything twice.

A primary repeats an instruction until its record has moved on, and a successor repeats it again. So to be told to do what is
done is answered with what was done. A query that was prepared and is not wanted any more is forgotten after a minute.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from headway.errors import HeadwayError, aloud
from headway.fleet.node.held import HeldLeases
from headway.fleet.node.host import Declined, NotHosted, QueryHost
from headway.fleet.node.reporter import wall_now
from headway.fleet.node.wire import CommandReceipt, HostedQuery, NodeCommand
from headway.model.time import WallMs

FRESH_S = 60.0  # for a plan that was prepared and is not asked for again
OVER = ("failed", "ended", "drained")  # as a node says of a query that runs here no more
NOT_BEGUN = ("prepared", "taken")


class MemberHost:
    """In front of the host that runs the queries. `headway.fleet.node.host.QueryHost`."""

    def __init__(
        self,
        host: QueryHost,
        held: HeldLeases,
        now: Callable[[], WallMs] = wall_now,
        clock: Callable[[], float] = time.monotonic,
        say: Callable[[str], None] = aloud,
    ) -> None:
        self._host, self._held, self._now, self._clock, self._say = host, held, now, clock, say
        self._lock = threading.Lock()
        self._turns: dict[str, threading.Lock] = {}
        self._prepared: dict[str, tuple[NodeCommand, float]] = {}  # and when it was asked for last

    def obey(self, command: NodeCommand) -> CommandReceipt:
        with self._turn(command.query):
            match command.action:
                case "prepare":
                    return self._prepare(command)
                case "take" | "start":
                    return self._begin(command)
                case "drain" | "stop" | "abandon":
                    return self._end(command)
                case _:
                    return self._host.obey(command)

    def hosted(self) -> tuple[HostedQuery, ...]:
        return self._host.hosted()

    def heap(self) -> float:
        return self._host.heap()

    def look_around(self) -> None:
        """Leases of queries that have died are given back, and plans that are not asked for are forgotten."""
        self._host.look_around()
        there = {query.name: query for query in self._host.hosted()}
        for query, epoch in self._held.epochs.items():
            seen = there.get(query)
            if seen is None or seen.epoch != epoch or seen.state in OVER:
                with self._turn(query, wait=False) as ours:
                    if ours and self._over(query, epoch):
                        self._held.give_back(query, epoch)
        for query, (command, at) in list(self._prepared.items()):
            if self._clock() - at >= FRESH_S:
                with self._turn(query, wait=False) as ours:
                    if ours:
                        self._forget(command)

    # ---- how it is done

    def _prepare(self, command: NodeCommand) -> CommandReceipt:
        before = self._prepared.get(command.query)
        here = self._here(command.query)
        if before is not None and here is not None and here.state in NOT_BEGUN:
            same = replace(command, request=before[0].request, version=before[0].version)
            if same == before[0] and here.epoch == command.epoch:
                self._prepared[command.query] = command, self._clock()
                return self._done(command, "it was prepared before")
            self._forget(before[0])
        receipt = self._host.obey(command)
        self._prepared[command.query] = command, self._clock()
        return receipt

    def _begin(self, command: NodeCommand) -> CommandReceipt:
        """Take over, or start, under the fleet's lease: it is ours, and was no other node's, or this is refused."""
        here = self._here(command.query)
        if here is not None and here.epoch == command.epoch:
            if here.state in OVER:
                self._held.give_back(command.query, command.epoch)
                raise Declined(here.error or f"epoch {here.epoch} of {here.name!r} is {here.state}")
            if here.state not in NOT_BEGUN:
                return self._done(command, f"it is {here.state} already")
            if command.action == "take" and here.state == "taken":
                return self._done(command, "it was taken over before")
        begun = self._clock()
        self._held.take(command.query, command.epoch)
        leased = self._clock() - begun
        try:
            receipt = self._host.obey(command)
        except BaseException:
            self._held.give_back(command.query, command.epoch)
            raise
        self._prepared.pop(command.query, None)
        return _with_lease(receipt, leased)

    def _end(self, command: NodeCommand) -> CommandReceipt:
        """Afterwards it may run elsewhere."""
        try:
            receipt = self._host.obey(command)
        except BaseException:
            if self._over(command.query, command.epoch):
                self._held.give_back(command.query, command.epoch)
            raise
        begun = self._clock()
        self._held.give_back(command.query, command.epoch)
        return _with_lease(receipt, self._clock() - begun)

    def _forget(self, command: NodeCommand) -> None:
        """What was prepared, with the folder that was begun for it."""
        self._prepared.pop(command.query, None)
        name = f"{command.request}-forgotten"
        try:
            self._host.obey(NodeCommand(name, "abandon", command.query, command.epoch))
            if command.folder is not None:
                places = (command.folder,)
                self._host.obey(NodeCommand(f"{name}-cleaned", "clean", command.query, command.epoch + 1, origins=places))
        except (Declined, NotHosted):
            return  # it has begun, or was forgotten before
        except HeadwayError as error:
            self._say(f"what was prepared of query {command.query!r} is not all gone: {error}")

    def _here(self, query: str) -> HostedQuery | None:
        return next((seen for seen in self._host.hosted() if seen.name == query), None)

    def _over(self, query: str, epoch: int) -> bool:
        seen = self._here(query)
        return seen is None or seen.epoch != epoch or seen.state in OVER

    def _done(self, command: NodeCommand, because: str) -> CommandReceipt:
        return CommandReceipt(
            command.request, command.action, command.query, command.epoch, True, because, self._now(), folder=command.folder
        )

    @contextmanager
    def _turn(self, query: str, wait: bool = True) -> Iterator[bool]:
        """One at a time about one query; without waiting, whether it is our turn at all."""
        with self._lock:
            turn = self._turns.setdefault(query, threading.Lock())
        ours = turn.acquire(blocking=wait)
        try:
            yield ours
        finally:
            if ours:
                turn.release()


def _with_lease(receipt: CommandReceipt, took_s: float) -> CommandReceipt:
    """With what the fleet's lease took, among the other parts."""
    return replace(receipt, parts_ms={**(receipt.parts_ms or {}), "lease": round(took_s * 1000, 3)})
