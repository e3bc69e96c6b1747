"""How a node stands, told anew every second: one immutable value, ready to be sent."""

import secrets
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace

import headway
from headway.errors import ToldOnce
from headway.fleet.node.every import EverySoOften
from headway.fleet.node.host import QueryHost
from headway.fleet.node.machine import MachineGauge
from headway.fleet.node.text import written
from headway.fleet.node.wire import HostedQuery, NodeStatus
from headway.model.time import WallMs

EVERY_S = 1.0
RATES = 60  # seconds of them that are told


def wall_now() -> WallMs:
    return WallMs(time.time_ns() // 1_000_000)


class ToldStatus:
    """A status, and the texts of it: with all rates that are kept, or only those that its reader has not heard yet."""

    def __init__(self, status: NodeStatus) -> None:
        self.status, self.whole = status, written(status).encode()
        self._shorter: dict[int, bytes] = {}  # by the seconds that are told

    def since(self, number: int) -> bytes:
        """For a caller that has heard the status of this number last."""
        seconds = self.status.sequence - number
        if not 0 <= seconds < RATES:
            return self.whole
        if seconds not in self._shorter:
            queries = tuple(replace(q, rates=q.rates[max(0, len(q.rates) - seconds) :]) for q in self.status.queries)
            self._shorter[seconds] = written(replace(self.status, queries=queries)).encode()
        return self._shorter[seconds]


class StatusReporter:
    """Asks the host and the machine, and keeps what they said last, so that a caller never waits for them."""

    def __init__(
        self,
        node: str,
        host: QueryHost,
        machine: MachineGauge,
        bandwidth_limit: float | None = None,
        now: Callable[[], WallMs] = wall_now,
        run: str | None = None,
    ) -> None:
        """`run` tells this process of the node from those before it."""
        self._host, self._machine, self._now = host, machine, now
        self._rows: dict[tuple[str, int], tuple[WallMs, int]] = {}
        self._rates: dict[tuple[str, int], deque[float]] = {}
        self._told_once = ToldOnce()
        self.cpu_s = 0.0  # that it has taken on its own thread
        first = NodeStatus(
            node, run or secrets.token_hex(8), headway.__version__, 0, now(), machine.read(), bandwidth_limit=bandwidth_limit
        )
        self.told = ToldStatus(first)
        self._ticks = EverySoOften("headway-node-status", EVERY_S, self._tick)

    @property
    def status(self) -> NodeStatus:
        return self.told.status

    def start(self) -> None:
        self._ticks.start()

    def stop(self) -> None:
        self._ticks.stop()

    def look(self) -> NodeStatus:
        """Ask once. For one thread at a time."""
        at, hosted = self._now(), self._host.hosted()
        queries = tuple(self._with_rates(query, at) for query in hosted)
        self._forget({(query.name, query.epoch) for query in hosted})
        of_rows = sum(query.rows_per_s * (query.bytes_per_row or 0.0) for query in hosted)
        machine = self._machine.read(of_rows, self._host.heap())
        told = replace(self.status, sequence=self.status.sequence + 1, at=at, machine=machine, queries=queries)
        self.told = ToldStatus(told)
        return told

    def _tick(self) -> None:
        for work in (self.look, self._host.look_around):
            try:
                work()
            except Exception as error:  # the next second may do better; queries do without
                self._told_once(f"the node cannot tell how it stands: {error!r}")
        self.cpu_s = time.thread_time()

    def _with_rates(self, query: HostedQuery, at: WallMs) -> HostedQuery:
        life = query.name, query.epoch
        since, rows = self._rows.get(life, (at, query.rows))
        self._rows[life] = at, query.rows
        rates = self._rates.setdefault(life, deque(maxlen=RATES))
        if at > since:
            rates.append(round(max(0, query.rows - rows) * 1000 / (at - since), 3))
        return replace(query, rates=tuple(rates))

    def _forget(self, alive: set[tuple[str, int]]) -> None:
        for gone in self._rows.keys() - alive:
            del self._rows[gone], self._rates[gone]
