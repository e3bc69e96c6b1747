"""A round of placement does as little as it can: what it costs in seconds is measured by `headway sim rings`."""

from collections.abc import Callable
from typing import Any

import pytest

from headway.estimate.interference import Interference
from headway.policy.placement import NeverMove, PredictionRings
from headway_lab.experiments.rings.rounds import hosts, measure


@pytest.mark.parametrize(("computations", "nodes"), [(200, 10), (600, 30)])
@pytest.mark.parametrize(("others", "parts"), [("multiplied", 1), ("added", 2)])
def test_nodes_score_once_each_and_the_orchestrator_once_for_all(
    computations: int, nodes: int, others: Any, parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a round of many requests is a product of matrices, and not a loop over them. Each resource has its score."""
    asked: list[tuple[str, int]] = []
    each, all_ = Interference.each, Interference.all

    def counted(name: str, score: Callable[..., Any]) -> Callable[..., Any]:
        def ask(*args: Any) -> Any:
            asked.append((name, len(args[3])))
            return score(*args)

        return ask

    monkeypatch.setattr(Interference, "each", counted("each", each))
    monkeypatch.setattr(Interference, "all", counted("all", all_))
    found = measure(PredictionRings(threshold=0.0, others=others), computations, nodes, seed=1)
    share = computations // nodes
    warm_up = 2
    assert asked.count(("each", share)) == parts * (nodes + warm_up)
    assert [size for name, size in asked if name == "all"] == [warm_up] * parts + [nodes] * parts
    assert found["requests"] == found["answers"] == nodes and 0 < found["moves"] <= nodes // 2


def test_a_third_of_the_nodes_is_loaded_at_first() -> None:
    loads = [host.node.load for host in hosts(300, 9, seed=2)]
    assert min(loads[0::3]) > 1.5 * max(loads[1::3] + loads[2::3])


def test_nobody_asks_where_nothing_ever_moves() -> None:
    found = measure(NeverMove(), 30, 3, seed=1)
    assert (found["requests"], found["moves"]) == (0, 0)
