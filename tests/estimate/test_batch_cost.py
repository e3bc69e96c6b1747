from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.estimate.costs import BatchCost


def test_before_the_first_batch_the_fixed_part_is_unknown() -> None:
    assert BatchCost().fixed_ms is None and BatchCost().per_row_ms == BatchCost().prior_per_row_ms


@pytest.mark.parametrize(("fixed", "per_row"), [(300, 0.01), (80, 0.2), (1_500, 0.001)])
def test_both_parts_are_recovered_from_noisy_batches(fixed: float, per_row: float) -> None:
    rng = np.random.default_rng(3)
    cost = BatchCost(keep=0.98)
    for rows in rng.uniform(0, 30_000, 400):
        cost = cost.add(rows, (fixed + per_row * rows) * rng.uniform(0.9, 1.1))
    assert cost.fixed_ms is not None
    for rows in (5_000, 15_000, 30_000):
        assert cost.fixed_ms + cost.per_row_ms * rows == pytest.approx(fixed + per_row * rows, rel=0.1)


def test_with_the_same_rows_every_time_the_sum_is_right_and_the_slope_the_prior() -> None:
    cost = BatchCost()
    for _ in range(50):
        cost = cost.add(3_000, 400)
    assert cost.per_row_ms == pytest.approx(cost.prior_per_row_ms)
    assert cost.fixed_ms is not None and cost.fixed_ms + 3_000 * cost.per_row_ms == pytest.approx(400)


def test_batches_without_rows_are_all_fixed_part() -> None:
    cost = BatchCost().add(0, 120).add(0, 120)
    assert cost.fixed_ms == pytest.approx(120)


def test_what_is_cheaper_with_more_rows_is_noise() -> None:
    cost = BatchCost(prior_rows=0.001)
    for rows in (1_000, 50_000, 1_000, 50_000):
        cost = cost.add(rows, 500 if rows == 1_000 else 100)
    assert cost.per_row_ms == 0 and cost.fixed_ms is not None and 100 <= cost.fixed_ms <= 500


def test_old_batches_fade_when_the_jit_has_warmed_up() -> None:
    cost = BatchCost()
    for took in [2_000] * 20 + [200] * 40:
        cost = cost.add(1_000, took)
    assert cost.fixed_ms is not None and cost.fixed_ms + cost.per_row_ms * 1_000 == pytest.approx(200, rel=0.2)


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**5)), min_size=1, max_size=40))
def test_no_cost_is_ever_negative(batches: list[tuple[int, int]]) -> None:
    costs = list(accumulate(batches, lambda cost, batch: cost.add(*batch), initial=BatchCost()))[1:]
    assert min(cost.per_row_ms for cost in costs) >= 0
    assert min(-1.0 if cost.fixed_ms is None else cost.fixed_ms for cost in costs) > 0
