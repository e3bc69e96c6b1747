"""Sites in network namespaces: links as thin as told, and nothing left behind, whoever is killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from headway.cli.app import app
from headway.errors import HeadwayError, SettingError
from headway.wan import testbed
from headway.wan.control.link_gauge import counted
from headway.wan.held_sites import HeldSites
from headway.wan.testbed import WanTestbed

why = testbed.unavailable()
needs_namespaces = pytest.mark.skipif(why is not None, reason=f"needs network namespaces: {why}")
RECEIVE = """
import socket, sys, time
with socket.create_server((sys.argv[1], 7000)) as server:
    print("ready", flush=True)
    peer, _ = server.accept()
    got, began = 0, None
    while chunk := peer.recv(65536):
        began = began or time.monotonic()
        got += len(chunk)
    print(got, time.monotonic() - began, flush=True)
"""
SEND = """
import socket, sys
with socket.create_connection((sys.argv[1], 7000)) as peer:
    peer.sendall(b"x" * int(sys.argv[2]))
"""
# Without a listener the answer is a refusal, and that came over the link.
REACH = """
import socket, sys
peer = socket.socket()
peer.settimeout(1)
try:
    peer.connect((sys.argv[1], 7001))
except ConnectionRefusedError:
    sys.exit(0)
except OSError:
    sys.exit(1)
