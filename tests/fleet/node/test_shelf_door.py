"""A node's checkpoints over real HTTP: asked for, promised, and copied by the same pull as between two sites."""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import httpx
import pytest

from fleet.node.memory_host import AT, MemoryHost
from headway.errors import HeadwayError
from headway.fleet.client import NodeRefused
from headway.fleet.node.app import Listening, NodeServer, application
from headway.fleet.node.checkpoints import PROMISED, CheckpointPromise, CheckpointTold
from headway.fleet.node.desk import CommandDesk
from headway.fleet.node.machine import MachineGauge
from headway.fleet.node.peer_checkpoints import PeerCheckpoints
from headway.fleet.node.reporter import StatusReporter
from headway.transfer.digests import DigestCache, below, listed
from headway.transfer.wire import FileDigest, TransferRefused

TOKEN = "correct-horse-battery-staple"


class FolderShelf:
    """Every folder below one is a checkpoint, and complete. No Spark is needed for that."""

    def __init__(self, root: Path) -> None:
        self.root, self.had = root, list[tuple[str, ...]]()

    def told(self, place: str) -> CheckpointTold:
        folder = self.root / place
        if not folder.is_dir():
            return CheckpointTold(place)
        note = folder / PROMISED
        promised = note.read_text() if note.exists() else None
        return CheckpointTold(place, True, True, "mark", True, None, promised)

    def listing(self, place: str, have: Sequence[str]) -> Mapping[str, FileDigest]:
        self.had.append(tuple(have))
        if not (self.root / place).is_dir():
            raise TransferRefused(404, f"{place!r}: there is no checkpoint here")
        return listed(self.root / place, DigestCache())

    def open(self, place: str, name: str) -> BinaryIO:
        return below(self.root / place, name).open("rb")

    def promise(self, asked: CheckpointPromise) -> None:
        before = self.told(asked.place).promised
        if before not in (None, asked.to, asked.instead):
            raise HeadwayError(f"expected one that no other copy goes on from;\n{before!r} goes on from it")
        (self.root / asked.place / PROMISED).write_text(asked.to)


class Source:
    """A node with two checkpoints."""

    def __init__(self, work: Path, listening: Listening) -> None:
        self.shelf, self.said = FolderShelf(work / "disk"), list[str]()
        state = self.shelf.root / "e1" / "state" / "0" / "0"
        state.mkdir(parents=True)
        (state / "3.snapshot").write_bytes(bytes(range(256)) * 4_000)
        (state / "4.delta").write_bytes(b"a change")
        (self.shelf.root / "e1" / "metadata").write_text('{"id": "x"}')
        host = MemoryHost()
        desk = CommandDesk(host, lambda: AT, self.said.append)
        reporter = StatusReporter("n1", host, MachineGauge(), now=lambda: AT)
        self.server = NodeServer(application(desk, reporter, TOKEN, self.said.append, self.shelf), listening)
        self.server.start()
        self.url = self.server.address


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Source]:
    made = Source(tmp_path, Listening(TOKEN))
    yield made
    made.server.stop()


def peers_of(source: Source, token: str = TOKEN, ca: Path | None = None) -> PeerCheckpoints:
    return PeerCheckpoints(lambda: {"n1": source.url}, token, ca)


def same(one: Path, other: Path) -> bool:
    return listed(one, DigestCache()) == listed(other, DigestCache())


def test_a_checkpoint_is_copied_and_then_only_what_has_changed(source: Source, tmp_path: Path) -> None:
    peers, into = peers_of(source), tmp_path / "copy"
    first = peers.pull(source.url, "e1", into, serving=True)
    assert same(into, source.shelf.root / "e1") and first.files == 3 and first.sent_bytes < first.raw_bytes
    (source.shelf.root / "e1/state/0/0/4.delta").unlink()
    (source.shelf.root / "e1/state/0/0/5.delta").write_bytes(b"another change")
    again = peers.pull(source.url, "e1", into, serving=False)
    assert same(into, source.shelf.root / "e1") and (again.files, again.spared_files) == (1, 2)
    assert source.shelf.had == [(), ("state/0/0/3.snapshot",)]  # so that no newer snapshot is sent needlessly


