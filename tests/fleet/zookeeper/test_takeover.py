"""Real processes on a real ZooKeeper: killed, stopped and woken, cut off, broken off. Two never act at the same time."""

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fleet.trees import TICK_MS, TIMEOUT_MS, RunningZooKeeper
from fleet.zookeeper.zookeeper_child import COUNTED
from headway.fleet.leases import QueryLeasing
from headway.fleet.store import TreeStore
from headway.fleet.zookeeper import server
from headway.fleet.zookeeper.session import open_session

pytestmark = pytest.mark.spark
HERE = Path(__file__).parent
LONG_MS = 60_000  # a session that is not given up while this test runs: whoever ends well has to say so


class FleetProcess:
    """One of the processes, and what it has told, line by line."""

    def __init__(self, *command: object) -> None:
        path = os.pathsep.join([str(HERE.parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "zookeeper_child.py"), *map(str, command)], env={**os.environ, "PYTHONPATH": path},
            text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait_until(self, word: str) -> str:
        """The rest of the next line that begins with it; fails if none comes."""
        while True:
            line = self._lines.get(timeout=60)
            if line.partition(" ")[0] == word:
                return line.partition(" ")[2].strip()

    def next_line(self) -> str:
        return self._lines.get(timeout=60)

    def ask(self, word: str) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()
        return self._lines.get(timeout=60)

    def forget(self) -> None:
        """What it has told so far."""
        while not self._lines.empty():
            self._lines.get()

    def signal(self, what: signal.Signals) -> None:
        self._process.send_signal(what)

    def exit_code(self) -> int:
        return self._process.wait(60)

    def end(self) -> None:
        if self._process.poll() is None:
            self.signal(signal.SIGKILL)
            self._process.wait()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.strip())


@pytest.fixture
def process(zookeeper: RunningZooKeeper, root: str) -> Iterator[Callable[..., FleetProcess]]:
    started: list[FleetProcess] = []

    def start(what: str, who: str, timeout_ms: int = TIMEOUT_MS) -> FleetProcess:
        started.append(FleetProcess(what, zookeeper.address, root, who, timeout_ms))
        return started[-1]

    yield start
    for one in started:
        one.end()


Start = Callable[..., FleetProcess]


def counted(zookeeper: RunningZooKeeper, root: str) -> list[tuple[int, str]]:
    """Who has counted, in which epoch, in order."""
    with open_session(zookeeper.address, "reader", timeout_ms=TIMEOUT_MS) as session:
        found = TreeStore(session, root).read(COUNTED, "all")
        assert found is not None and found.version == len(found.record.steps) - 1, "each write is one count"
        return [(int(epoch), who) for epoch, who in (step.split(" ", 1) for step in found.record.steps)]


def one_after_the_other(counts: list[tuple[int, str]]) -> bool:
    """Epochs only grow, and each is of one process."""
    return counts == sorted(counts, key=lambda one: one[0]) and len({epoch for epoch, _ in counts}) == len(set(counts))


def test_when_the_primary_is_killed_the_secondary_takes_over(process: Start, zookeeper: RunningZooKeeper, root: str) -> None:
    first = process("lead", "first")
    first.wait_until("counted")
    second = process("lead", "second")
    second.wait_until("following")
    first.signal(signal.SIGKILL)
    assert second.wait_until("leading") == "2" and second.wait_until("counted") == "2"
    counts = counted(zookeeper, root)
    assert one_after_the_other(counts) and {who for _, who in counts} == {"first", "second"}


def test_when_zookeeper_goes_and_comes_back_somebody_leads_with_a_greater_epoch(
    process: Start, zookeeper: RunningZooKeeper, root: str
) -> None:
    first = process("lead", "first")
    first.wait_until("counted")
    second = process("lead", "second")
    second.wait_until("following")
    running = zookeeper.server
    running.kill()
    first.wait_until("away")
    second.wait_until("away")
    first.forget()
    zookeeper.server = server.start(running.folder, port=running.port, tick_ms=TICK_MS)
    assert int(first.wait_until("leading")) > 1, "its session lives on, and it was first in the line"
    assert int(first.wait_until("counted")) > 1
    second.wait_until("following")
    assert one_after_the_other(counted(zookeeper, root))


def test_one_that_was_stopped_past_its_session_notices_before_it_acts(
    process: Start, zookeeper: RunningZooKeeper, root: str
) -> None:
    first = process("lead", "first")
    first.wait_until("counted")
    second = process("lead", "second")
    second.wait_until("following")
    first.signal(signal.SIGSTOP)
    second.wait_until("counted")
    first.forget()
    first.signal(signal.SIGCONT)
    first.wait_until("following")
    second.forget()
    assert second.wait_until("counted") == "2"
    counts = counted(zookeeper, root)
    assert one_after_the_other(counts) and {epoch for epoch, _ in counts} == {1, 2}, "it has written nothing since"


def test_who_is_broken_off_leaves_at_once(process: Start, zookeeper: RunningZooKeeper, root: str) -> None:
    first = process("lead", "first", LONG_MS)
    first.wait_until("counted")
    second = process("lead", "second", LONG_MS)
    second.wait_until("following")
    first.signal(signal.SIGINT)
    first.wait_until("closed")
    assert first.exit_code() == 130
    assert second.wait_until("leading") == "2"
    assert second.wait_until("counted") == "2" and one_after_the_other(counted(zookeeper, root))


def test_a_lease_of_one_that_was_killed_goes_to_who_waits(process: Start) -> None:
    first = process("lease", "first")
    assert first.next_line() == "held 1" and first.ask("sure") == "yes"
    second = process("lease", "second")
    first.signal(signal.SIGKILL)
    assert second.next_line() == "held 2" and second.ask("sure") == "yes"


def test_one_that_was_stopped_past_its_session_is_not_sure_of_its_lease_when_it_wakes_up(process: Start) -> None:
    first = process("lease", "first")
    assert first.next_line() == "held 1"
    first.signal(signal.SIGSTOP)
    second = process("lease", "second")
    assert second.next_line() == "held 2"
    first.signal(signal.SIGCONT)
    assert first.ask("sure") == "no", "the first thing that it is asked"
    assert first.ask("lost") == "the next holder"
    assert second.ask("sure") == "yes" and second.ask("release") == "released"


def test_a_lease_is_given_back_at_once(process: Start, zookeeper: RunningZooKeeper, root: str) -> None:
    first = process("lease", "first", LONG_MS)
    assert first.next_line() == "held 1" and first.ask("release") == "released"
    with open_session(zookeeper.address, "test", timeout_ms=TIMEOUT_MS) as session:
        lease = QueryLeasing(session, root).acquire("books", "test")
        assert lease.token == 2 and lease.sure()
