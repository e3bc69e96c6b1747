"""Sends instructions to nodes, on threads of its own: a batch may run for a minute, and the core does not wait for it.

An instruction is repeated until its record has moved on, so one that is on its way to a node is not sent a second time. What
comes back is posted as a message.
"""

import secrets
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from headway.errors import HeadwayError, aloud
from headway.fleet.client import NodeClient, NodeRefused, NodeUnreachable
from headway.fleet.moves.messages import Instruction
from headway.fleet.node.wire import CommandReceipt, NodeCommand
from headway.fleet.orchestrator.messages import NodeAnswered
from headway.fleet.orchestrator.translate import QueryContext, command_of, receipt_of, refusal_of

AT_ONCE = 64  # instructions on their way: a fleet moves few queries at a time


@dataclass(frozen=True, slots=True)
class QueryTold:
    """What a node has said beside its receipt: what the query has learnt, and what took how long."""

    node: str
    receipt: CommandReceipt


Posted = NodeAnswered | QueryTold


class Dispatch:
    """For one thread, which orders; many carry out."""

    def __init__(
        self,
        token: str,
        post: Callable[[Posted], None],
        may: Callable[[int], bool],
        ca: Path | None = None,
        say: Callable[[str], None] = aloud,
    ) -> None:
        """`may` says whether the primary of this number is sure to be it, at the last moment before something is sent."""
        self._token, self._post, self._may, self._ca, self._say = token, post, may, ca, say
        self._clients: dict[str, NodeClient] = {}  # by address
        self._workers = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="headway-dispatch")
        self._lock = threading.Lock()
        self._under_way: set[tuple[str, Instruction]] = set()
        self._said: dict[str, str] = {}

    def send(self, leader: int, node: str, address: str, told: Instruction, context: QueryContext) -> None:
        """Returns at once."""
        key = (node, told)
        with self._lock:
            if key in self._under_way:
                return
            self._under_way.add(key)
        self._workers.submit(self._carry, leader, address, key, context)

    def close(self) -> None:
        self._workers.shutdown(wait=False, cancel_futures=True)
        for client in self._clients.values():
            client.close()

    def _carry(self, leader: int, address: str, key: tuple[str, Instruction], context: QueryContext) -> None:
        node, told = key
        try:
            if self._may(leader):
                self._ask(node, address, told, command_of(told, secrets.token_hex(8), context))
        except NodeRefused as error:
            self._tell_once(node, str(error))
            receipt = refusal_of(told, node, error.code, str(error))
            if receipt is not None:
                self._post(NodeAnswered(node, receipt))
        except NodeUnreachable as error:
            self._tell_once(node, str(error))
        except HeadwayError as error:  # an answer that we do not understand
            self._tell_once(node, f"{address}: {error}")
        finally:
            with self._lock:
                self._under_way.discard(key)

    def _ask(self, node: str, address: str, told: Instruction, command: NodeCommand) -> None:
        answer = self._client(address).send(command)
        self._said.pop(node, None)
        self._post(QueryTold(node, answer))
        receipt = receipt_of(told, answer)
        if receipt is not None:
            self._post(NodeAnswered(node, receipt))

    def _client(self, address: str) -> NodeClient:
        with self._lock:
            known = self._clients.get(address)
            if known is None:
                self._clients[address] = known = NodeClient(address, self._token, ca=self._ca)
            return known

    def _tell_once(self, node: str, text: str) -> None:
        if self._said.get(node) != text:
            self._said[node] = text
            self._say(text)
