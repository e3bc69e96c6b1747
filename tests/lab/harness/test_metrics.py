"""Values out of the records of a commit and a seed, and what these lack."""

from headway_lab.harness.claims import Claim
from headway_lab.harness.metrics import METRICS, MetricValue, lacking
from headway_lab.harness.setting import Setting
from lab.harness.ledgers import record

AT = ({"queries": 40, "rate": 200},)
CLAIM = Claim("T", "says", "-", "here", "ratio", (0.0, 0.5), baselines=("stock", "fair"), at=AT)
BOTH = Claim("T", "", "", "", "ratio", baselines=("stock",), at=(*AT, {"queries": 10, "rate": 1000}))
SMALL = Setting(queries=10, rate=1000)


def test_a_ratio_is_taken_over_the_best_baseline() -> None:
    runs = [record("klink", 100), record("stock", 2_000), record("fair", 1_000)]
    assert METRICS["ratio"](CLAIM, runs) == MetricValue(0.1, "100 ms against 1,000 ms of fair")
    assert lacking(CLAIM, runs) == []


def test_a_baseline_that_was_not_measured_is_missing() -> None:
    runs = [record("klink", 100), record("stock", 2_000)]
    assert METRICS["ratio"](CLAIM, runs) is None
    assert lacking(CLAIM, runs) == ["fair at queries 40, rate 200"]


def test_runs_of_two_settings_are_never_compared() -> None:
    longer = Setting(queries=40, rate=200, seconds=60)
    runs = [record("klink", 100, setting=longer), record("stock", 2_000), record("fair", 1_000)]
    assert METRICS["ratio"](CLAIM, runs) is None
    assert lacking(CLAIM, runs) == ["klink at queries 40, rate 200"]


def test_the_worst_setting_counts_and_each_must_be_there() -> None:
    runs = [record("klink", 100), record("stock", 1_000)]
    assert lacking(BOTH, runs) == ["klink, stock at queries 10, rate 1000"]
    runs += [record("klink", 700, setting=SMALL), record("stock", 1_000, setting=SMALL)]
    found = METRICS["ratio"](BOTH, runs)
    assert lacking(BOTH, runs) == [] and found is not None and found.value == 0.7


def test_a_plain_figure_lacks_the_settings_that_were_not_measured() -> None:
    claim = Claim("T", "", "", "", "plain", at=BOTH.at)
    assert METRICS["plain"](claim, [record("klink", 100)]) == MetricValue(100.0)
    assert lacking(claim, [record("klink", 100)]) == ["klink at queries 10, rate 1000"]


def test_a_plain_share_brings_its_trials_and_the_width_of_its_interval() -> None:
    claim = Claim("T", "", "", "", "plain", field="hit", weight="windows", width="width_ms")
    assert METRICS["plain"](claim, [record("klink", 1, hit=0.9, width_ms=40.0)]) == MetricValue(0.9, "", 400.0, 40.0)
    assert METRICS["plain"](claim, [record("klink", 1, hit=0.9)]) == MetricValue(0.9, "", 400.0, None)


def test_overhead_is_a_share_of_all_cores_at_every_setting_that_is_named() -> None:
    claim = Claim("T", "", "", "", "decide-share", unit="share", at=BOTH.at)
    runs = [record("klink", 1, decide_ms=60.0)]
    found = METRICS["decide-share"](claim, runs)
    assert found is not None and found.value == 60 / (2 * 30_000)
    assert lacking(claim, runs) == ["klink at queries 10, rate 1000"]


def test_trouble_adds_up_late_rows_and_wrong_counts_where_patience_covers_the_delay() -> None:
    claim = Claim("T", "", "", "", "trouble", unit="count")
    hasty = Setting(queries=40, rate=200, patience_ms=100)
    runs = [record("klink", 1, late_rows=2), record("stock", 1, wrong=1), record("fair", 1, setting=hasty, late_rows=99)]
    found = METRICS["trouble"](claim, runs)
    assert found is not None and found.value == 3
