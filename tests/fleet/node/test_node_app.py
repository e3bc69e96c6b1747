"""The door of a node over real HTTP: who is let in, what is refused, and in which words."""

import json
import re
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from fleet.node.memory_host import AT, MemoryHost
from headway.errors import SettingError
from headway.fleet.client import NodeClient, NodeRefused, NodeUnreachable
from headway.fleet.node.app import MOST_BYTES, Listening, NodeServer, application
from headway.fleet.node.desk import CommandDesk
from headway.fleet.node.machine import MachineGauge
from headway.fleet.node.reporter import StatusReporter
from headway.fleet.node.text import written
from headway.fleet.node.wire import SCHEMA, NodeCommand

TOKEN = "correct-horse-battery-staple"
PREPARE = NodeCommand("r1", "prepare", "counts", 1)


class NodeUnderTest:
    """A node without Spark, at its door."""

    def __init__(self, listening: Listening | None = None) -> None:
        self.host, self.said = MemoryHost(), list[str]()
        self.reporter = StatusReporter("n1", self.host, MachineGauge(), now=lambda: AT)
        desk = CommandDesk(self.host, lambda: AT, self.said.append)
        app = application(desk, self.reporter, TOKEN, self.said.append)
        self.server = NodeServer(app, listening or Listening(TOKEN))
        self.server.start()
        self.url = self.server.address

    def post(self, body: bytes | str, path: str = "/v1/queries/counts/prepare", token: str | None = TOKEN) -> httpx.Response:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return httpx.post(self.url + path, content=body, headers=headers, trust_env=False)

    def refused(self, code: int, *words: Any, **more: Any) -> str:
        """The one line with which that is refused; nothing was done."""
        before = len(self.said), list(self.host.obeyed)
        answer = self.post(*words, **more)
        line: str = answer.json()["error"]
        assert answer.status_code == code and "\n" not in line and self.host.obeyed == before[1]
        assert len(self.said) == before[0] + 1 and "\n" not in self.said[-1] and TOKEN not in self.said[-1]
        return line


@pytest.fixture(scope="module")
def running() -> Iterator[NodeUnderTest]:
    node = NodeUnderTest()
    yield node
    node.server.stop()


@pytest.fixture
def node(running: NodeUnderTest) -> NodeUnderTest:
    running.host.queries.clear()
    running.said.clear()
    return running


@pytest.fixture
def client(node: NodeUnderTest) -> Iterator[NodeClient]:
    with NodeClient(node.url, TOKEN) as made:
        yield made


def fresh(action: Any, epoch: int = 1, **more: Any) -> NodeCommand:
    fresh.n += 1  # type: ignore[attr-defined]
    return NodeCommand(f"fresh-{fresh.n}", action, "counts", epoch, **more)  # type: ignore[attr-defined]


fresh.n = 0  # type: ignore[attr-defined]


def test_a_query_is_led_through_its_life(node: NodeUnderTest, client: NodeClient) -> None:
    for action, state in (("prepare", "prepared"), ("take", "taken"), ("start", "at the gate"), ("drain", "drained")):
        assert client.send(fresh(action)).done
        assert node.host.queries["counts"].state == state
    assert client.send(fresh("stop")).done and node.host.queries == {} and node.said == []


@pytest.mark.parametrize("token", [None, "x", "wrong", TOKEN[:-1], TOKEN + "x", TOKEN.upper()])
def test_without_the_token_nothing_is_told_or_done(node: NodeUnderTest, token: str | None) -> None:
    assert "expected the token" in node.refused(401, written(PREPARE), token=token)
    for path in ("/v1/status", "/v1/health", "/", "/nowhere"):
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        answer = httpx.get(node.url + path, headers=headers, trust_env=False)
        assert answer.status_code == 401 and "n1" not in answer.text