def test_who_was_killed_in_mid_copy_goes_on_where_it_was(source: Source, tmp_path: Path) -> None:
    half = tmp_path / "copy/state/0/0/.3.snapshot.part"
    half.parent.mkdir(parents=True)
    half.write_bytes((source.shelf.root / "e1/state/0/0/3.snapshot").read_bytes()[:700_000])
    report = peers_of(source).pull(source.url, "e1", tmp_path / "copy", serving=True)
    assert same(tmp_path / "copy", source.shelf.root / "e1") and report.resumed == 1 and report.spared_bytes == 700_000


def test_what_crosses_a_network_is_encrypted_and_the_certificate_is_checked(tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=127.0.0.1"
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]
    subprocess.run(["openssl", *words.split(), *names], check=True, capture_output=True)
    source = Source(tmp_path, Listening(TOKEN, cert=cert, key=key))
    try:
        assert source.url.startswith("https://")
        peers_of(source, ca=cert).pull(source.url, "e1", tmp_path / "copy", serving=True)
        assert same(tmp_path / "copy", source.shelf.root / "e1")
        assert peers_of(source, ca=cert).told_by(source.url, "e1").complete
        with pytest.raises(HeadwayError, match=r"cannot be copied: .*certificate"):
            peers_of(source).pull(source.url, "e1", tmp_path / "other", serving=False)
    finally:
        source.server.stop()


def test_a_checkpoint_is_promised_once(source: Source) -> None:
    peers = peers_of(source)
    peers.promise(source.url, CheckpointPromise("e1", "e2"))
    peers.promise(source.url, CheckpointPromise("e1", "e2"))
    with pytest.raises(NodeRefused, match="answers 409: expected one that no other copy goes on from; 'e2' goes on from it"):
        peers.promise(source.url, CheckpointPromise("e1", "e3"))
    peers.promise(source.url, CheckpointPromise("e1", "e3", instead="e2"))
    assert peers.told("e1")[source.url].promised == "e3"


def test_who_made_a_folder_is_asked_first_and_then_nobody_else(source: Source) -> None:
    others = {"n1": source.url, "n2": "http://127.0.0.1:9"}
    assert set(PeerCheckpoints(lambda: others, TOKEN).told("e1", maker="n1")) == {source.url}
    assert PeerCheckpoints(lambda: others, TOKEN).told("e9", maker="n1") == {}  # who does not answer says nothing


@pytest.mark.parametrize("token", ["", "another-token-of-somebody"])
def test_without_the_token_nothing_is_copied(source: Source, tmp_path: Path, token: str) -> None:
    with pytest.raises(
        HeadwayError, match=r"checkpoint = 'e1': it is on another node's disk, and cannot be copied: .*token"
    ) as error:
        peers_of(source, token).pull(source.url, "e1", tmp_path / "copy", serving=True)
    assert "\n" not in str(error.value) and not (tmp_path / "copy").exists() and TOKEN not in source.said[-1]


def test_a_node_that_is_gone_is_one_line(source: Source, tmp_path: Path) -> None:
    source.server.stop()
    with pytest.raises(HeadwayError, match=r"cannot be copied: http.*the connection failed 3 times") as error:
        peers_of(source).pull(source.url, "e1", tmp_path / "copy", serving=False)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("verb", "path", "body", "code", "line"),
    [
        ("GET", "/v1/checkpoint", "", 400, "place: expected one in the address"),
        ("GET", "/v1/file?folder=e1&name=metadata&offset=x&until=1&compress=0", "", 400, "offset = 'x': expected a number"),
        ("GET", "/v1/file?folder=e1&name=../../token&offset=0&until=1&compress=0", "", 404, "there is no such place here"),
        ("GET", "/v1/file?folder=e1&name=metadata&offset=99&until=99&compress=0", "", 416, "the file has 11 bytes"),
        ("POST", "/v1/list", "{", 400, "ListingAsked: expected JSON"),
        ("POST", "/v1/list", '{"folder": "e7"}', 404, "there is no checkpoint here"),
        ("POST", "/v1/list", " " * (1 << 21), 413, "the body has more than"),
        ("POST", "/v1/promise", '{"place": "e1"}', 400, "CheckpointPromise.to is missing"),
    ],
)
def test_what_is_not_as_it_should_be_is_refused_in_one_line(
    source: Source, verb: str, path: str, body: str, code: int, line: str
) -> None:
    with httpx.Client(base_url=source.url, headers={"Authorization": f"Bearer {TOKEN}"}, trust_env=False) as client:
        answer = client.request(verb, path, content=body)
    said = answer.json()["error"]
    assert answer.status_code == code and line in said and "\n" not in said and said in source.said[-1]
