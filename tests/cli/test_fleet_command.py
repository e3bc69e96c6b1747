"""`headway fleet` and `headway orchestrator`: what is refused, in which words, and a fleet without Spark that obeys."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleet.orchestrator.fleet_in_memory import TOKEN, FleetInMemory
from headway.cli import fleet_up
from headway.cli.app import main
from headway.cli.fleet_up import LocalFleet
from headway.fleet.node import reporter
from headway.fleet.orchestrator import statuses
from headway.servers.process import ServerProcess

PIPELINE = "import headway as hw\n\n@hw.query()\ndef counts(rt, spark): ...\n"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "counts.py").write_text(PIPELINE)
    (tmp_path / "token").write_text(TOKEN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    code = main(args)
    said = capsys.readouterr()
    return code, said.out, said.err


NOWHERE = ("--orchestrator", "http://127.0.0.1:1", "--token-file", "token")
ORCHESTRATOR = ("orchestrator", "--zookeeper", "127.0.0.1:1", "--checkpoints", "all", "--token-file", "token")


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("fleet", "down"), "no fleet of `headway fleet up` is known"),
        (("fleet", "status", "--once"), "orchestrator = None: expected http://host:port of an orchestrator"),
        (("fleet", "status", "--once", *NOWHERE), "no orchestrator answers (http://127.0.0.1:1: ConnectError)"),
        (("fleet", "status", "--once", *NOWHERE[:2]), "token-file = None: expected a file with the token"),
        (("fleet", "submit", "nothing.py"), "pipeline = 'nothing.py': expected a Python file"),
        (("fleet", "submit", "token"), "pipeline = 'token': "),
        (("fleet", "move", "a", "n1", "--timeout", "soon"), "timeout = 'soon': expected a duration"),
        (("fleet", "move", "a", "n1", "--on-timeout", "hope"), "on_timeout = 'hope': expected one of rollback, force"),
        (("fleet", "move", "a", "n1", "--partitions", "0"), "partitions = 0: expected 1 or more"),
        (
            ("fleet", "move", "a", "n1", "--partitions", "2", "--on-timeout", "force"),
            "on_timeout = 'force': expected rollback",
        ),
        (("fleet", "upgrade", "counts.py", "--trial", "0"), "trial = 0: expected 1 batch or more"),
        (("fleet", "drain", "n1", "--timeout", "never"), "timeout = 'never': expected a duration"),
        (("fleet", "up", "--nodes", "0"), "nodes = 0: expected 1 or more"),
        (("fleet", "up", "--memory", "lots"), "memory = 'lots': expected a size"),
        (("fleet", "up", "--policy", "luck"), "placement = 'luck': expected one of"),
        ((*ORCHESTRATOR, "--root", "headway"), "root = 'headway': expected a path such as '/headway'"),
        ((*ORCHESTRATOR, "--policy", "klink"), "placement = 'klink': expected one of"),
        ((*ORCHESTRATOR[:-1], "nothing"), "token-file = 'nothing': expected a file with a secret in it"),
        ((*ORCHESTRATOR[:3], "--checkpoints", "hdfs://x/all", *ORCHESTRATOR[5:]), "pipelines = None: expected a folder on"),
    ],
)
def test_what_cannot_work_is_told_in_one_line(capsys: pytest.CaptureFixture[str], args: tuple[str, ...], says: str) -> None:
    code, _, err = told(capsys, *args)
    assert code == 2 and says in err and err.count("\n") == 1


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FleetInMemory]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reporter, "EVERY_S", 0.1)
        patch.setattr(statuses, "EVERY_S", 0.1)
        made = FleetInMemory(tmp_path_factory.mktemp("fleet"))
        yield made.ready()
        made.close()


@pytest.fixture
def known(fleet: FleetInMemory, state: Path) -> FleetInMemory:
    """As `fleet up` notes it: its commands find it without being told where it is."""
    ports = {name: int(one.address.rpartition(":")[2]) for name, one in fleet.orchestrators.items()}
    members = {name: ServerProcess(port, os.getpid(), str(state), 0.0) for name, port in ports.items()}
    LocalFleet(str(state), members).save()
    return fleet


def test_a_query_is_submitted_shown_moved_upgraded_and_its_node_drained(
    capsys: pytest.CaptureFixture[str], known: FleetInMemory
) -> None:
    code, out, _ = told(capsys, "fleet", "submit", "counts.py", "--node", "n1")
    assert code == 0 and "counts is" in out
    known.until(lambda: known.place("counts") == "n1", "it serves")
    code, out, _ = told(capsys, "fleet", "status", "--once")
    assert code == 0 and "primary: o" in out and "counts" in out and "n2" in out
    code, out, _ = told(capsys, "fleet", "move", "counts", "n2")
    assert code == 0 and out.rstrip().endswith("counts is on n2")
    Path("counts.py").write_text(PIPELINE + "\n# another version\n")
    code, out, _ = told(capsys, "fleet", "upgrade", "counts.py", "--trial", "1")
    assert code == 0 and out.rstrip().endswith("counts is on n1")
    code, out, _ = told(capsys, "fleet", "drain", "n1")
    assert code == 0 and out.rstrip().endswith("n1 hosts nothing")
    known.until(lambda: known.place("counts") == "n2", "it serves")
    assert told(capsys, "fleet", "drain", "n1", "--undo")[0] == 0
    code, _, err = told(capsys, "fleet", "move", "counts", "n2")
    assert code == 2 and "expected another node than the one that counts is on" in err and err.count("\n") == 1


def test_a_query_is_stopped_submitted_again_and_forgotten(capsys: pytest.CaptureFixture[str], known: FleetInMemory) -> None:
    Path("ends.py").write_text(PIPELINE.replace("counts", "ends"))
    assert told(capsys, "fleet", "submit", "ends.py", "--node", "n1")[0] == 0
    known.until(lambda: known.place("ends") == "n1", "it serves")
    for _ in range(2):
        code, out, _ = told(capsys, "fleet", "stop", "ends")
        assert code == 0 and out.rstrip().endswith("ends is stopped; its checkpoint is kept: `fleet submit` goes on from it")
    assert known.running("ends") == [] and "ends" not in told(capsys, "fleet", "status", "--once")[1]
    assert told(capsys, "fleet", "submit", "ends.py", "--node", "n2")[0] == 0
    known.until(lambda: known.place("ends") == "n2", "it serves again")
    assert known.running("ends") == [("n2", 2)]
    code, out, _ = told(capsys, "fleet", "stop", "ends", "--forget-checkpoint")
    assert code == 0 and out.rstrip().endswith("ends is stopped; its checkpoint is deleted")
    code, _, err = told(capsys, "fleet", "stop", "nobody")
    assert code == 2 and "stop.query = 'nobody': expected a query of this fleet" in err and err.count("\n") == 1


def test_an_orchestrator_with_another_token_is_told_so_in_one_line(
    capsys: pytest.CaptureFixture[str], fleet: FleetInMemory, state: Path
) -> None:
    (state / "other").write_text("another-token-of-somebody")
    address = next(iter(fleet.orchestrators.values())).address
    code, _, err = told(capsys, "fleet", "status", "--once", "--orchestrator", address, "--token-file", "other")
    line = err.splitlines()[-1]
    assert code == 2 and "answers 401: Authorization: expected the token" in line


def test_what_a_fleet_that_was_killed_has_left_is_removed(capsys: pytest.CaptureFixture[str], state: Path) -> None:
    folder = state / "left"
    folder.mkdir()
    gone = ServerProcess(1, 2**22 + 1, str(folder), 1.0)  # no system gives such a number to a process
    LocalFleet(str(folder), {"up": gone, "zookeeper": gone, "o1": gone, "n1": gone}).save()
    code, out, _ = told(capsys, "fleet", "down")
    assert code == 0 and "it had ended already" in out and not folder.exists() and not fleet_up.note().exists()


def test_a_note_that_cannot_be_read_is_no_fleet(capsys: pytest.CaptureFixture[str], state: Path) -> None:
    for text in ("", "[]", json.dumps({"folder": "x", "members": {"n1": {"port": 1}}})):
        fleet_up.note().write_text(text)
        assert told(capsys, "fleet", "down")[0] == 2
    assert LocalFleet.load() is None
