"""Queries that differ in size."""

import random
from statistics import fmean, stdev

import pytest

from headway_lab.workloads.sizes import size


def test_all_are_alike_unless_told() -> None:
    assert size(0.0, random.Random(1)) == 1.0


@pytest.mark.parametrize("unequal", [0.3, 1.0])
def test_sizes_have_the_mean_and_the_spread_that_were_asked_for(unequal: float) -> None:
    chance = random.Random(2)
    drawn = [size(unequal, chance) for _ in range(100_000)]
    assert fmean(drawn) == pytest.approx(1, rel=0.02)
    assert stdev(drawn) == pytest.approx(unequal, rel=0.1)
