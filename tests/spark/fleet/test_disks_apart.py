"""Two real nodes whose checkpoints lie on disks that the other cannot see, under the same path: moves are exact."""

import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headway.fleet.client import NodeUnreachable
from headway.fleet.node.checkpoints import PULLED
from headway.fleet.node.wire import CommandReceipt
from spark.fleet.fleet_apart_child import OWN_DISK
from spark.fleet.moving import Fleet, NodeProcess
from spark.scripted import wait_until

BALLAST = 256 << 20


def namespaces() -> bool:
    return shutil.which("unshare") is not None and subprocess.run(["unshare", "-m", "true"], check=False).returncode == 0


pytestmark = [pytest.mark.spark, pytest.mark.skipif(not namespaces(), reason="needs mount namespaces: run as root")]


class FleetApart(Fleet):
    """Two nodes over two disks."""

    def __init__(self, work: Path) -> None:
        (work / "checkpoints").mkdir()
        self.ports = {name: _free() for name in ("a", "b")}
        super().__init__(work)

    def begun(self, name: str) -> NodeProcess:
        disk = self.work / f"disk-{name}"
        disk.mkdir(exist_ok=True)
        peers = [word for other, port in self.ports.items() if other != name for word in ("--peer", _url(port))]
        before = (*OWN_DISK, str(disk), str(self.work / "checkpoints"))
        return NodeProcess(name, self.work, "--port", str(self.ports[name]), *peers, before=before)

    def on(self, name: str, query: str, epoch: int) -> Path:
        """The folder of an incarnation as only that node sees it."""
        return self.work / f"disk-{name}" / query / f"i-{epoch}"


def _free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _url(port: int) -> str:
    return f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FleetApart]:
    made = FleetApart(tmp_path_factory.mktemp("apart"))
    try:
        yield made
    finally:
        made.end()


def drained(source: NodeProcess, epoch: int) -> dict[str, Any]:
    """What the next incarnation is told of the one that has ended."""
    told = source.did("drain", "counts", epoch, next_epoch=epoch + 1)
    return {"batch": told.batch, "experience": told.experience}


def exact(fleet: FleetApart, windows: int) -> None:
    """So many more windows than there are come out, and all are right."""
    before = fleet.windows("counts")
    wait_until(lambda: fleet.windows("counts") >= before + windows, "more windows")
    assert fleet.check("counts") >= before + windows


def killed(node: NodeProcess) -> None:
    os.killpg(node.process.pid, signal.SIGKILL)
    node.end()


def aside(work: Callable[[], CommandReceipt]) -> threading.Thread:
    """Asks somebody who will be killed before the answer."""

    def asked() -> None:
        try:
            work()
        except NodeUnreachable:
            return

    thread = threading.Thread(target=asked)
    thread.start()
    return thread


def test_a_query_moves_to_a_disk_that_has_nothing_of_it_and_back(fleet: FleetApart) -> None:
    fleet.a.did("start", "counts", 1, **fleet.plan("counts", 1))
    fleet.a.await_commits("counts", 1, 4)
    plan = fleet.plan("counts", 2, 1)
    prepared = fleet.b.did("prepare", "counts", 2, **plan)
    assert prepared.copied_bytes and not fleet.on("b", "counts", 1).exists() and not fleet.on("a", "counts", 2).exists()
    told = drained(fleet.a, 1)
    started = fleet.b.did("start", "counts", 2, **told, **plan)
    assert started.batch == told["batch"]
    assert (fleet.on("a", "counts", 1) / ".headway.promised").read_text() == fleet.folder("counts", 2)
    fleet.b.await_commits("counts", 2, 3)
    fleet.a.did("stop", "counts", 1)
    assert "1 of 1 folders" in fleet.b.did("clean", "counts", 3, origins=(fleet.folder("counts", 1),)).because
    assert not fleet.on("a", "counts", 1).exists() and not any((fleet.work / "disk-b/counts" / PULLED).iterdir())
    fleet.a.did("start", "counts", 3, **drained(fleet.b, 2), **fleet.plan("counts", 3, 2))  # without being prepared
    fleet.a.await_commits("counts", 3, 3)
    exact(fleet, 3)


def test_where_the_target_is_killed_in_mid_copy_the_query_goes_home(fleet: FleetApart) -> None:
    plan = fleet.plan("counts", 4, 3)
    fleet.b.did("prepare", "counts", 4, **plan)
    told = drained(fleet.a, 3)
    ballast = fleet.on("a", "counts", 3) / "sources" / "0" / "ballast"
    ballast.parent.mkdir(parents=True, exist_ok=True)
    with ballast.open("wb") as out:
        for _ in range(BALLAST >> 20):
            out.write(os.urandom(1 << 20))
    asked = aside(lambda: fleet.b.ask("start", "counts", 4, **told, **plan))
    pulled = fleet.work / "disk-b" / "counts" / PULLED
    wait_until(lambda: any(file.stat().st_size for file in pulled.rglob(".ballast.part")), "a part of the ballast")
    killed(fleet.b)
    asked.join(60)
    assert '"complete": false' in (fleet.on("b", "counts", 4) / ".headway.incarnation").read_text()
    ballast.unlink()
    home = fleet.a.did("start", "counts", 5, **told, **fleet.plan("counts", 5, 3, 4))
    assert home.batch == told["batch"]
    fleet.a.await_commits("counts", 5, 3)
    exact(fleet, 3)
    fleet.b = fleet.begun("b").ready()


def test_what_only_a_dead_node_has_is_waited_for_and_nothing_older_is_taken(fleet: FleetApart) -> None:
    plan = fleet.plan("counts", 6, 5)
    fleet.b.did("prepare", "counts", 6, **plan)
    fleet.b.did("start", "counts", 6, **drained(fleet.a, 5), **plan)
    fleet.b.await_commits("counts", 6, 3)
    fleet.a.did("stop", "counts", 5)
    killed(fleet.b)
    refused = fleet.a.ask("start", "counts", 7, **fleet.plan("counts", 7, 5, 6))
    assert not refused.done and "start the node again on whose disk it is" in refused.because
    gone = fleet.a.ask("start", "counts", 7, **fleet.plan("counts", 7, 6))
    assert not gone.done and "no node that answers has one of its checkpoints" in gone.because
    fleet.b = fleet.begun("b").ready()
    fleet.a.did("start", "counts", 8, **fleet.plan("counts", 8, 5, 6))
    fleet.a.await_commits("counts", 8, 3)
    exact(fleet, 3)
