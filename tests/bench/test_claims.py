"""What the ledger says of a claim."""

import json

import pytest

from bench.ledgers import record
from headway.bench.claims import METRICS, Claim, Finding, figure, judge, load
from headway.bench.experiment import Setting

AT = ({"queries": 40, "rate": 200},)
CLAIM = Claim("T", "says", "-", "here", "ratio", (0.0, 0.5), baselines=("stock", "fair"), at=AT)


def test_a_ratio_is_taken_seed_by_seed_over_the_best_baseline() -> None:
    runs = [record(p, ms, seed) for seed, mine in ((1, 100), (2, 300), (3, 200)) for p, ms in _trio(mine)]
    found = figure(CLAIM, runs, "live")
    assert found is not None
    assert (found.value, found.low, found.high, found.n, found.commit) == (0.2, 0.1, 0.3, 3, "abc1234")
    assert found.detail == "200 ms against 1,000 ms of fair"


def _trio(mine: float) -> list[tuple[str, float]]:
    return [("klink", mine), ("stock", 2_000), ("fair", 1_000)]


def test_a_baseline_that_was_not_measured_leaves_the_claim_not_measured() -> None:
    assert figure(CLAIM, [record("klink", 100), record("stock", 2_000)], "live") is None


def test_runs_of_two_commits_or_of_two_settings_are_never_compared() -> None:
    stock, fair = record("stock", 2_000), record("fair", 1_000)
    assert figure(CLAIM, [record("klink", 100, commit="new"), stock, fair], "live") is None
    longer = Setting(queries=40, rate=200, seconds=60)
    assert figure(CLAIM, [record("klink", 100, setting=longer), stock, fair], "live") is None


def test_the_newest_commit_with_all_it_takes_counts() -> None:
    old = [record(p, ms) for p, ms in _trio(100)]
    new = [record(p, ms, commit="new") for p, ms in _trio(400)]
    found = figure(CLAIM, [*old, *new, record("klink", 1, commit="newer")], "live")
    assert found is not None and (found.value, found.commit) == (0.4, "new")


def test_live_and_simulated_stay_apart_and_both_must_hold() -> None:
    live = [record(p, ms) for p, ms in _trio(100)]
    sim = [record(p, ms, kind="sim") for p, ms in _trio(900)]
    (only_live,) = judge([CLAIM], live)
    assert only_live.sim is None and only_live.verdict == "reproduced"
    (both,) = judge([CLAIM], [*live, *sim])
    assert both.sim is not None and both.sim.value == 0.9 and both.verdict == "not reproduced"


def test_several_settings_count_with_the_worst_and_only_together() -> None:
    small = Setting(queries=10, rate=1000)
    claim = Claim("T", "", "", "", "ratio", baselines=("stock",), at=(*AT, {"queries": 10, "rate": 1000}))
    runs = [record("klink", 100), record("stock", 1_000)]
    assert figure(claim, runs, "live") is None
    runs += [record("klink", 700, setting=small), record("stock", 1_000, setting=small)]
    found = figure(claim, runs, "live")
    assert found is not None and found.value == 0.7


def test_slowdown_measures_by_the_batch_of_the_smallest_setting() -> None:
    claim = Claim("T", "", "", "", "slowdown", baselines=("stock",), at=AT)
    small = record("klink", 60, setting=Setting(queries=10, rate=1000), batch_ms=50.0)
    found = figure(claim, [small, record("klink", 100), record("stock", 1_000)], "live")
    assert found is not None and found.value == pytest.approx(0.1)
    assert found.detail == "2.0 x the 50 ms of a batch, against 20.0 x of stock"


def test_overhead_is_a_share_of_all_cores() -> None:
    found = figure(Claim("T", "", "", "", "decide-share", unit="share"), [record("klink", 1, decide_ms=60.0)], "live")
    assert found is not None and found.value == 60 / (2 * 30_000)


def test_trouble_adds_up_late_rows_and_wrong_counts_where_patience_covers_the_delay() -> None:
    claim = Claim("T", "", "", "", "trouble", unit="count")
    hasty = Setting(queries=40, rate=200, patience_ms=100)
    runs = [record("klink", 1, late_rows=2), record("stock", 1, wrong=1), record("fair", 1, setting=hasty, late_rows=99)]
    found = figure(claim, runs, "live")
    assert found is not None and found.value == 3


def test_the_claims_that_ship_are_whole() -> None:
    claims = load()
    ids = [claim.id for claim in claims]
    assert len(set(ids)) == len(ids) and {*(f"K{n}" for n in range(1, 10)), "H1", "H10"} <= set(ids)
    for claim in claims:
        simulated = (claim.sim or {}).get("metric", claim.metric)
        assert claim.metric in METRICS or (claim.metric == "none" and (claim.reason or simulated in METRICS))
        assert claim.says and claim.paper and claim.setting and len(claim.bounds) == 2


def test_json_has_the_agreed_keys() -> None:
    findings = judge([CLAIM, Claim("N", "", "", "", "none")], [record(p, ms) for p, ms in _trio(100)])
    first, second = json.loads(json.dumps([finding.as_json() for finding in findings]))
    assert first.keys() == {"id", "says", "paper", "setting", "live", "sim", "verdict"}
    assert first["live"] == {"value": 0.1, "low": 0.1, "high": 0.1, "n": 1, "commit": "abc1234"}
    assert first["sim"] is None and first["verdict"] == "reproduced"
    assert second["live"] is None and second["verdict"] == "not measured"


def test_a_figure_is_told_with_its_spread() -> None:
    (finding,) = judge([CLAIM], [record(p, ms, seed) for seed, mine in ((1, 100), (2, 300)) for p, ms in _trio(mine)])
    assert finding.words(finding.live).startswith("0.20 (0.10..0.30, 2 seeds, abc1234)")
    assert Finding(CLAIM, None, None).words(None) == "-"
