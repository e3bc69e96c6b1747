"""A whole fleet as a person tries it out: real ZooKeeper, two orchestrators, two Spark nodes; moved, upgraded, exact."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from headway.cli.app import main
from headway.cli.fleet_up import LocalFleet
from headway.fleet.fleet_client import FleetClient
from headway.fleet.orchestrator.wire import MoveWanted
from headway.servers.process_guard import end_with_parent
from spark.fleet.moving import KEYS, PIPELINE, ROWS, Fleet
from spark.scripted import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]


class TriedOut(Fleet):
    """The pipeline and its sink; nodes and orchestrators are those of `headway fleet up`."""

    command: tuple[str, ...] = (sys.executable, "-m", "headway")

    def __init__(self, work: Path) -> None:
        self.work, self.sink, self.file = work, work / "sink.db", work / "pipeline.py"
        self.write("")
        with sqlite3.connect(self.sink) as db:
            db.execute("pragma journal_mode=wal")
            db.execute("create table panes (query text, batch int, end_ms int, key int, n int, low int, high int)")
            db.execute("create table history (query text, batch int, epoch int, n int)")
        words = [*self.command, "fleet", "up", "--nodes", "2", "--policy", "never-move"]
        self.log = (work / "up.log").open("w")
        self.up = subprocess.Popen(
            [*words, "--folder", str(work / "fleet")], stdout=self.log, stderr=self.log, preexec_fn=end_with_parent()
        )

    def write(self, more: str) -> None:
        """The pipeline file, with something in front of its sink."""
        text = PIPELINE.format(sink=str(self.sink), rows=ROWS, keys=KEYS)
        self.file.write_text(text.replace("    def write(batch, number):\n", f"    def write(batch, number):\n{more}"))

    def said(self) -> str:
        return (self.work / "up.log").read_text()

    def end(self) -> list[int]:
        if self.up.poll() is None:
            self.up.send_signal(signal.SIGTERM)
        code = self.up.wait(120)
        self.log.close()
        return [code]


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TriedOut]:
    with pytest.MonkeyPatch.context() as patch:
        work = tmp_path_factory.mktemp("tried")
        patch.setenv("XDG_STATE_HOME", str(work))
        made = TriedOut(work)
        try:
            wait_until(lambda: "the fleet serves" in made.said() or made.up.poll() is not None, "the fleet serves")
            assert made.up.poll() is None, made.said()
            yield made
        finally:
            made.end()
            if LocalFleet.load() is not None:
                main(["fleet", "down"])


def told(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str]:
    code = main(["fleet", *args])
    said = capsys.readouterr()
    return code, said.out + said.err


def after(tried: TriedOut, windows: int) -> None:
    """So many more have come out."""
    before = tried.windows("counts")
    wait_until(lambda: tried.windows("counts") >= before + windows, f"{windows} windows more")


def epochs(tried: TriedOut) -> list[int]:
    """In which batches were written, in that order."""
    with sqlite3.connect(tried.sink, timeout=30) as db:
        return [epoch for (epoch,) in db.execute("select distinct epoch from history order by rowid")]


def test_a_query_is_submitted_moved_and_upgraded_and_nothing_is_lost_or_doubled(
    tried: TriedOut, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told(capsys, "submit", str(tried.file), "--query", "counts", "--node", "n1")[0] == 0
    after(tried, 4)
    code, out = told(capsys, "move", "counts", "n2")
    assert code == 0 and out.rstrip().endswith("counts is on n2"), out
    after(tried, 3)
    tried.write("        batch = batch.filter('true')  # the second version\n")
    code, out = told(capsys, "upgrade", str(tried.file), "--query", "counts")
    assert code == 0 and out.rstrip().endswith("counts is on n1"), out
    after(tried, 2)
    tried.write("        raise ValueError('the third version is broken')\n")
    code, out = told(capsys, "upgrade", str(tried.file), "--query", "counts")
    assert code == 1 and "counts has gone home, to n1" in out, out
    after(tried, 2)
    code, out = told(capsys, "status", "--once")
    assert code == 0 and "counts" in out and "n1" in out
    assert tried.check("counts") >= 10 and epochs(tried)[:3] == [1, 2, 3]


def test_what_happened_is_told_by_the_journal_of_the_primary(tried: TriedOut, capsys: pytest.CaptureFixture[str]) -> None:
    said = ""
    for name in ("o1", "o2"):
        main(["explain", "counts", "--journal", str(tried.work / "fleet" / name / "journal.db")])
        said += capsys.readouterr().out
    assert "going home, because" in said and "the third version is broken" in said


def test_a_query_whose_state_cannot_be_split_is_left_where_it_is(
    tried: TriedOut, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = told(capsys, "move", "counts", "n2", "--partitions", "2")
    assert code == 1 and "counts was not moved: the target cannot run it" in out and "expected state in RocksDB" in out
    after(tried, 2)
    code, out = told(capsys, "move", "counts", "n2")
    assert code == 0 and "counts was out of service for" in out, out
    after(tried, 2)
    assert told(capsys, "move", "counts", "n1")[0] == 0 and tried.check("counts") >= 12


def test_a_query_is_stopped_and_goes_on_when_it_is_submitted_again(
    tried: TriedOut, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = told(capsys, "stop", "counts")
    assert code == 0 and "counts is stopped; its checkpoint is kept" in out, out
    assert "counts" not in told(capsys, "status", "--once")[1]
    tried.write("")
    assert told(capsys, "submit", str(tried.file), "--query", "counts", "--node", "n1")[0] == 0
    after(tried, 3)
    assert tried.check("counts") >= 15
    assert told(capsys, "submit", str(tried.file), "--query", "stays", "--node", "n2")[0] == 0
    wait_until(lambda: tried.windows("stays") >= 1, "a window of the other")
    folder = tried.work / "fleet" / "checkpoints" / "stays"
    assert list(folder.iterdir())
    code, out = told(capsys, "stop", "stays", "--forget-checkpoint")
    assert code == 0 and "stays is stopped; its checkpoint is deleted" in out and not list(folder.iterdir()), out


def serving(client: FleetClient) -> str | None:
    """The node that the query serves on."""
    return next((one.node for one in client.standing().queries if one.phase == "serving"), None)


def test_a_node_that_was_frozen_past_its_lease_writes_nothing_more_and_serves_again(tried: TriedOut) -> None:
    fleet = LocalFleet.load()
    assert fleet is not None
    with FleetClient(fleet.orchestrators, fleet.token) as client:
        assert serving(client) == "n1"
        os.kill(fleet.members["n1"].pid, signal.SIGSTOP)
        try:
            wait_until(lambda: serving(client) == "n2", "it is on n2")
        finally:
            os.kill(fleet.members["n1"].pid, signal.SIGCONT)
        after(tried, 2)
        wait_until(lambda: {n.state for n in client.standing().nodes} == {"serving"}, "n1 is back")
        assert len(client.standing().nodes) == 2 and serving(client) == "n2"
    assert tried.check("counts") >= 12 and epochs(tried) == sorted(epochs(tried))


def test_a_primary_is_killed_in_the_middle_of_a_move_and_then_a_node_and_the_query_goes_on_exactly(tried: TriedOut) -> None:
    fleet = LocalFleet.load()
    assert fleet is not None
    with FleetClient(fleet.orchestrators, fleet.token) as client:
        primary = client.standing().orchestrator.partition(" ")[0]
        assert client.ask("move", MoveWanted("the-primary-dies", "counts", "n1")).accepted
        os.kill(fleet.members[primary].pid, signal.SIGKILL)
        wait_until(lambda: client.progress("counts", "the-primary-dies").state != "under way", "the move has ended")
        assert client.progress("counts", "the-primary-dies").state == "done"
        assert client.standing().orchestrator.partition(" ")[0] != primary
        os.kill(fleet.members["n1"].pid, signal.SIGKILL)
        wait_until(lambda: serving(client) == "n2", "it is on n2")
    after(tried, 2)
    assert tried.check("counts") >= 16


def test_after_kill_minus_nine_nothing_is_left_running(tried: TriedOut, capsys: pytest.CaptureFixture[str]) -> None:
    fleet = LocalFleet.load()
    assert fleet is not None and {"zookeeper", "n2"} <= set(fleet.alive)
    alive = [fleet.members[name].pid for name in fleet.alive]
    family = [child for pid in alive for child in psutil.Process(pid).children(recursive=True)]
    os.kill(tried.up.pid, signal.SIGKILL)
    wait_until(lambda: not any(name != "up" for name in fleet.alive), "all have ended")
    wait_until(lambda: not any(child.is_running() for child in family), "their children have, too")
    tried.up.wait(30)
    code, out = told(capsys, "down")
    assert code == 0 and "it had ended already" in out and LocalFleet.load() is None
    assert not (tried.work / "fleet").exists()
