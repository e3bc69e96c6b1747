"""What is refused is also said aloud, in one line and without the token; and a node that speaks otherwise is not heard."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from fleet.node.memory_host import AT, MemoryHost
from headway.fleet.node.app import Listening, NodeServer
from headway.fleet.node.app import application as node_application
from headway.fleet.node.desk import CommandDesk
from headway.fleet.node.machine import MachineGauge
from headway.fleet.node.reporter import StatusReporter
from headway.fleet.node.wire import SCHEMA
from headway.fleet.orchestrator.api import PipelineShelf, application
from headway.fleet.orchestrator.posted import NotPrimary, Posted
from headway.fleet.orchestrator.statuses import StatusHeard, StatusPoll

TOKEN = "correct-horse-battery-staple"
MOVE = {"id": "m1", "query": "counts", "node": "n1"}


def not_primary(message: Posted) -> None:
    """An orchestrator that never is."""
    message.answer.set_exception(NotPrimary("o2 is not the primary; the primary is o1"))  # type: ignore[union-attr] # asks only


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def door(said: list[str], tmp_path: Path) -> Iterator[str]:
    server = NodeServer(application(not_primary, PipelineShelf(tmp_path), TOKEN, said.append), Listening(TOKEN))
    server.start()
    yield server.address
    server.stop()


@pytest.mark.parametrize(
    ("change", "token", "code", "says"),
    [
        ({}, None, 401, "for /v1/move is refused: no token"),
        ({}, TOKEN[:-1], 401, "for /v1/move is refused: wrong token"),
        ({"node": 7}, TOKEN, 400, "is refused: MoveWanted.node = 7: expected a text"),
        ({"schema": SCHEMA + 1}, TOKEN, 409, f"is refused: MoveWanted.schema = '{SCHEMA + 1}': expected {SCHEMA}"),
        ({}, TOKEN, 421, "is refused: o2 is not the primary; the primary is o1"),
    ],
)
def test_an_orchestrator_says_aloud_what_it_refuses(
    door: str, said: list[str], change: dict[str, Any], token: str | None, code: int, says: str
) -> None:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    answer = httpx.post(f"{door}/v1/move", json=MOVE | change, headers=headers, trust_env=False)
    assert answer.status_code == code and len(said) == 1
    assert said[0].startswith("a request of 127.0.0.1 ") and says in said[0]
    assert "\n" not in said[0] and TOKEN[:-1] not in said[0]


@pytest.mark.parametrize(
    ("change", "token", "says"),
    [
        ({"schema": SCHEMA + 1}, TOKEN, f"NodeStatus.schema = '{SCHEMA + 1}': expected {SCHEMA}; update the older side"),
        ({"mood": "good"}, TOKEN, "NodeStatus.mood is no field that we know"),
        ({"node": "n2"}, TOKEN, "calls itself n2: it is not heard"),
        ({}, "another-token-than-the-node-has", "answers 401 instead of its status"),
    ],
)
def test_a_node_of_another_version_or_token_is_not_heard_and_that_is_said(
    said: list[str], change: dict[str, Any], token: str, says: str
) -> None:
    host, heard, told = MemoryHost(), list[StatusHeard](), threading.Event()
    reporter = StatusReporter("n1", host, MachineGauge(), now=lambda: AT)
    reporter.told.whole = json.dumps(json.loads(reporter.told.whole) | change).encode()
    app = node_application(CommandDesk(host, lambda: AT), reporter, TOKEN, lambda line: None)
    server = NodeServer(app, Listening(TOKEN))
    server.start()

    def say(line: str) -> None:
        said.append(line)
        told.set()

    poll = StatusPoll(token, heard.append, say=say)
    poll.watch({"n1": server.address})
    poll.start()
    try:
        assert told.wait(20)
    finally:
        poll.stop()
        server.stop()
    assert heard == [] and len(said) == 1
    assert said[0].startswith(f"node n1 at {server.address}") and says in said[0] and "\n" not in said[0]
