"""Where commands are taken: each is done once, however often it is asked, and the answer is kept."""

import threading
import traceback
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from headway.errors import HeadwayError, aloud
from headway.fleet.node.host import NotHosted, QueryHost
from headway.fleet.node.wire import CommandReceipt, NodeCommand
from headway.model.time import WallMs

KEPT = 1_000  # receipts; a caller that asks again does so within minutes


class RequestReused(HeadwayError):
    """The id of a request that was another command."""


@dataclass(frozen=True, slots=True)
class _Request:
    command: NodeCommand
    receipt: Future[CommandReceipt] = field(default_factory=Future)


class CommandDesk:
    """Hands commands to the host: those about one query one after the other. Any thread may ask."""

    def __init__(self, host: QueryHost, now: Callable[[], WallMs], say: Callable[[str], None] = aloud) -> None:
        self._host, self._now, self._say = host, now, say
        self._lock = threading.Lock()
        self._requests: OrderedDict[str, _Request] = OrderedDict()
        self._queries: dict[str, threading.Lock] = {}
        self._versions: dict[str, int] = {}  # the highest that was obeyed, by query

    def take(self, command: NodeCommand) -> CommandReceipt:
        """What came of it; raises NotHosted for a query that is not here, and RequestReused."""
        with self._lock:
            request = self._requests.get(command.request)
            ours = request is None
            if request is None:
                self._requests[command.request] = request = _Request(command)
                self._forget_oldest()
            elif request.command != command:
                raise RequestReused(f"request = {command.request!r}: expected a new id, this one was another command")
            turn = self._queries.setdefault(command.query, threading.Lock())
        if ours:
            with turn:
                self._do(request)
        return request.receipt.result()

    def _do(self, request: _Request) -> None:
        command = request.command
        try:
            request.receipt.set_result(self._outdated(command) or self._host.obey(command))
        except NotHosted as error:  # nothing was done: the same may be asked again, and be answered otherwise
            with self._lock:
                self._requests.pop(command.request, None)
            request.receipt.set_exception(error)
        except HeadwayError as error:
            request.receipt.set_result(self._refused(command, str(error)))
        except BaseException as error:
            traceback.print_exc()
            request.receipt.set_result(self._refused(command, f"{type(error).__name__}: {error}"))

    def _outdated(self, command: NodeCommand) -> CommandReceipt | None:
        """A command that was delayed, or whose sender is the leader no more, must not undo what was decided since."""
        if command.version is None:
            return None
        with self._lock:
            newest = max(command.version, self._versions.get(command.query, command.version))
            self._versions[command.query] = newest
        if command.version == newest:
            return None
        return replace(self._refused(command, f"version {command.version} is over, {newest} was obeyed"), outdated_by=newest)

    def _refused(self, command: NodeCommand, why: str) -> CommandReceipt:
        line = " ".join(why.split())[:500]
        self._say(f"{command.action} of query {command.query!r}, epoch {command.epoch}, is refused: {line}")
        return CommandReceipt(command.request, command.action, command.query, command.epoch, False, line, self._now())

    def _forget_oldest(self) -> None:
        done = [name for name, request in self._requests.items() if request.receipt.done()]
        for name in done[: max(0, len(self._requests) - KEPT)]:
            del self._requests[name]