"""


@pytest.fixture
def bed() -> Iterator[WanTestbed]:
    made = testbed.up(["here", "there", "far"], 8_000_000)
    yield made
    made.down()


def sent(bed: WanTestbed, source: str, target: str, size: int) -> tuple[int, float]:
    """Bytes that arrived, and in how many seconds."""
    there = bed.address(target)
    receiver = subprocess.Popen(
        bed.command(target, sys.executable, "-c", RECEIVE, there), stdout=subprocess.PIPE, text=True
    )  # fmt: skip
    assert receiver.stdout is not None and receiver.stdout.readline() == "ready\n"
    subprocess.run(bed.command(source, sys.executable, "-c", SEND, there, str(size)), check=True)
    got, seconds = receiver.stdout.read().split()
    receiver.stdout.close()
    receiver.wait()
    return int(got), float(seconds)


def links_of_this_machine() -> set[str]:
    return set(os.listdir("/sys/class/net"))


@needs_namespaces
def test_bytes_cross_a_link_between_any_two_sites_and_the_kernel_counts_them(bed: WanTestbed) -> None:
    for source, target in (("here", "there"), ("there", "here"), ("here", "far"), ("far", "there")):
        assert sent(bed, source, target, 50_000)[0] == 50_000
    told = {(link.source, link.target): link for link in bed.status()}
    assert len(told) == 6 and told["here", "far"].sent_bytes > 50_000 > told["far", "here"].sent_bytes
    assert {link.bits_per_s for link in told.values()} == {8_000_000}


@needs_namespaces
def test_a_link_is_as_thin_as_told_and_that_is_changed_while_it_runs(bed: WanTestbed) -> None:
    bed.set_bandwidth("here", "there", 2_000_000)
    told = {(link.source, link.target): link.bits_per_s for link in bed.status()}
    assert told["here", "there"] == 2_000_000 and told["there", "here"] == told["here", "far"] == 8_000_000
    # A limit is a lower bound of the time, whatever else the machine does.
    got, seconds = sent(bed, "here", "there", 500_000)
    assert got == 500_000 and seconds > 0.8 * (500_000 - 64_000) * 8 / 2_000_000


@needs_namespaces
def test_nothing_is_left_when_the_keeper_is_killed() -> None:
    before = links_of_this_machine()
    bed = testbed.up(["a", "b"], 1_000_000)
    assert links_of_this_machine() == before and bed.alive
    holders = [psutil.Process(pid) for pid in bed.pids]
    os.kill(bed.keeper, signal.SIGKILL)
    gone, left = psutil.wait_procs(holders, timeout=10)
    assert len(gone) == 2 and left == [] and links_of_this_machine() == before
    os.waitpid(bed.keeper, 0)
    assert not bed.alive and bed.down() is False
    with pytest.raises(HeadwayError, match="has ended"):
        bed.set_bandwidth("a", "b", 1_000_000)


STARTER = """
import time
from headway.wan import testbed
from headway.wan.control.link_gauge import counted
from headway.wan.held_sites import HeldSites
bed = testbed.up(["a", "b"], 1_000_000, ends_with_parent=True)
print(bed.keeper, *bed.pids, flush=True)
time.sleep(600)
"""


@needs_namespaces
def test_nothing_is_left_when_the_process_is_killed_that_wanted_it_to_end_with_it() -> None:
    starter = subprocess.Popen([sys.executable, "-c", STARTER], stdout=subprocess.PIPE, text=True)
    assert starter.stdout is not None
    all_of_it = [psutil.Process(int(pid)) for pid in starter.stdout.readline().split()]
    starter.kill()
    starter.wait()
    starter.stdout.close()
    gone, left = psutil.wait_procs(all_of_it, timeout=20)
    assert len(gone) == 3 and left == []


def arrives(bed: WanTestbed, source: str, target: str) -> bool:
    command = [sys.executable, "-c", REACH, bed.address(target)]
    return subprocess.run(bed.command(source, *command), capture_output=True).returncode == 0


@needs_namespaces
def test_a_link_that_is_down_carries_nothing_and_comes_back_as_it_was(bed: WanTestbed) -> None:
    bed.set_bandwidth("here", "there", 2_000_000)
    assert arrives(bed, "here", "there") and arrives(bed, "there", "here")
    for _ in range(2):
        bed.set_link("there", "here", up=False)
        assert not arrives(bed, "here", "there") and not arrives(bed, "there", "here") and arrives(bed, "here", "far")
        down = {(link.source, link.target) for link in bed.status() if not link.up}
        assert down == {("here", "there"), ("there", "here")}
        assert {pair for pair, count in counted(bed).items() if not count.up} == down
        bed.set_link("there", "here", up=True)
        assert arrives(bed, "here", "there") and arrives(bed, "there", "here")
        assert all(link.up for link in bed.status())
    told = {(link.source, link.target): link for link in bed.status()}
    assert told["here", "there"].bits_per_s == 2_000_000 and told["here", "there"].sent_bytes > 0
    assert sent(bed, "here", "there", 50_000)[0] == 50_000
    with pytest.raises(SettingError, match="another site"):
        bed.set_link("here", "here", up=False)


@needs_namespaces
def test_it_is_run_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    def ran(line: str) -> str:
        shown = CliRunner().invoke(app, ["wan", *line.split()])
        return shown.output if shown.exit_code == 0 else f"{type(shown.exception).__name__}: {shown.exception}"

    try:
        assert "a is 10.78.0.1" in ran("up --sites a,b --bandwidth 4")
        assert "a testbed runs already, of a, b" in ran("up")
        assert "a -> b: 1.5 Mbit/s" in ran("set-bandwidth a b 1.5 --both")
        assert ran("status").count("1.5") == 2
        assert "expected one of a, b" in ran("set-bandwidth a c 1")
        assert "a - b is down" in ran("set-link a b down") and ran("status").count("down") == 2
        assert "a - b is up" in ran("set-link a b up") and "down" not in ran("status")
        assert "expected up or down" in ran("set-link a b away") and "expected up or down" in ran("set-site a away")
        assert "b is to be down" in ran("set-site b down") and "expected one of a, b" in ran("set-site c down")
        assert HeldSites(tmp_path / "headway" / "wan-held").names == {"b"}
        assert "dollars" in ran("status --usd-per-gb 1000")
    finally:
        assert "taken down" in ran("down")
    assert "no testbed runs" in ran("status") and "nothing to take down" in ran("down")


@pytest.mark.parametrize(
    ("names", "bits", "says"),
    [(["a"], 10**6, "sites"), (["a", "a"], 10**6, "each once"), (["a", "b"], 5, "bandwidth")],
)
def test_what_cannot_be_is_refused_before_anything_is_made(names: list[str], bits: int, says: str) -> None:
    with pytest.raises(SettingError, match=says):
        testbed.up(names, bits)


def test_where_tools_are_missing_it_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert "ip, tc, nsenter, unshare, setpriv are missing" in str(testbed.unavailable())
    with pytest.raises(HeadwayError, match="no testbed here"):
        testbed.up(["a", "b"], 1_000_000)


def test_a_note_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    (tmp_path / "note").write_text("{}")
    assert WanTestbed.load(tmp_path / "note") is None and WanTestbed.load(tmp_path / "none") is None
    gone = WanTestbed(2**22 + 5, 1.0, ("a", "b"), (1, 2))
    gone.save(tmp_path / "note")
    assert WanTestbed.load(tmp_path / "note") == gone and not gone.alive
