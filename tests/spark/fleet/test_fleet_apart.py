"""A real fleet whose nodes have disks of their own: a query moves there and back, and old folders go where they are."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.cli.app import main
from headway.cli.fleet_up import LocalFleet
from spark.fleet.test_disks_apart import namespaces
from spark.fleet.test_fleet_of_spark import TriedOut, after, epochs, told
from spark.scripted import wait_until

pytestmark = [
    pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600),
    pytest.mark.skipif(not namespaces(), reason="needs mount namespaces: run as root"),
]  # fmt: skip


class TriedApart(TriedOut):
    """Started by a child that gives each node a disk."""

    command = (sys.executable, str(Path(__file__).with_name("fleet_apart_child.py")))

    def on(self, node: str) -> list[str]:
        """What that node alone sees of the query's folders."""
        folder = self.work / "fleet" / node / "disk" / "counts"
        return sorted(file.name for file in folder.glob("epoch-*"))


@pytest.fixture
def tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TriedApart]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    made = TriedApart(tmp_path)
    try:
        wait_until(lambda: "the fleet serves" in made.said() or made.up.poll() is not None, "the fleet serves")
        assert made.up.poll() is None, made.said()
        yield made
    finally:
        made.end()
        if LocalFleet.load() is not None:
            main(["fleet", "down"])


def test_a_query_moves_between_disks_and_back(tried: TriedApart, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "submit", str(tried.file), "--query", "counts", "--node", "n1")[0] == 0
    after(tried, 4)
    assert (tried.on("n1"), tried.on("n2")) == (["epoch-1"], [])
    code, out = told(capsys, "move", "counts", "n2")
    assert code == 0 and out.rstrip().endswith("counts is on n2"), out
    after(tried, 3)
    wait_until(lambda: (tried.on("n1"), tried.on("n2")) == ([], ["epoch-2"]), "the old folder is deleted where it is")
    code, out = told(capsys, "move", "counts", "n1")
    assert code == 0 and out.rstrip().endswith("counts is on n1"), out
    after(tried, 3)
    wait_until(lambda: (tried.on("n1"), tried.on("n2")) == (["epoch-3"], []), "the old folder is deleted where it is")
    assert tried.check("counts") >= 10 and epochs(tried) == [1, 2, 3]
