"""A host whose queries are rows in a dictionary: it keeps every rule of the port, and needs no Spark."""

import threading
from dataclasses import dataclass, replace

from headway.errors import HeadwayError
from headway.fleet.node.host import Declined, NotHosted
from headway.fleet.node.wire import CommandReceipt, HostedQuery, NodeCommand
from headway.model.time import WallMs

AT = WallMs(1_700_000_000_000)
RESULT = {"prepare": "prepared", "take": "taken", "start": "at the gate", "drain": "drained"}
FROM = {
    "take": {"prepared"}, "resume": {"at the gate"}, "start": {"prepared", "taken"}, "drain": {"at the gate"},
    "abandon": {"prepared", "taken"},
}  # fmt: skip


@dataclass
class MemoryHost:
    """Knows the queries of one pipeline file."""

    knows: frozenset[str] = frozenset({"counts", "sums"})

    def __post_init__(self) -> None:
        self.queries: dict[str, HostedQuery] = {}
        self.obeyed: list[str] = []  # requests that were carried out
        self.gate = threading.Event()  # a drain waits for it, as for a batch that runs
        self.gate.set()
        self.draining = threading.Event()

    def obey(self, command: NodeCommand) -> CommandReceipt:
        self.obeyed.append(command.request)
        here = self.queries.get(command.query)
        if command.query == "broken":
            raise ZeroDivisionError("a mistake\nof ours")
        if command.action == "prepare":
            self._may_prepare(here, command)
        elif here is None:
            raise NotHosted(f"query = {command.query!r}: expected one that this node hosts")
        elif here.epoch != command.epoch:
            raise Declined(f"epoch = {command.epoch}: expected {here.epoch}")
        elif here.state not in FROM.get(command.action, {here.state}):
            raise Declined(f"it is {here.state}")
        if command.action == "drain":
            self.draining.set()
            self.gate.wait(30)
        if command.action in ("stop", "abandon"):
            del self.queries[command.query]
        else:
            state = RESULT.get(command.action, "at the gate")
            made = HostedQuery(command.query, command.epoch, "ended", AT, command.folder)
            self.queries[command.query] = replace(made, state=state)  # type: ignore[arg-type]
        return CommandReceipt(command.request, command.action, command.query, command.epoch, True, "done", AT)

    def _may_prepare(self, here: HostedQuery | None, command: NodeCommand) -> None:
        if command.query not in self.knows:
            raise NotHosted(f"query = {command.query!r}: expected one of {', '.join(sorted(self.knows))}")
        if here is not None and here.epoch >= command.epoch:
            raise HeadwayError(f"epoch = {command.epoch}: expected one above {here.epoch}")

    def hosted(self) -> tuple[HostedQuery, ...]:
        return tuple(self.queries.values())

    def heap(self) -> float:
        return 0.25

    def look_around(self) -> None:
        """Nobody else is there."""