def test_the_token_must_come_as_a_bearer(node: NodeUnderTest) -> None:
    for given in (TOKEN, f"Basic {TOKEN}", f"bearer {TOKEN}", f"Bearer  {TOKEN}"):
        answer = httpx.get(f"{node.url}/v1/health", headers={"Authorization": given}, trust_env=False)
        assert answer.status_code == 401


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("", "NodeCommand: expected JSON"),
        ("not json", "NodeCommand: expected JSON"),
        ("[]", "NodeCommand: expected an object"),
        ("{}", "NodeCommand.schema is missing"),
        (json.dumps({"schema": SCHEMA}), "NodeCommand.request is missing"),
        (written(fresh("drain")), "NodeCommand is drain of 'counts': the address says otherwise"),
    ],
)
def test_a_malformed_body_is_refused(node: NodeUnderTest, body: str, line: str) -> None:
    assert node.refused(400, body) == line


def test_another_schema_is_refused(node: NodeUnderTest) -> None:
    body = json.dumps(json.loads(written(fresh("prepare"))) | {"schema": SCHEMA + 1})
    assert node.refused(409, body) == "NodeCommand.schema = '2': expected 1; update the older side"


def test_a_body_without_an_end_is_refused(node: NodeUnderTest) -> None:
    assert node.refused(413, b" " * (MOST_BYTES + 1)) == f"the body has more than {MOST_BYTES} bytes"


def test_an_unknown_query_action_or_address_is_refused(node: NodeUnderTest) -> None:
    unknown = NodeCommand("u1", "prepare", "nobody", 1)
    answer = node.post(written(unknown), "/v1/queries/nobody/prepare")
    assert answer.status_code == 404 and "expected one of counts, sums" in answer.json()["error"]
    assert "expected one of prepare" in node.refused(404, b"{}", "/v1/queries/counts/destroy")
    assert "no such address" in node.refused(404, b"{}", "/v2/queries/counts/prepare")


def test_a_replayed_request_is_answered_as_before_and_changes_nothing(node: NodeUnderTest, client: NodeClient) -> None:
    command = fresh("prepare")
    first = node.post(written(command))
    client.send(fresh("abandon"))
    assert node.post(written(command)).text == first.text and node.host.queries == {}
    reused = NodeCommand(command.request, "prepare", "counts", 9)
    assert "expected a new id" in node.refused(409, written(reused))


def test_names_are_told_apart_from_addresses(node: NodeUnderTest, client: NodeClient) -> None:
    with pytest.raises(NodeRefused, match="404"):
        client.send(NodeCommand("odd", "prepare", "../a b/%2e?x#y", 1))
    assert "../a b/%2e?x#y" in node.said[-1]


def test_the_status_is_what_the_reporter_saw_last(node: NodeUnderTest, client: NodeClient) -> None:
    client.send(fresh("prepare"))
    told = node.reporter.look()
    assert client.status() == told and [q.name for q in told.queries] == ["counts"] and told.machine.heap == 0.25
    assert node.reporter.look().sequence == told.sequence + 1
    health = client.health()
    assert (health["node"], health["run"], health["schema"]) == ("n1", told.run, SCHEMA)


def test_a_reader_may_say_which_status_it_has_heard(node: NodeUnderTest) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    number = node.reporter.look().sequence
    answer = httpx.get(f"{node.url}/v1/status?since={number}", headers=headers, trust_env=False)
    assert answer.status_code == 200 and answer.json()["sequence"] == number
    for nonsense in ("x", "-1", "", "9" * 19):
        refused = httpx.get(f"{node.url}/v1/status?since={nonsense}", headers=headers, trust_env=False)
        assert refused.status_code == 400 and "expected the number of a status" in refused.json()["error"]


def test_a_client_says_what_the_node_said(node: NodeUnderTest, client: NodeClient) -> None:
    with pytest.raises(NodeRefused, match=r"answers 404: query = 'counts': expected one that this node hosts") as caught:
        client.send(fresh("stop"))
    assert caught.value.code == 404
    with NodeClient(node.url, "wrong-token-wrong-token") as stranger, pytest.raises(NodeRefused, match="answers 401"):
        stranger.status()


