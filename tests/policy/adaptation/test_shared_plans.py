"""Sharing the stages that queries have in common, where it pays."""

from dataclasses import replace

from headway.model.geo import GeoPlan
from headway.policy.adaptation.sharing import SharedCosts, shared_costs
from headway.policy.adaptation.stage_program import Limits
from headway.wan.plan import merged
from model.areas import MB, area, chain

SENT = {"a": 4_000.0, "b": 4_000.0}


def two() -> tuple[GeoPlan, GeoPlan]:
    """The same windows, read by two sinks."""
    return chain(), replace(chain(), name="again")


def test_one_stage_for_both_takes_half_the_bytes_and_fewer_tasks() -> None:
    plans = two()
    found = shared_costs(area((4, 4, 4), 4 * MB), plans, merged("both", plans), SENT, Limits())
    assert found is not None and found.pays
    assert found.bytes_per_s[1] < found.bytes_per_s[0] and found.tasks == (4, 3) and found.usd_h[1] < found.usd_h[0]


def test_what_spares_no_byte_or_makes_results_late_does_not_pay() -> None:
    assert not SharedCosts((5.0, 5.0), (1.0, 1.0), (4, 3), (10.0, 10.0)).pays
    assert not SharedCosts((5.0, 4.0), (1.0, 0.8), (4, 3), (10.0, 12.0)).pays


def test_where_one_of_both_fits_nowhere_there_is_nothing_to_compare() -> None:
    plans = two()
    assert shared_costs(area((1, 1, 0), 4 * MB), plans, merged("both", plans), SENT, Limits()) is None
