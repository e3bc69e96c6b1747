"""How an orchestrator asks nodes how they stand: over real HTTP, on kept connections, as often as their number allows."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from fleet.node.memory_host import AT, MemoryHost
from headway.fleet.node.app import Listening, NodeServer, application
from headway.fleet.node.desk import CommandDesk
from headway.fleet.node.machine import MachineGauge
from headway.fleet.node.reporter import StatusReporter
from headway.fleet.orchestrator import statuses
from headway.fleet.orchestrator.status_link import StatusLink
from headway.fleet.orchestrator.statuses import StatusHeard, StatusPoll, Watch, period_s

TOKEN = "correct-horse-battery-staple"


class AskedNode:
    """A node at its door, whose status is another one each time that it is asked."""

    def __init__(self, name: str) -> None:
        self.name, self.asked = name, list[str]()
        host = MemoryHost()
        self.reporter = StatusReporter(name, host, MachineGauge(), now=lambda: AT)
        self._app = application(CommandDesk(host, lambda: AT), self.reporter, TOKEN, lambda line: None)
        self.peers: list[Any] = []
        self.server = NodeServer(self, Listening(TOKEN))
        self.server.start()

    @property
    def address(self) -> str:
        return self.server.address

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked.append(scope["query_string"].decode())
        self.peers.append(scope["client"])
        self.reporter.look()
        await self._app(scope, receive, send)


@pytest.fixture
def node() -> Iterator[AskedNode]:
    made = AskedNode("n1")
    yield made
    made.server.stop()


class Ear:
    """What was posted, and what was said."""

    def __init__(self) -> None:
        self.heard, self.said = list[StatusHeard](), list[str]()
        self._news = threading.Condition()

    def post(self, heard: StatusHeard) -> None:
        with self._news:
            self.heard.append(heard)
            self._news.notify_all()

    def say(self, text: str) -> None:
        with self._news:
            self.said.append(text)
            self._news.notify_all()

    def wait_until(self, heard: int = 0, said: int = 0) -> None:
        with self._news:
            assert self._news.wait_for(lambda: len(self.heard) >= heard and len(self.said) >= said, 30)


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statuses, "EVERY_S", 0.05)
    monkeypatch.setattr(statuses, "TURN_S", 0.01)


def test_a_node_is_asked_again_and_again_on_one_connection(node: AskedNode, often: None) -> None:
    ear = Ear()
    poll = StatusPoll(TOKEN, ear.post, say=ear.say)
    poll.start()
    poll.watch({"n1": node.address})
    ear.wait_until(heard=4)
    poll.stop()
    numbers = [heard.status.sequence for heard in ear.heard]
    assert all(before < after for before, after in pairwise(numbers)) and ear.said == []
    assert len(set(node.peers)) == 1, "one connection"
    assert node.asked[0] == "" and node.asked[1] == f"since={numbers[0]}", "only what is new is told"


def test_a_node_that_comes_back_elsewhere_is_asked_there(node: AskedNode, often: None) -> None:
    ear, other = Ear(), AskedNode("n1")
    poll = StatusPoll(TOKEN, ear.post, say=ear.say)
    poll.start()
    poll.watch({"n1": node.address})
    ear.wait_until(heard=1)
    node.server.stop()
    poll.watch({"n1": other.address})
    ear.wait_until(heard=len(ear.heard) + 2)
    poll.stop()
    other.server.stop()
    assert ear.heard[-1].status.run == other.reporter.status.run and other.asked[0] == ""


@pytest.mark.parametrize(
    ("name", "token", "says"),
    [
        ("n1", "wrong-token-wrong-token", "answers 401 instead of its status"),
        ("n2", TOKEN, "calls itself n1: it is not heard"),
    ],
)
def test_who_cannot_be_heard_is_told_of_once(node: AskedNode, often: None, name: str, token: str, says: str) -> None:
    ear = Ear()
    poll = StatusPoll(token, ear.post, say=ear.say)
    poll.start()
    poll.watch({name: node.address})
    ear.wait_until(said=1)
    while len(node.asked) < 4:
        threading.Event().wait(0.01)
    poll.stop()
    assert ear.said == [f"node {name} at {node.address} {says}"] and ear.heard == []


def test_a_connection_that_the_node_has_closed_is_opened_again() -> None:
    """As it does with one that was not used for long."""
    answers = list[bytes]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        writer.close()

    async def ask() -> list[tuple[int, bytes]]:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            link = StatusLink(f"http://127.0.0.1:{port}", TOKEN, None)
            found = [await link.ask(), await link.ask(7)]
            link.close()
            return found

    assert asyncio.run(ask()) == [(200, b"{}")] * 2
    assert b"since=7" in answers[1] and f"Bearer {TOKEN}".encode() in answers[0]


@pytest.mark.parametrize(
    "answer", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n", b"x" * 99_999]
)
def test_what_is_no_answer_is_as_good_as_none(answer: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    async def ask() -> None:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            await StatusLink(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", TOKEN, None).ask()

    with pytest.raises((OSError, EOFError)):
        asyncio.run(ask())


def test_nobody_there_is_no_reason_to_stop_asking(node: AskedNode, often: None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        nowhere = f"http://127.0.0.1:{gone.getsockname()[1]}"
    ear = Ear()
    poll = StatusPoll(TOKEN, ear.post, say=ear.say)
    poll.start()
    poll.watch({"n0": nowhere, "n1": node.address})
    ear.wait_until(heard=3)
    poll.stop()
    assert {heard.status.node for heard in ear.heard} == {"n1"} and ear.said == []


def test_an_orchestrator_hears_a_hundred_statuses_a_second_at_most() -> None:
    assert [period_s(nodes) for nodes in (0, 3, 100, 250, 1_000)] == [1.0, 1.0, 1.0, 2.5, 10.0]


class Turns(StatusPoll):
    """Asks nobody, and notes who would have been asked."""

    def __init__(self) -> None:
        super().__init__(TOKEN, lambda heard: None)
        self.asked: list[tuple[float, str]] = []

    async def play(self, watch: Watch, seconds: int) -> None:
        self._meet(watch.addresses)
        for step in range(seconds * 20):
            self.now = step / 20
            self._turn(watch, self.now)
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    async def _ask(self, node: Any) -> None:
        self.asked.append((self.now, node.name))
        node.waits = False


def test_turns_are_spread_and_a_busy_node_has_its_turn_every_second() -> None:
    turns, names = Turns(), [f"n{number}" for number in range(400)]
    watch = Watch(dict.fromkeys(names, "http://127.0.0.1:1"), frozenset({"n7"}))
    asyncio.run(turns.play(watch, 21))
    times = {name: [at for at, asked in turns.asked if asked == name] for name in names}
    assert all(3.5 < after - before < 4.5 for before, after in pairwise(times["n9"][1:])) and len(times["n9"]) >= 5
    assert all(0.9 < after - before < 1.2 for before, after in pairwise(times["n7"][1:])) and len(times["n7"]) >= 18
    late = [at for at, _ in turns.asked if at >= 5]
    busiest = max(sum(second <= at < second + 1 for at in late) for second in range(5, 20))
    assert busiest < 140, "not all at the same moment"
