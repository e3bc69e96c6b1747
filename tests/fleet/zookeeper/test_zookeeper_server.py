"""A real ZooKeeper of our own: it starts, goes on after a crash, and leaves nothing behind."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from fleet.trees import RunningZooKeeper
from headway.errors import HeadwayError, SettingError
from headway.fleet.session import MakeNode, TreeNode
from headway.fleet.zookeeper import server
from headway.fleet.zookeeper.server import ZooKeeperServer
from headway.fleet.zookeeper.session import open_session
from headway.servers import process


@pytest.mark.spark
def test_it_holds_its_nodes_over_a_crash_and_takes_its_data_with_it(tmp_path: Path) -> None:
    first = server.start(tmp_path / "data", tick_ms=200)
    with open_session(first.address, "test", timeout_ms=2_000) as session:
        session.commit(MakeNode("/kept", "as it was"))
    first.kill()
    assert not first.alive and first.told() == {}
    second = server.start(tmp_path / "data", port=first.port, tick_ms=200)
    with open_session(second.address, "test", timeout_ms=2_000) as session:
        assert session.read("/kept") == TreeNode("as it was", 0, own=False)
    assert second.told()["Mode"] == "standalone"
    second.stop()
    assert not second.alive and not (tmp_path / "data").exists()


def test_a_port_that_is_taken_is_named(zookeeper: RunningZooKeeper) -> None:
    port = zookeeper.server.port
    with pytest.raises(SettingError, match=f"port = {port}: expected a free port"):
        server.start(port=port)


def test_a_tick_that_is_too_short_is_refused() -> None:
    with pytest.raises(SettingError, match="tick = 10: expected 50 milliseconds or more"):
        server.start(tick_ms=10)


@pytest.mark.spark
def test_one_that_cannot_start_is_told_by_what_it_said_last(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where its folder is to be")
    with pytest.raises(HeadwayError, match=r"zookeeper: the server has ended at once: .*data") as caught:
        server.start(tmp_path)
    assert "\n" not in str(caught.value)


def test_what_was_written_down_may_be_gone(tmp_path: Path) -> None:
    note = tmp_path / "state" / "zookeeper.json"
    assert ZooKeeperServer.load(note) is None
    ZooKeeperServer(1, os.getpid(), "nowhere", born=0.0).save(note)
    found = ZooKeeperServer.load(note)
    assert found is not None and not found.alive, "another process has that number now"


@pytest.mark.spark
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_a_guarded_server_ends_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    code = (
        "from headway.fleet.zookeeper import server; import sys, time; "
        "print(server.start(sys.argv[1]).pid, flush=True); time.sleep(300)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "data")]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = psutil.Process(int(parent.stdout.readline()))
    parent.kill()
    parent.wait()
    parent.stdout.close()
    child.wait(timeout=60)
    assert not child.is_running()


@pytest.mark.spark
def test_a_port_that_was_free_and_is_taken_meanwhile_is_given_up_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        ports = [busy.getsockname()[1], process.free_port()]
        left = iter(ports)
        monkeypatch.setattr(process, "free_port", lambda: next(left))
        started = server.start(tmp_path / "data", tick_ms=200)
    assert started.port == ports[1] and started.told()["Mode"] == "standalone"
    started.stop()
