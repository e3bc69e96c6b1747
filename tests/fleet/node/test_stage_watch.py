"""Costs come up a pipeline in the statuses of its nodes, one hop after the other, and with their age."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from headway.errors import HeadwayError
from headway.fleet.node.machine import MachineGauge
from headway.fleet.node.stage_watch import PEERS_EVERY, StageWatch, addresses_of
from headway.fleet.node.text import read, written
from headway.fleet.node.wire import HostedQuery, NodeStatus
from headway.fleet.stage_costs import FOR_MS, CostBehind, costs_behind
from headway.model.message import Relaying
from headway.model.time import WallMs

AT = WallMs(1_000_000)
MACHINE = MachineGauge().read()


def status(node: str, *queries: HostedQuery, at: int = AT) -> NodeStatus:
    return NodeStatus(node, f"run of {node}", "0.1.0", 1, WallMs(at), MACHINE, queries)


def stage(name: str, reads: tuple[str, ...] = (), writes: str | None = None, **more: object) -> HostedQuery:
    known = {"fixed_ms": 100.0, "ms_per_row": 0.01, "backlog": 1_000.0} | more
    return replace(HostedQuery(name, 1, "in a batch", AT), reads=reads, writes=writes, **known)  # type: ignore[arg-type]


def test_a_topic_costs_what_its_slowest_reader_costs_and_what_comes_behind_that() -> None:
    last = stage("last", ("b",))
    middle = stage("middle", ("a",), "b", below_ms=110.0, below_at=WallMs(AT - 700))
    quick = stage("quick", ("a",), fixed_ms=20.0, backlog=None)
    found = costs_behind([status("n2", middle, quick), status("n3", last)], AT)
    assert found == {"a": CostBehind(220.0, WallMs(AT - 700)), "b": CostBehind(110.0, AT)}


def test_what_was_told_too_long_ago_or_has_not_run_says_nothing() -> None:
    old, new = status("n3", stage("last", ("b",)), at=AT - FOR_MS - 1), status("n2", stage("new", ("a",), fixed_ms=None))
    assert costs_behind([old, new], AT) == {}


class CostsTold:
    """A node that can be asked."""

    def __init__(self, said: NodeStatus | None) -> None:
        self.said, self.closed, self.asked = said, False, 0

    def status(self) -> NodeStatus:
        self.asked += 1
        if self.said is None:
            raise HeadwayError("it gives no answer")
        return self.said

    def close(self) -> None:
        self.closed = True


def told_by(nodes: dict[str, NodeStatus]) -> Callable[[str], CostsTold]:
    return lambda url: CostsTold(nodes[url])


def test_costs_come_up_a_pipeline_of_three_nodes_hop_by_hop() -> None:
    """The first node never asks about the third stage: the second has been told of it, and says so."""
    nodes = {
        "n1": status("n1", stage("first", (), "a")),
        "n2": status("n2", stage("middle", ("a",), "b")),
        "n3": status("n3", stage("last", ("b",))),
    }
    found: dict[str, Relaying] = {}
    for name, next_one in (("n2", "n3"), ("n1", "n2")):
        posted: list[Relaying] = []
        watch = StageWatch(
            partial(nodes.__getitem__, name), partial(list, [next_one]), told_by(nodes), posted.append, lambda: AT
        )
        watch.look()
        watch.stop()
        found[name] = posted[0]
        told = replace(nodes[name].queries[0], below_ms=posted[0].below_ms or 0.0, below_at=posted[0].at)
        nodes[name] = replace(nodes[name], queries=(told,))
    assert found["n2"] == Relaying("middle", "b", 110.0, AT)
    assert found["n1"] == Relaying("first", "a", 220.0, AT)


def test_a_node_that_does_not_answer_leaves_what_it_said_until_that_is_too_old() -> None:
    now, peer, posted = [int(AT)], CostsTold(status("n2", stage("last", ("a",)))), list[Relaying]()
    own = status("n1", stage("first", (), "a"))
    watch = StageWatch(lambda: own, lambda: ["n2"], lambda url: peer, posted.append, lambda: WallMs(now[0]))
    watch.look()
    peer.said = None
    watch.look()
    now[0] += FOR_MS + 1
    watch.look()
    watch.stop()
    assert [told.below_ms for told in posted] == [110.0, 110.0, None]
    assert peer.closed


def test_a_node_without_stages_asks_nobody() -> None:
    peer = CostsTold(status("n2", stage("last", ("a",))))
    watch = StageWatch(lambda: status("n1", stage("alone")), lambda: ["n2"], lambda url: peer, lambda told: None)
    for _ in range(PEERS_EVERY + 1):
        watch.look()
    watch.stop()
    assert peer.asked == 0


def test_nodes_are_those_that_were_named_and_those_that_are_listed_but_not_oneself() -> None:
    found = addresses_of(["http://b"], lambda: {"n1": "http://a", "n2": "http://b", "n3": "http://c"}, "http://a")
    assert found() == ["http://b", "http://c"]


def test_a_status_says_which_topics_a_query_reads_and_writes() -> None:
    told = status("n1", stage("middle", ("a",), "b", below_ms=5.0, below_at=AT))
    assert read(NodeStatus, written(told)) == told
