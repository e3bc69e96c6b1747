"""Who is measured when: interleaved, turned by seed, and not twice."""

from dataclasses import asdict

import pytest

from headway.errors import SettingError
from headway_lab.harness.ledger import key
from headway_lab.harness.setting import Setting
from headway_lab.harness.suite import Pace, Spread, base_setting, by_setting, plan, ratio_to_best, settings, summary
from lab.harness.ledgers import record

CASE = Setting(queries=3)


def test_gated_policies_share_a_segment_and_gateless_ones_stand_alone() -> None:
    segments = plan(["klink", "stock", "round-robin", "fair"], [CASE], [1])
    assert [s.policies for s in segments] == [("klink", "round-robin"), ("stock",), ("fair",)]


def test_the_order_turns_with_the_seed() -> None:
    segments = plan(["klink", "stock", "round-robin"], [CASE], [1, 2])
    assert [(s.seed, s.policies) for s in segments] == [
        (1, ("klink", "round-robin")), (1, ("stock",)), (2, ("stock",)), (2, ("round-robin", "klink")),
    ]  # fmt: skip


def test_what_this_commit_has_measured_is_passed_over() -> None:
    done = {key("klink", p, asdict(CASE), 1, "abc") for p in ("klink", "stock")}
    assert [s.policies for s in plan(["klink", "stock", "round-robin"], [CASE], [1], done, "abc")] == [("round-robin",)]
    assert len(plan(["klink", "stock"], [CASE], [1], done, "other")) == 2


def test_one_rate_holds_for_all_or_each_count_has_its_own() -> None:
    base = base_setting("uniform:0:500", None, 30, 10)
    assert base.patience_ms == 500
    assert [(s.queries, s.rate) for s in settings([10, 20], [1000, 200], base)] == [(10, 1000), (20, 200)]
    assert [(s.queries, s.rate) for s in settings([10, 20], [200], base)] == [(10, 200), (20, 200)]
    with pytest.raises(SettingError, match="one for each of the 3"):
        settings([10, 20, 40], [1, 2], base)


def test_the_time_left_learns_from_finished_steps() -> None:
    pace = Pace([10, 10, 20])
    assert pace.left(4) == 36
    pace.step(20)  # twice as long as thought
    assert (pace.left(0), pace.left(15), pace.left(99), pace.total) == (60, 45, 40, 80)


def test_klink_is_compared_seed_by_seed_with_the_best_of_sparks_own_ways() -> None:
    runs = [record("klink", 100, 1), record("stock", 2_000, 1), record("fair", 1_000, 1), record("round-robin", 1, 1)]
    runs += [record("klink", 300, 2), record("stock", 1_000, 2)]
    (by_policy,) = by_setting(runs).values()
    found = ratio_to_best(by_policy, "mean_ms")
    assert found is not None and found.middle == pytest.approx(0.2)
    assert found == Spread(found.middle, 0.1, 0.3, 2)


def test_a_summary_spreads_latencies_and_adds_up_counts() -> None:
    s = summary("klink", [record("klink", 100, 1), record("klink", 300, 2)])
    assert s.latency["mean_ms"] == Spread(200, 100, 300, 2)
    assert (s.windows, s.batches, s.rows_per_s, s.cores) == (800, 1_000, 8_000, 1.0)
