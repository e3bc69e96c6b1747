"""What happens to the fleet: which queries are where, which of them wake up, and which node is disturbed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Scenario = Literal["internal", "external"]
HOG_CORES = 3.0  # that the program beside a node wants; its group leaves it less than one
SHARE_HEAVY = 0.5  # of the queries


@dataclass(frozen=True, slots=True)
class LiveScene:
    """Where the queries are at the beginning, and what disturbs them from the moment that counts on."""

    places: dict[str, str]
    heavy: tuple[str, ...]
    awake: bool = False  # they are heavy from the beginning
    hog: str | None = None  # the node that is disturbed


def scene(scenario: Scenario, ideal: bool, queries: Sequence[str], nodes: Sequence[str]) -> LiveScene:
    """The first of the nodes is the one with the trouble.

    Internal: half of the queries are on it, all asleep, and wake up; the others have the light ones. Near-ideal is the same
    load evenly from the beginning. External: the load is even, and a program begins to eat on the first node; near-ideal is
    the same without it. (Sections 5.4 and 5.5 of the paper.)
    """
    heavy = tuple(queries[: round(SHARE_HEAVY * len(queries))])
    if scenario == "external" or ideal:
        hog = nodes[0] if scenario == "external" and not ideal else None
        return LiveScene(_evenly(heavy, queries, nodes), heavy, scenario == "external", hog)
    return LiveScene(_crowded(heavy, queries, nodes), heavy)


def _evenly(heavy: Sequence[str], queries: Sequence[str], nodes: Sequence[str]) -> dict[str, str]:
    light = [query for query in queries if query not in heavy]
    return {query: nodes[row % len(nodes)] for group in (heavy, light) for row, query in enumerate(group)}


def _crowded(heavy: Sequence[str], queries: Sequence[str], nodes: Sequence[str]) -> dict[str, str]:
    light = [query for query in queries if query not in heavy]
    others = nodes[1:] or nodes
    return dict.fromkeys(heavy, nodes[0]) | {query: others[row % len(others)] for row, query in enumerate(light)}
