"""An orchestrator as it is in production, with ZooKeeper, and many nodes that have no Spark: what does it cost?

All queries serve already when it is elected, as if it had taken over from another one, and nothing moves. What is measured
is the processor time of its process, all threads together, once every node is heard.
"""

import json
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from headway.errors import HeadwayError
from headway.fleet.fleet_client import FleetClient
from headway.fleet.moves.record import FleetIncarnation, Phase, QueryRecord, Revision, folder_of
from headway.fleet.orchestrator.candidate import QUERIES
from headway.fleet.orchestrator.statuses import period_s
from headway.fleet.records import dumps, node_name
from headway.fleet.registry import NodeRegistration, Registry
from headway.fleet.session import Committed, MakeNode, Session
from headway.fleet.zookeeper import server as zookeeper
from headway.fleet.zookeeper.session import open_session
from headway.servers import process as servers
from headway.servers.process_guard import end_with_parent
from headway_lab.experiments.fleet_cost import light_nodes
from headway_lab.harness.bench import let_pass
from headway_lab.harness.setting import Say

ROOT = "/headway"
A_PROCESS = 250  # nodes
AT_ONCE = 100  # records in one transaction
READY_S = 120.0
SESSION_MS = 30_000


@dataclass(frozen=True)  # its defaults are those of the command
class CostCase:
    """So many nodes, watched for so long."""

    nodes: int = 1_000
    queries: int = 12  # on each
    settle: int = 90  # seconds: until every series has a model, and the library that fits them is loaded
    seconds: int = 60


def measure(case: CostCase, policy: str, say: Say) -> dict[str, Any]:
    """What it has used, and what it has heard meanwhile."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="headway-fleet-cost-")))
        token = secrets.token_urlsafe(32)
        (folder / "token").write_text(token)
        say("starting nodes", 0.0)
        ports = stack.enter_context(_nodes(case, token))
        tree = zookeeper.start(folder / "zookeeper", heap="256m", ends_with_parent=True)
        stack.callback(tree.stop)
        session = open_session(tree.address, "fleet-cost", timeout_ms=SESSION_MS)
        stack.callback(session.close)
        say("writing records", 0.0)
        _write_down(session, ports, case)
        process = stack.enter_context(_orchestrator(folder, tree.address, policy))
        say("every node is heard once", READY_S)
        _await_all(process, token, case)
        let_pass("settling", case.settle, say)
        return _counted(process[0], case, say)


def _counted(process: psutil.Process, case: CostCase, say: Say) -> dict[str, Any]:
    before, at = process.cpu_times(), time.monotonic()
    let_pass("measuring", case.seconds, say)
    after, passed = process.cpu_times(), time.monotonic() - at
    used = after.user + after.system - before.user - before.system
    return {
        "core_share": round(used / passed, 5),
        "ms_per_node_second": round(1000 * used / passed / case.nodes, 5),
        "system_share": round((after.system - before.system) / max(used, 1e-9), 3),
        "period_s": period_s(case.nodes),
        "memory_mb": round(process.memory_info().rss / 2**20, 1),
    }


@contextmanager
def _nodes(case: CostCase, token: str) -> Iterator[dict[str, int]]:
    """Where each of them listens."""
    running: list[subprocess.Popen[bytes]] = []
    ports: dict[str, int] = {}
    try:
        for first in range(0, case.nodes, A_PROCESS):
            words = [str(first), str(min(A_PROCESS, case.nodes - first)), str(case.queries), token]
            command = [sys.executable, "-m", light_nodes.__name__, *words]
            running.append(subprocess.Popen(command, stdout=subprocess.PIPE, preexec_fn=end_with_parent()))
        for one in running:
            assert one.stdout is not None
            ports |= json.loads(one.stdout.readline())
        yield ports
    finally:
        for one in running:
            one.terminate()
            one.wait()
            if one.stdout is not None:
                one.stdout.close()


def _write_down(session: Session, ports: dict[str, int], case: CostCase) -> None:
    """The nodes, and what an earlier primary would have left of their queries."""
    registry = Registry(session, ROOT)
    for name, port in ports.items():
        registry.enter(NodeRegistration(name, f"http://127.0.0.1:{port}"))
    session.ensure(f"{ROOT}/store/{QUERIES.name}")
    records = [
        _record(light_nodes.query_name(n, q), light_nodes.node_name(n))
        for n in range(case.nodes)
        for q in range(case.queries)
    ]
    for first in range(0, len(records), AT_ONCE):
        _make(session, records[first : first + AT_ONCE])


def _record(query: str, node: str) -> QueryRecord:
    revision, folder = Revision("/srv/fleet/pipelines/0123456789abcdef/queries.py"), folder_of(query, 1)
    here = FleetIncarnation(1, node, folder, revision)
    return QueryRecord(query, revision, Phase.SERVING, here, 1, (folder,), begun=True)


def _make(session: Session, records: Sequence[QueryRecord]) -> None:
    folder = f"{ROOT}/store/{QUERIES.name}"
    done = session.commit(*(MakeNode(f"{folder}/{node_name(one.query)}", dumps(QUERIES, one)) for one in records))
    if not isinstance(done, Committed):
        raise HeadwayError(f"records cannot be written: {done.because}")


@contextmanager
def _orchestrator(folder: Path, tree: str, policy: str) -> Iterator[tuple[psutil.Process, str]]:
    """Its process, and where it is asked."""
    port = servers.free_port()
    command = [
        sys.executable, "-m", "headway", "orchestrator", "--name", "o1", "--zookeeper", tree, "--port", str(port),
        "--token-file", str(folder / "token"), "--checkpoints", str(folder / "checkpoints"), "--policy", policy,
        "--journal", str(folder / "journal.db"),
    ]  # fmt: skip
    process = servers.launched(command, folder, ends_with_parent=True)
    try:
        yield psutil.Process(process.pid), f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def _await_all(running: tuple[psutil.Process, str], token: str, case: CostCase) -> None:
    """It is the primary, has read all records, and has heard every node."""
    end = time.monotonic() + READY_S
    with FleetClient([running[1]], token) as client:
        while True:
            try:
                seen = client.standing()
                serving = sum(node.state == "serving" for node in seen.nodes)
                if seen.primary and serving == case.nodes and len(seen.queries) == case.nodes * case.queries:
                    return
            except HeadwayError:
                pass  # it does not answer yet
            if time.monotonic() > end or not running[0].is_running():
                raise HeadwayError(f"the orchestrator has not heard {case.nodes} nodes within {READY_S:g} s")
            time.sleep(2.0)
