"""Many nodes in one process, without Spark: each listens on a port of its own, and tells what a node with queries would.

    python -m headway_lab.experiments.fleet_cost.light_nodes FIRST COUNT QUERIES TOKEN

It says in one line of JSON where they listen, and ends with the process that started it.
"""

import asyncio
import json
import os
import re
import sys
import time
from dataclasses import dataclass, field
from functools import partial

import headway
from headway.fleet.node.reporter import RATES, ToldStatus, wall_now
from headway.fleet.node.wire import HostedQuery, MachineFigures, NodeStatus
from headway.model.time import EventMs, WallMs
from headway_lab.workloads.bio.load_profiles import RecurringRate

ROWS_PER_S, MS_PER_ROW, ROW_BYTES = 100, 0.2, 200.0
PERIOD_S = 60
SINCE = re.compile(rb"\?since=(\d+)")


def node_name(number: int) -> str:
    return f"n{number:04}"


def query_name(number: int, query: int) -> str:
    return f"q{number:04}-{query:02}"


def incarnation_folder(name: str) -> str:
    return f"/srv/fleet/checkpoints/{name}/epoch-1"


@dataclass
class LightNode:
    """What one node would tell of its queries, second by second."""

    number: int
    queries: int
    began: float = field(default_factory=time.monotonic)
    told: ToldStatus | None = None

    def body(self, since: int) -> bytes:
        """A status is made once a second, if it is asked for."""
        second = int(time.monotonic() - self.began) + 1
        if self.told is None or self.told.status.sequence != second:
            self.told = ToldStatus(self._status(second))
        return self.told.since(since)

    def _status(self, second: int) -> NodeStatus:
        machine = MachineFigures(0.4, 1.0, 0.9, 25_000.0, 0.8, 0.3, 0.4)
        hosted = tuple(self._query(query, second) for query in range(self.queries))
        return NodeStatus(node_name(self.number), "light", headway.__version__, second, wall_now(), machine, hosted)

    def _query(self, query: int, second: int) -> HostedQuery:
        profile = RecurringRate(ROWS_PER_S, period_s=PERIOD_S, seed=1 + query)
        rates = tuple(map(float, profile.rows(max(0, second - RATES), second).tolist()))
        name, rows, now = query_name(self.number, query), ROWS_PER_S * second, wall_now()
        return HostedQuery(
            name, 1, "at the gate", WallMs(now - 1_000 * second), incarnation_folder(name),
            "/srv/fleet/pipelines/0123456789abcdef/queries.py", commits=1 + second // 3, batch=second // 3, rows=rows,
            busy_ms=round(rows * MS_PER_ROW), rows_per_s=float(ROWS_PER_S), fixed_ms=41.5, ms_per_row=MS_PER_ROW,
            bytes_per_row=ROW_BYTES, watermark=EventMs(now - 1_500), backlog=float(ROWS_PER_S), latency_ms=180,
            due=WallMs(now + 1_200), rates=rates,
        )  # fmt: skip


async def _serve(node: LightNode, token: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            since = SINCE.search(head)
            known = token in head
            body = node.body(int(since[1]) if since else -1) if known else b"{}"
            status = b"200 OK" if known else b"401 Unauthorized"
            writer.write(
                b"HTTP/1.1 %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (status, len(body), body)
            )
    except (OSError, EOFError):
        return  # the caller has gone
    finally:
        writer.close()


async def _all(first: int, count: int, queries: int, token: str) -> None:
    ports, parent = {}, os.getppid()
    servers = []
    for number in range(first, first + count):
        serve = partial(_serve, LightNode(number, queries), f"Bearer {token}".encode())
        servers.append(await asyncio.start_server(serve, "127.0.0.1", 0))
        ports[node_name(number)] = servers[-1].sockets[0].getsockname()[1]
    print(json.dumps(ports), flush=True)
    while os.getppid() == parent:
        await asyncio.sleep(1)


if __name__ == "__main__":
    asyncio.run(_all(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]))
