"""A whole fleet without Spark: submitted, moved, upgraded, drained, and what happens when somebody dies."""

import secrets
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from fleet.orchestrator.fleet_in_memory import BROKEN, PIPELINE, TOKEN, FleetInMemory
from headway.cli.explain import account
from headway.dashboard.reading import JournalFile
from headway.fleet.fleet_client import FleetClient, NoPrimary
from headway.fleet.node import reporter
from headway.fleet.node.text import written
from headway.fleet.orchestrator import statuses
from headway.fleet.orchestrator.wire import DrainWanted, MoveWanted, SubmitWanted, UpgradeWanted
from headway.fleet.store import TreeStore


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FleetInMemory]:
    """Everybody looks ten times a second."""
    monkeypatch.setattr(reporter, "EVERY_S", 0.1)
    monkeypatch.setattr(statuses, "EVERY_S", 0.1)
    made = FleetInMemory(tmp_path)
    yield made.ready()
    made.close()


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FleetInMemory]:
    """One that changes nothing, for what it refuses."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reporter, "EVERY_S", 0.1)
        patch.setattr(statuses, "EVERY_S", 0.1)
        made = FleetInMemory(tmp_path_factory.mktemp("calm")).ready()
        submitted(made, "counts", "n1")
        yield made
        made.close()


def submitted(fleet: FleetInMemory, query: str, node: str | None = None) -> str:
    """Where it serves."""
    receipt = fleet.client.ask("submit", SubmitWanted(secrets.token_hex(4), query, "counts.py", PIPELINE, node))
    assert receipt.accepted, receipt.line
    fleet.until(lambda: fleet.place(query), f"{query} serves")
    found = fleet.place(query)
    assert found is not None
    return found


def ended(fleet: FleetInMemory, query: str, id: str) -> tuple[str, str]:
    """State and line of a move that is over."""
    fleet.until(lambda: fleet.client.progress(query, id).state != "under way", "the move is over")
    found = fleet.client.progress(query, id)
    return found.state, found.line


def test_a_query_is_submitted_and_moved_and_the_journal_says_why(fleet: FleetInMemory) -> None:
    assert submitted(fleet, "counts", "n1") == "n1"
    assert fleet.client.ask("move", MoveWanted("m1", "counts", "n2")).accepted
    assert ended(fleet, "counts", "m1") == ("done", "counts is on n2")
    assert fleet.place("counts") == "n2" and fleet.running("counts") == [("n2", 2)]
    again = fleet.client.ask("move", MoveWanted("m1", "counts", "n2"))
    assert again.accepted and fleet.running("counts") == [("n2", 2)], "the same id is the same move"
    primary = fleet.primary()
    fleet.close()
    said = list(account(JournalFile(fleet.journal(primary)), "counts"))
    for words in ("move m1 to n2: draining", "serving on n2 with epoch 2"):
        assert any(words in line for line in said), words


@pytest.mark.parametrize(
    ("action", "wanted", "says"),
    [
        ("move", MoveWanted("x1", "nobody", "n1"), "move.query = 'nobody': expected a query of this fleet"),
        ("move", MoveWanted("x2", "counts", "n9"), "move.node = 'n9': expected one of n1, n2"),
        ("move", MoveWanted("x3", "counts", "n1"), "expected another node than the one that counts is on"),
        ("drain", DrainWanted("n9"), "drain.node = 'n9': expected one of n1, n2"),
        ("submit", SubmitWanted("x4", "counts", "c.py", "other = 1"), "submit.query = 'counts': expected a name that"),
    ],
)
def test_what_cannot_be_is_answered_with_one_line(calm: FleetInMemory, action: str, wanted: Any, says: str) -> None:
    receipt = calm.client.ask(action, wanted)
    assert not receipt.accepted and says in receipt.line and "\n" not in receipt.line


def test_a_secondary_refuses_and_names_the_primary(calm: FleetInMemory) -> None:
    primary = calm.primary()
    other = next(one for name, one in calm.orchestrators.items() if name != primary)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    body = written(MoveWanted("x1", "counts", "n1"))
    answer = httpx.post(f"{other.address}/v1/move", content=body, headers=headers, trust_env=False)
    line = answer.json()["error"]
    assert answer.status_code == 421 and f"the primary is {primary} at {calm.orchestrators[primary].address}" in line
    assert httpx.post(f"{other.address}/v1/move", content=body, trust_env=False).status_code == 401


def test_an_upgrade_whose_first_batch_fails_goes_home_and_one_that_works_stays(fleet: FleetInMemory) -> None:
    submitted(fleet, "counts", "n1")
    assert fleet.client.ask("upgrade", UpgradeWanted("u1", "counts", "counts.py", BROKEN)).accepted
    state, line = ended(fleet, "counts", "u1")
    assert state == "home" and "a bad batch" in line
    fleet.until(lambda: fleet.place("counts") == "n1", "it serves at home")
    assert fleet.client.standing().queries[0].revision == 1
    assert fleet.client.ask("upgrade", UpgradeWanted("u2", "counts", "counts.py", "# second", trial=1)).accepted
    assert ended(fleet, "counts", "u2")[0] == "done"
    assert fleet.client.standing().queries[0].revision == 2 and len(fleet.running("counts")) == 1


def test_a_drained_node_hosts_nothing_until_it_is_wanted_again(fleet: FleetInMemory) -> None:
    for query in ("a", "b"):
        submitted(fleet, query, "n1")
    assert fleet.client.ask("drain", DrainWanted("n1")).accepted
    fleet.until(lambda: fleet.place("a") == "n2" and fleet.place("b") == "n2", "both have gone")
    assert {node.name: node.state for node in fleet.client.standing().nodes} == {"n1": "drained", "n2": "serving"}
    assert submitted(fleet, "c") == "n2"
    assert fleet.client.ask("drain", DrainWanted("n1", undo=True)).accepted
    fleet.until(lambda: fleet.client.standing().nodes[0].state == "serving", "n1 takes queries again")


def test_queries_of_a_node_that_dies_are_started_on_another_under_a_new_epoch(fleet: FleetInMemory) -> None:
    submitted(fleet, "counts", "n1")
    fleet.nodes["n1"].die()
    fleet.until(lambda: fleet.place("counts") == "n2", "it serves elsewhere")
    assert dict(fleet.running("counts"))["n2"] == 2


def test_when_the_primary_dies_the_other_goes_on_with_the_move(fleet: FleetInMemory) -> None:
    submitted(fleet, "counts", "n1")
    primary = fleet.primary()
    assert fleet.client.ask("move", MoveWanted("m1", "counts", "n2")).accepted
    fleet.shared.of(primary).inner.cut = True
    fleet.until(lambda: fleet.client.standing().orchestrator.partition(" ")[0] != primary, "another one is the primary")
    assert ended(fleet, "counts", "m1")[0] == "done" and fleet.running("counts") == [("n2", 2)]


def test_a_primary_whose_session_is_suspended_is_none_at_once_and_may_be_it_again(fleet: FleetInMemory) -> None:
    primary = fleet.primary()
    session = fleet.shared.of(primary)
    with fleet.shared.lock:
        session.inner.cut = True
        session.inner.beat()  # in vain
    assert not fleet.orchestrators[primary].sure
    fleet.until(lambda: fleet.primary() != primary, "the other one is elected when the session has expired")
    with fleet.shared.lock:
        session.inner.cut = False
    submitted(fleet, "counts")
    assert len(fleet.running("counts")) == 1


def test_a_successor_knows_which_nodes_are_being_drained(fleet: FleetInMemory) -> None:
    primary = fleet.primary()
    assert fleet.client.ask("drain", DrainWanted("n1")).accepted
    fleet.until(lambda: fleet.client.standing().nodes[0].state == "drained", "it is noted")
    fleet.orchestrators[primary].stop()
    fleet.until(lambda: fleet.client.standing().nodes[0].state == "drained", "the other one has read it")
    assert fleet.client.standing().orchestrator.partition(" ")[0] != primary and submitted(fleet, "counts") == "n2"


def test_who_has_asked_a_primary_that_is_deposed_before_it_answers_is_answered_by_its_successor(
    fleet: FleetInMemory,
) -> None:
    submitted(fleet, "counts", "n1")
    fleet.shared.of(fleet.primary()).inner.cut = True
    receipt = fleet.client.ask("move", MoveWanted("m1", "counts", "n2"))
    assert receipt.accepted, receipt.line
    assert ended(fleet, "counts", "m1")[0] == "done"


def test_a_drain_is_answered_when_the_store_has_it_and_by_the_successor_if_need_be(fleet: FleetInMemory) -> None:
    primary = fleet.primary()
    fleet.shared.of(primary).inner.cut = True
    assert fleet.client.ask("drain", DrainWanted("n1")).accepted
    assert fleet.primary() != primary
    fleet.until(lambda: fleet.client.standing().nodes[0].state == "drained", "the successor knows of it")
    assert submitted(fleet, "counts") == "n2"


def test_a_successor_says_nothing_of_queries_before_it_has_read_of_them(
    fleet: FleetInMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitted(fleet, "counts", "n1")
    assert fleet.client.ask("move", MoveWanted("m1", "counts", "n2")).accepted
    assert ended(fleet, "counts", "m1")[0] == "done"
    may_read, read = threading.Event(), TreeStore.all
    monkeypatch.setattr(TreeStore, "all", lambda self, shelf: may_read.wait(30) and read(self, shelf))
    primary = fleet.primary()
    successor = next(one for name, one in fleet.orchestrators.items() if name != primary)
    fleet.orchestrators[primary].stop()
    fleet.until(lambda: successor.service.leader is not None, "the other one is elected")
    assert not fleet.client.standing().primary
    with (
        FleetClient([successor.address], TOKEN, patience_s=0) as hasty,
        pytest.raises(NoPrimary, match="is the primary, but has not read the records yet"),
    ):
        hasty.progress("counts", "m1")
    may_read.set()
    assert ended(fleet, "counts", "m1") == ("done", "counts is on n2") and fleet.primary() != primary
