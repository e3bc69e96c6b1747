"""The grid of loads: who is compared with whom, and what is drawn."""

from typing import Any

import pytest

from headway.errors import SettingError
from headway_lab.experiments.grid import cells as grid
from headway_lab.experiments.grid.command import _point
from headway_lab.harness import claims
from headway_lab.harness.setting import Setting
from headway_lab.harness.suite import GATELESS
from lab.harness.ledgers import record


def at(policy: str, queries: int, rate: int, seed: int, mean_ms: float) -> dict[str, Any]:
    return record(policy, mean_ms, seed, Setting(queries, rate))


def test_the_claim_has_every_point_and_every_rival() -> None:
    (claim,) = [c for c in claims.load() if c.id == "X5"]
    assert [(load["queries"], load["rate"]) for load in claim.at] == list(grid.POINTS)
    assert claim.baselines == GATELESS


def test_klink_is_compared_with_the_best_rival_of_the_same_seed() -> None:
    of = [
        ("klink", 1, 50.0),
        ("stock", 1, 200.0),
        ("fair", 1, 100.0),
        ("klink", 2, 90.0),
        ("stock", 2, 60.0),
        ("fair", 2, 120.0),
    ]
    records = [at(policy, 2, 1_000, seed, mean) for policy, seed, mean in of]
    (cell,) = grid.cells([*records, at("klink", 8, 1_000, 1, 5.0)])
    assert (cell.queries, cell.rate, cell.best) == (2, 1_000, "fair")
    assert (cell.ratio.low, cell.ratio.high) == (0.5, 1.5)


def test_every_load_is_a_cell_of_the_map() -> None:
    records = [
        at(policy, queries, rate, 1, mean)
        for queries, rate in grid.POINTS
        for policy, mean in (("klink", 40.0), ("stock", 80.0))
    ]
    (map_,) = grid.figure(grid.cells(records)).data
    shown = [text for row in map_.text for text in row if text]
    assert len(shown) == len(grid.POINTS) and set(shown) == {"0.50<br>40 : 80 ms<br>stock"}


@pytest.mark.parametrize("text", ["", "3", "3y4", "0x5", "5x0", "ax1", "2x-3"])
def test_a_load_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(SettingError, match="points"):
        _point(text)
