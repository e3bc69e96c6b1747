"""Paths, and the slowest of them."""

import pytest

from headway.errors import SettingError
from headway.model.graph import Edge, Graph

DIAMOND = Graph(("d", "b", "c", "a"), (Edge("a", "b", 1), Edge("a", "c", 2), Edge("b", "d", 3), Edge("c", "d", 4)))


def test_the_slowest_path_counts_with_the_ways_between() -> None:
    assert set(DIAMOND.paths()) == {("a", "b", "d"), ("a", "c", "d")}
    assert DIAMOND.latency_ms({"a": 10, "b": 50, "c": 20, "d": 5}) == 10 + 1 + 50 + 3 + 5
    assert DIAMOND.latency_ms({"a": 10, "b": 5, "c": 20, "d": 5}) == 10 + 2 + 20 + 4 + 5


def test_operators_come_after_those_that_feed_them() -> None:
    order = DIAMOND.in_order()
    assert order[0] == "a" and order[-1] == "d"


def test_a_single_operator_is_a_path() -> None:
    assert Graph(("a",)).paths() == (("a",),) and Graph(("a",)).latency_ms({"a": 7}) == 7


@pytest.mark.parametrize(
    ("operators", "edges"),
    [((), ()), (("a", "a"), ()), (("a",), (Edge("a", "b"),)), (("a", "b"), (Edge("a", "b", -1),)),
     (("a", "b"), (Edge("a", "b"), Edge("b", "a")))],
)  # fmt: skip
def test_what_is_no_graph_is_refused(operators: tuple[str, ...], edges: tuple[Edge, ...]) -> None:
    with pytest.raises(SettingError, match="graph"):
        Graph(operators, edges)
