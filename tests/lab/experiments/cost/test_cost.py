"""The table of what a batch costs: medians over seeds, parts that add up, nothing that is not there."""

from typing import Any

from headway_lab.experiments.cost.run import EXPERIMENT, MEANING, PHASES, figure, table
from headway_lab.harness.meter import PARTS


def record(policy: str, seed: int, **parts: float) -> dict[str, Any]:
    return {"experiment": EXPERIMENT, "policy": policy, "seed": seed, "cpu_parts": parts, "wall_parts": parts}


RECORDS = [
    record("klink", 1, planning=40.0, tasks=20.0),
    record("stock", 1, planning=100.0, tasks=50.0, jit=30.0),
    record("klink", 2, planning=44.0, tasks=22.0),
    record("klink", 3, planning=90.0, tasks=21.0),
]


def test_a_part_is_the_median_of_the_seeds_and_stock_comes_first() -> None:
    rows = dict(table(RECORDS, "cpu_parts"))
    assert list(rows) == ["planning", "tasks", "jit", "all"]
    assert rows["planning"] == {"stock": 100.0, "klink": 44.0}
    assert list(rows["jit"].items()) == [("stock", 30.0), ("klink", 0.0)]
    assert rows["all"] == {"stock": 180.0, "klink": 66.0}


def test_every_part_is_explained() -> None:
    assert set(MEANING["cpu_parts"]) == set(PARTS)
    assert set(MEANING["wall_parts"]) == set(PHASES)


def test_the_plot_stacks_all_parts_of_each_policy() -> None:
    drawn = figure(RECORDS, "cpu_parts")
    assert [bar.name for bar in drawn.data] == ["planning", "tasks", "jit"]
    assert all(list(bar.x) == ["stock", "klink"] for bar in drawn.data)
