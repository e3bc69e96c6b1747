"""A node asks the others what the stages cost that go on with its own results, and tells its runtime."""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from headway.errors import HeadwayError, ToldOnce
from headway.fleet.node.every import EverySoOften
from headway.fleet.node.reporter import wall_now
from headway.fleet.node.wire import NodeStatus
from headway.fleet.stage_costs import costs_behind
from headway.model.message import Relaying
from headway.model.time import WallMs

EVERY_S = 1.0
PEERS_EVERY = 5  # looks: nodes seldom come and go


class Peer(Protocol):
    """Another node."""

    def status(self) -> NodeStatus: ...

    def close(self) -> None: ...


class StageWatch:
    """Asks only while a query of this node writes to a topic; what a peer said last stands until it is too old."""

    def __init__(
        self,
        own: Callable[[], NodeStatus],
        addresses: Callable[[], Iterable[str]],
        connect: Callable[[str], Peer],
        post: Callable[[Relaying], None],
        now: Callable[[], WallMs] = wall_now,
    ) -> None:
        """`addresses` are those of all nodes that are there; of itself a node knows without asking."""
        self._own, self._addresses, self._connect, self._post, self._now = own, addresses, connect, post, now
        self._peers: dict[str, Peer] = {}
        self._said: dict[str, NodeStatus] = {}
        self._looks, self._told_once = 0, ToldOnce()
        self._ticks = EverySoOften("headway-node-stages", EVERY_S, self._tick)

    def start(self) -> None:
        self._ticks.start()

    def stop(self) -> None:
        self._ticks.stop()
        for peer in self._peers.values():
            peer.close()

    def look(self) -> None:
        """Once. For one thread at a time."""
        own = self._own()
        if not any(query.writes for query in own.queries):
            return
        if self._looks % PEERS_EVERY == 0:
            self._meet()
        self._looks += 1
        for address, peer in self._peers.items():
            try:
                self._said[address] = peer.status()
            except HeadwayError as error:
                self._told_once(str(error))
        others = [said for said in self._said.values() if said.run != own.run]
        behind = costs_behind([own, *others], self._now())
        for query in own.queries:
            if query.writes is not None:
                cost = behind.get(query.writes)
                told = (
                    Relaying(query.name, query.writes)
                    if cost is None
                    else Relaying(query.name, query.writes, cost.cost_ms, cost.at)
                )
                self._post(told)

    def _meet(self) -> None:
        there = set(self._addresses())
        for gone in self._peers.keys() - there:
            self._peers.pop(gone).close()
            self._said.pop(gone, None)
        for new in there - self._peers.keys():
            self._peers[new] = self._connect(new)

    def _tick(self) -> None:
        try:
            self.look()
        except Exception as error:  # queries do without
            self._told_once(f"the stages on other nodes cannot be asked: {error!r}")


def others_of(named: Iterable[str], listed: Callable[[], Mapping[str, str]], own: str) -> Callable[[], dict[str, str]]:
    """The addresses of the nodes that were named, and of those that the fleet has listed, but for this one; by name, where
    that is known."""

    def others() -> dict[str, str]:
        there = {name: address for name, address in listed().items() if address != own}
        known = {*there.values(), own}
        return there | {address: address for address in named if address not in known}

    return others


def addresses_of(named: Iterable[str], listed: Callable[[], Mapping[str, str]], own: str) -> Callable[[], list[str]]:
    """Their addresses alone."""
    others = others_of(named, listed, own)
    return lambda: list(others().values())
