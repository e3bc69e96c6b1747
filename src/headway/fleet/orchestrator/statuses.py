"""Asks every node how it stands, each in its turn. What comes is posted, without waiting for the rest.

An orchestrator asks and is not told, so that a node knows no orchestrator, and a secondary hears the same as the primary. It
asks once a second, and in a large fleet so often that it hears `LOOKS_A_SECOND` statuses: what it does for a fleet does not
grow with it then. Nothing of what nodes count second by second is lost by that, for a status tells of all seconds since the
one before. Nodes at which something is going on are asked once a second in any fleet.
"""

import asyncio
import ssl
import threading
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from headway.errors import HeadwayError, aloud
from headway.fleet.node.wire import NodeStatus, status_in
from headway.fleet.orchestrator.status_link import StatusLink

EVERY_S = 1.0
LOOKS_A_SECOND = 100
LIMIT_S = 0.9  # for one answer
TURN_S = 0.05  # between two looks at whose turn it is
AT_ONCE = 64  # requests on their way
LONG_AGO = float("-inf")


def period_s(nodes: int) -> float:
    """How often each of so many nodes is asked."""
    return max(EVERY_S, nodes / LOOKS_A_SECOND)


@dataclass(frozen=True, slots=True)
class StatusHeard:
    """How a node stands, by its own word."""

    status: NodeStatus


@dataclass(slots=True)
class WatchedNode:
    """A node that is asked, and what is known of that."""

    name: str
    link: StatusLink
    asked_at: float = LONG_AGO
    waits: bool = False  # for an answer
    heard: int | None = None  # the number of its last status
    said: str = ""  # a trouble is told once

    @property
    def phase(self) -> float:
        """Some share of a period, so that not all nodes are asked at the same moment."""
        return zlib.crc32(self.name.encode()) / 2**32


@dataclass(frozen=True, slots=True)
class Watch:
    """Which nodes to ask."""

    addresses: Mapping[str, str] = field(default_factory=dict)
    busy: frozenset[str] = frozenset()


class StatusPoll:
    """A thread that asks. Which nodes there are is told to it by `watch`."""

    def __init__(
        self, token: str, post: Callable[[StatusHeard], None], ca: Path | None = None, say: Callable[[str], None] = aloud
    ) -> None:
        self._token, self._post, self._say = token, post, say
        self._tls = ssl.create_default_context(cafile=None if ca is None else str(ca))
        self._watch = Watch()
        self._nodes: dict[str, WatchedNode] = {}
        self._asking: set[asyncio.Task[None]] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headway-statuses", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join(10)

    def watch(self, addresses: Mapping[str, str], busy: frozenset[str] = frozenset()) -> None:
        """From now on, these nodes at these addresses, and the busy ones once a second. For any thread."""
        self._watch = Watch(dict(addresses), busy)

    def _run(self) -> None:
        asyncio.run(self._look_again_and_again())

    async def _look_again_and_again(self) -> None:
        loop, watch = asyncio.get_running_loop(), Watch()
        while not self._over.is_set():
            if self._watch is not watch:
                watch = self._watch
                self._meet(watch.addresses)
            self._turn(watch, loop.time())
            await asyncio.sleep(TURN_S)
        for task in self._asking:
            task.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)
        self._meet({})

    def _meet(self, addresses: Mapping[str, str]) -> None:
        """Nodes come, go, and come back elsewhere."""
        for node in list(self._nodes.values()):
            if addresses.get(node.name) != node.link.address:
                del self._nodes[node.name]
                node.link.close()
        for name in addresses.keys() - self._nodes.keys():
            self._nodes[name] = WatchedNode(name, StatusLink(addresses[name], self._token, self._tls))

    def _turn(self, watch: Watch, now: float) -> None:
        """Ask the nodes that have not been asked for long enough."""
        period = period_s(len(self._nodes))
        for node in self._nodes.values():
            wait = EVERY_S if node.name in watch.busy else period
            if node.waits or now - node.asked_at < wait - TURN_S / 2:
                continue
            if len(self._asking) >= AT_ONCE:
                return  # the rest has its turn next
            node.asked_at = now - period * node.phase if node.asked_at == LONG_AGO else now
            node.waits = True
            task = asyncio.create_task(self._ask(node))
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)

    async def _ask(self, node: WatchedNode) -> None:
        try:
            async with asyncio.timeout(LIMIT_S):
                code, body = await node.link.ask(node.heard)
            if code != 200:
                self._tell_once(node, f" answers {code} instead of its status")
                return
            status = status_in(body)
        except (OSError, EOFError, TimeoutError):
            return  # the age of the last status says so
        except HeadwayError as error:
            self._tell_once(node, f": {error}")
            return
        finally:
            node.waits = False
        if status.node != node.name:
            self._tell_once(node, f" calls itself {status.node}: it is not heard")
            return
        node.heard, node.said = status.sequence, ""
        self._post(StatusHeard(status))

    def _tell_once(self, node: WatchedNode, text: str) -> None:
        if node.said != text:
            node.said = text
            self._say(f"node {node.name} at {node.link.address}{text}")
