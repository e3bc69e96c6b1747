"""A host as a member of a fleet: under leases, and told everything twice."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fleet.orchestrator.fleet_in_memory import BROKEN, PIPELINE, InstantHost
from headway.errors import HeadwayError, SettingError
from headway.fleet.leases import QueryLeasing
from headway.fleet.memory import MemorySession, MemoryTree
from headway.fleet.node.held import HeldLeases, MemberLeasing
from headway.fleet.node.host import Declined
from headway.fleet.node.member import FRESH_S, MemberHost
from headway.fleet.node.wire import NodeCommand
from headway.lease.local import LockedLease
from headway.model.time import VirtualClock

ROOT = "/fleet"


class LeasedNode:
    """A member with a session of its own, and another node that would like its leases."""

    def __init__(self, tmp_path: Path) -> None:
        tree = MemoryTree(VirtualClock(1_000_000))
        self.session: MemorySession = tree.open("n1", 10_000)
        self.leasing: QueryLeasing | None = QueryLeasing(self.session, ROOT)
        self.other = QueryLeasing(tree.open("n2", 10_000), ROOT)
        self.host, self.at, self.requests = InstantHost(), 0.0, 0
        self.held = HeldLeases(lambda: self.leasing, "n1")
        self.member = MemberHost(self.host, self.held, clock=lambda: self.at)
        self.file = tmp_path / "counts.py"
        self.file.write_text(PIPELINE)

    def tell(self, action: Any, epoch: int = 1, **more: Any) -> str:
        self.requests += 1
        fields = {"file": str(self.file), "folder": f"/all/counts/epoch-{epoch}", **more}
        return self.member.obey(NodeCommand(f"r{self.requests}", action, "counts", epoch, **fields)).because

    def taken_by_other(self) -> bool:
        """Whether another node can have the query's lease."""
        try:
            self.other.take("counts", "n2", 99)
        except SettingError:
            return False
        return True


@pytest.fixture
def node(tmp_path: Path) -> Iterator[LeasedNode]:
    yield LeasedNode(tmp_path)


def test_what_runs_here_is_leased_from_its_taking_over_to_its_drain(node: LeasedNode) -> None:
    node.tell("prepare")
    assert node.held.epochs == {}
    node.tell("take")
    assert node.held.epochs == {"counts": 1} and not node.taken_by_other()
    node.tell("start")
    node.tell("drain")
    assert node.held.epochs == {} and node.taken_by_other()


def test_told_twice_it_does_it_once(node: LeasedNode) -> None:
    said = [node.tell(action) for action in ("prepare", "prepare", "take", "take", "start", "start", "take")]
    assert said == [
        "done", "it was prepared before", "done", "it was taken over before", "done", "it is at the gate already",
        "it is at the gate already",
    ]  # fmt: skip
    assert [did[0] for did in node.host.did] == ["prepare", "take", "start"]


def test_what_somebody_else_runs_is_neither_taken_over_nor_started(node: LeasedNode) -> None:
    node.other.take("counts", "n2", 1)
    for action, epoch in (("take", 2), ("start", 2)):
        with pytest.raises(SettingError, match="query = 'counts': expected one that no running query uses; n2 uses it"):
            node.tell(action, epoch)
    assert node.host.did == []


def test_without_a_session_nothing_is_taken_over(node: LeasedNode) -> None:
    node.leasing = None
    with pytest.raises(Declined, match="node n1 has no session with ZooKeeper"):
        node.tell("take")
    assert node.host.did == []


def test_a_start_that_fails_gives_the_lease_back(node: LeasedNode) -> None:
    node.tell("take")
    node.file.write_text(BROKEN)
    with pytest.raises(HeadwayError, match="a bad batch"):
        node.tell("start")
    assert node.held.epochs == {} and node.taken_by_other()


def test_the_lease_of_a_query_that_has_died_is_given_back_and_that_of_one_that_lives_is_kept(node: LeasedNode) -> None:
    node.tell("take")
    node.tell("start")
    node.member.look_around()
    assert node.held.epochs == {"counts": 1}
    node.host.queries.clear()
    node.member.look_around()
    assert node.held.epochs == {} and node.taken_by_other()


def test_another_version_is_prepared_in_place_of_one_that_was_not_begun(node: LeasedNode, tmp_path: Path) -> None:
    node.tell("prepare")
    node.tell("prepare", file=str(tmp_path / "other.py"))
    assert [did[0] for did in node.host.did] == ["prepare", "abandon", "clean", "prepare"]


def test_a_plan_that_nobody_asks_for_any_more_is_forgotten_after_a_minute(node: LeasedNode) -> None:
    node.tell("prepare")
    node.at = FRESH_S - 1
    node.tell("prepare")
    node.at = FRESH_S + 1
    node.member.look_around()
    assert node.host.queries.keys() == {"counts"}, "it was asked for two seconds ago"
    node.at = 2 * FRESH_S
    node.member.look_around()
    assert node.host.queries == {} and ("clean", "counts", 2) in node.host.did


def test_a_runtime_gets_a_checkpoint_only_under_the_lease_of_its_query(node: LeasedNode, tmp_path: Path) -> None:
    class Local:
        def acquire(self, checkpoint: str, holder: str) -> LockedLease:
            return LockedLease(Path(checkpoint), checkpoint, holder)

    checkpoint = tmp_path / "counts" / "epoch-1"
    checkpoint.mkdir(parents=True)
    leasing = MemberLeasing(Local(), node.held)
    with pytest.raises(SettingError, match="expected one of a query that this node has taken over"):
        leasing.acquire(str(checkpoint), "me")
    node.tell("take")
    lease = leasing.acquire(str(checkpoint), "me")
    assert lease.sure() and lease.token == 1
    node.session.close()
    assert not lease.sure()
    lease.renew()
    assert lease.lost is not None
    lease.release()


def test_a_node_that_has_lost_the_lease_since_it_took_a_query_over_does_not_begin_to_run_it(node: LeasedNode) -> None:
    node.tell("take")
    assert node.held.under("/all/counts/epoch-1").sure()
    node.session.close()
    with pytest.raises(Declined, match="the lease of query 'counts' is lost: the next holder has it"):
        node.held.under("/all/counts/epoch-1")


def test_told_to_start_again_what_has_failed_it_says_why_it_failed(node: LeasedNode) -> None:
    node.tell("take")
    node.tell("start")
    node.host.queries["counts"] = replace(node.host.queries["counts"], state="failed", error="a bad batch")
    with pytest.raises(Declined, match="a bad batch"):
        node.tell("start")
    assert node.held.epochs == {} and [did[0] for did in node.host.did] == ["take", "start"]