class Unreliable:
    """Between a client and a node: cuts the first answers off, after the node has done its work."""

    def __init__(self, url: str, cuts: int) -> None:
        self._to, self._cuts = httpx.URL(url), cuts
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"

    def serve(self) -> None:
        while True:
            try:
                link, _ = self._server.accept()
            except OSError:
                return
            with link, socket.create_connection((str(self._to.host), int(self._to.port or 0))) as there:
                there.sendall(whole_message(link))
                answer = whole_message(there)
                if self._cuts > 0:
                    self._cuts -= 1
                else:
                    link.sendall(answer)

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()


def whole_message(link: socket.socket) -> bytes:
    """A request or an answer, to its end."""
    link.settimeout(30)
    said = b""
    while b"\r\n\r\n" not in said:
        said += link.recv(65_536)
    head, _, body = said.partition(b"\r\n\r\n")
    found = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    assert found is not None
    while len(body) < int(found[1]):
        body += link.recv(65_536)
    return head + b"\r\n\r\n" + body


def test_a_lost_answer_is_asked_for_again_with_the_same_request(node: NodeUnderTest) -> None:
    between, pauses = Unreliable(node.url, cuts=2), list[float]()
    thread = threading.Thread(target=between.serve)
    thread.start()
    command, before = fresh("prepare"), list(node.host.obeyed)
    with NodeClient(between.url, TOKEN, pause=pauses.append) as patient:
        assert patient.send(command).done
    assert node.host.obeyed == [*before, command.request] and pauses == [0.2, 0.4]
    between.close()
    thread.join(10)


def test_a_node_that_is_not_there_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    says = f"http://127.0.0.1:{port} gives no answer: ConnectError"
    with (
        NodeClient(f"http://127.0.0.1:{port}", TOKEN, pause=lambda s: None) as lonely,
        pytest.raises(NodeUnreachable, match=says),
    ):
        lonely.status()


def test_elsewhere_than_on_loopback_it_listens_with_a_token_only() -> None:
    with pytest.raises(SettingError, match=r"token = None: expected a token, since 0.0.0.0 is not loopback"):
        Listening(None, "0.0.0.0")
    assert Listening(None, "::1").local and Listening(None, "localhost").local and not Listening(TOKEN, "node.example").local


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"token": "short"}, "token = '5 letters': expected 16 or more"),
        ({"token": TOKEN, "cert": Path("c.pem")}, "cert = 'c.pem': expected a certificate and its key"),
    ],
)
def test_settings_of_the_door_are_looked_at(given: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingError) as caught:
        Listening(**given)
    assert str(caught.value).startswith(says)


def test_a_port_that_is_taken_and_a_certificate_that_is_none_are_one_line(tmp_path: Path) -> None:
    async def nothing(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("nobody calls")

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingError, match=f"port = '127.0.0.1:{port}': expected an address that is free"):
            NodeServer(nothing, Listening(TOKEN, port=port))
    (tmp_path / "no.pem").write_text("nothing")
    with pytest.raises(SettingError, match=r"cert = '.*no.pem': expected a certificate and its key as PEM files"):
        NodeServer(nothing, Listening(TOKEN, cert=tmp_path / "no.pem", key=tmp_path / "no.pem"))


def test_with_a_certificate_it_speaks_tls_and_only_to_who_trusts_it(tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    words += ["-subj", "/CN=node", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]
    subprocess.run(words, check=True, capture_output=True)
    node = NodeUnderTest(Listening(TOKEN, cert=cert, key=key))
    try:
        assert node.url.startswith("https://")
        with NodeClient(node.url, TOKEN, ca=cert) as trusting:
            assert trusting.send(fresh("prepare")).done
        says = "CERTIFICATE_VERIFY_FAILED"
        with NodeClient(node.url, TOKEN, pause=lambda s: None) as strict, pytest.raises(NodeUnreachable, match=says):
            strict.status()
    finally:
        node.server.stop()


def test_the_server_ends_and_its_address_is_free() -> None:
    node = NodeUnderTest()
    port = int(node.url.rpartition(":")[2])
    with NodeClient(node.url, TOKEN) as caller:
        assert caller.health()["node"] == "n1"
    node.server.stop()
    assert not node.server.serving
    socket.create_server(("127.0.0.1", port)).close()
