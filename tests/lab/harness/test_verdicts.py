"""What the ledger says of a claim."""

import json
from dataclasses import replace
from typing import Any

from headway_lab.harness.checkout import Checkout
from headway_lab.harness.claims import Claim
from headway_lab.harness.setting import Setting
from headway_lab.harness.verdicts import Figure, Finding, MissingFigure, judge, tally
from lab.harness.ledgers import record

NOWHERE = Checkout(None)
AT = ({"queries": 40, "rate": 200},)
CLAIM = Claim("T", "says", "-", "here", "ratio", (0.0, 0.5), baselines=("stock", "fair"), at=AT)
LOST = Claim("L", "", "-", "", "plain", (0.0, 0.0), field="wrong", unit="count", judged="pooled", at=AT)
SHARE = Claim("S", "", "-", "", "plain", (0.93, 1.0), field="hit", unit="share", judged="pooled", weight="tries", at=AT)


def found(claim: Claim, records: list[dict[str, Any]]) -> Finding:
    (finding,) = judge([claim], records, NOWHERE)
    return finding


def live(finding: Finding) -> Figure:
    part = finding.part("live")
    assert isinstance(part, Figure)
    return part


def trios(*mine: float, **more: Any) -> list[dict[str, Any]]:
    """The candidate and both baselines, one seed for each figure."""
    of = [(seed, p, ms) for seed, ms in enumerate(mine, 1) for p, ms in (("klink", ms), ("stock", 2_000), ("fair", 1_000))]
    return [record(p, ms, seed, **more) for seed, p, ms in of]


def test_three_seeds_within_the_bounds_are_reproduced() -> None:
    finding = found(CLAIM, trios(100, 300, 200))
    figure = live(finding)
    assert (figure.value, figure.low, figure.high, figure.n, figure.commit) == (0.2, 0.1, 0.3, 3, "abc1234")
    assert finding.verdict == "reproduced" and finding.because == ""
    assert finding.words() == [
        "live: 0.20 (0.10..0.30, 3 seeds), 200 ms against 1,000 ms of fair; abc1234, age unknown",
    ]


def test_fewer_seeds_are_measured_once_whatever_they_show() -> None:
    one, two = found(CLAIM, trios(100)), found(CLAIM, trios(100, 200))
    assert one.verdict == two.verdict == "measured once"
    assert two.because == "within its bounds at 2 seeds, 3 are needed"


def test_bad_news_counts_with_one_seed() -> None:
    finding = found(replace(CLAIM, reason="slow"), trios(900))
    assert (finding.verdict, finding.because) == ("not reproduced", "slow")


def test_what_a_claim_names_and_nobody_measured_makes_it_incomplete() -> None:
    finding = found(CLAIM, [r for r in trios(100, 100, 100) if r["policy"] != "fair"])
    assert finding.verdict == "incomplete"
    assert finding.because == "missing live: fair at queries 40, rate 200" and finding.words() == []


def test_settings_measured_at_different_commits_are_incomplete_together() -> None:
    claim = Claim("T", "", "", "", "plain", (0.0, 500.0), at=(*AT, {"queries": 10, "rate": 1000}))
    runs = [record("klink", 100, seed) for seed in (1, 2, 3)]
    runs += [record("klink", 100, seed, Setting(queries=10, rate=1000), commit="new") for seed in (1, 2, 3)]
    assert found(claim, runs).because == "missing live: klink at queries 40, rate 200"
    assert found(claim, [*runs, *(r | {"commit": "abc1234"} for r in runs)]).verdict == "reproduced"


def test_many_missing_settings_are_counted() -> None:
    gap = MissingFigure(("a", "b", "c", "d", "e"), nothing=False)
    assert str(gap) == "a; b; c and 2 more"


def test_without_any_record_of_it_a_claim_is_not_measured() -> None:
    other = record("klink", 1, setting=Setting(queries=7, rate=7))
    assert found(CLAIM, []).verdict == found(CLAIM, [other]).verdict == "not measured"
    assert found(Claim("N", "", "", "", "none", reason="later"), []).verdict == "not measured"


def test_runs_of_two_commits_are_never_compared_and_the_newest_whole_one_counts() -> None:
    finding = found(CLAIM, [*trios(100), *trios(400, commit="new"), record("klink", 1, commit="newer")])
    assert (live(finding).value, live(finding).commit) == (0.4, "new")


def test_a_loss_in_one_seed_of_many_breaks_a_guarantee() -> None:
    seeds = [record("klink", 1, seed, wrong=2 if seed == 4 else 0) for seed in range(1, 6)]
    finding = found(LOST, seeds)
    assert live(finding).value == 2 and finding.verdict == "not reproduced"
    assert finding.words()[0].startswith("live: 2 in all (0..2, 5 seeds)")
    assert found(replace(LOST, judged="median"), seeds).verdict == "reproduced"  # what a median would hide


def test_a_guarantee_that_is_broken_needs_no_complete_settings() -> None:
    claim = replace(LOST, at=(*AT, {"queries": 10, "rate": 1000}))
    whole = [record("klink", 1, seed, s) for seed in (1, 2, 3) for s in (None, Setting(queries=10, rate=1000))]
    assert found(claim, whole).verdict == "reproduced"
    newer = found(claim, [*whole, record("klink", 1, wrong=1, commit="new")])
    assert newer.verdict == "not reproduced" and live(newer).commit == "new"
    assert live(found(claim, [*whole, record("klink", 1, wrong=0, commit="new")])).commit == "abc1234"


def test_a_bound_is_judged_by_the_worst_seed() -> None:
    claim = Claim("B", "", "-", "", "plain", (0.0, 150.0), unit="ms", judged="worst", at=AT)
    finding = found(claim, [record("klink", ms, seed) for seed, ms in ((1, 100), (2, 110), (3, 160))])
    assert live(finding).value == 160 and finding.verdict == "not reproduced"
    assert finding.words()[0].startswith("live: 160 ms at worst (100 ms..160 ms, 3 seeds)")


def test_a_worst_seed_below_the_bounds_counts_as_well() -> None:
    claim = Claim("B", "", "-", "", "plain", (-1.0, 1.0), field="drift", judged="worst", at=AT)
    finding = found(claim, [record("klink", 1, seed, drift=d) for seed, d in ((1, 0.5), (2, -3.0), (3, 0.1))])
    assert live(finding).value == -3.0 and finding.verdict == "not reproduced"


def test_shares_are_pooled_by_their_trials() -> None:
    seeds = [record("klink", 1, 1, hit=1.0, tries=100), record("klink", 1, 2, hit=1.0, tries=100)]
    finding = found(SHARE, [*seeds, record("klink", 1, 3, hit=0.5, tries=800)])
    assert live(finding).value == 0.6 and finding.verdict == "not reproduced"


def environment(spark: str, broken: int = 0, python: str = "3.11", commit: str = "abc1234") -> dict[str, Any]:
    setting = {"environment": f"Spark {spark}.1, Python {python}", "spark": spark, "python": python}
    return record("all", 0, experiment="matrix", broken=broken, commit=commit) | {"setting": setting}


def test_where_nothing_is_random_environments_take_the_place_of_seeds() -> None:
    claim = replace(
        LOST,
        experiment="matrix",
        candidate="all",
        field="broken",
        over="environment",
        at=({"spark": "4.0"}, {"spark": "4.1"}),
    )
    two = [environment("4.0"), environment("4.1")]
    assert found(claim, two).verdict == "measured once"
    assert found(claim, two).because == "within its bounds at 2 environments, 3 are needed"
    three = [*two, environment("4.1", python="3.12")]
    assert found(claim, three).verdict == "reproduced"
    assert found(claim, three).words()[0].startswith("live: 0 in all (3 environments)")
    assert found(claim, [*three[1:], environment("4.1", python="3.13")]).because == "missing live: all at spark 4.0"
    bad = found(claim, [environment("4.0", broken=2, commit="new"), *three])
    assert bad.verdict == "reproduced" and live(bad).commit == "abc1234"  # of the newest commit, and that is the last line
    bad = found(claim, [*three, environment("4.0", broken=2, commit="new")])
    assert bad.verdict == "not reproduced" and live(bad).value == 2  # a guarantee that is broken needs no more
    again = found(claim, [environment("4.0", broken=2), *three])
    assert again.verdict == "reproduced"  # it was measured again, at the same commit


def test_coverage_shows_how_wide_the_interval_was() -> None:
    claim = replace(SHARE, width="width_ms")
    wide = found(claim, [record("klink", 1, seed, hit=1.0, width_ms=w) for seed, w in ((1, 400), (2, 500), (3, 600))])
    assert "interval 500 ms wide" in wide.words()[0] and wide.as_json()["live"]["width"] == 500
    relative = found(replace(claim, width="width"), [record("klink", 1, hit=1.0, width=0.081)])
    assert "interval 8.1% of the answer wide" in relative.words()[0]
    assert "how wide the interval was is not written down" in found(claim, [record("klink", 1, hit=1.0)]).words()[0]


def test_live_and_simulated_stay_apart_and_both_must_hold() -> None:
    claim, runs = replace(CLAIM, sim={}), trios(100, 100, 100)
    assert [kind for kind, _ in found(CLAIM, runs).parts] == ["live"]
    half = found(claim, runs)
    assert half.verdict == "incomplete" and half.because.startswith("missing simulated: fair, klink, stock at")
    both = found(claim, [*runs, *trios(900, 900, 900, kind="sim")])
    assert both.verdict == "not reproduced" and live(both).value == 0.1


def test_the_simulated_figure_may_have_bounds_of_its_own() -> None:
    claim = replace(CLAIM, sim={"bounds": (0.0, 1.0)})
    assert found(claim, [*trios(100, 100, 100), *trios(900, 900, 900, kind="sim")]).verdict == "reproduced"


def test_live_is_only_what_spark_took_part_in() -> None:
    """Older lines of these experiments say live."""
    gate = Claim("G", "", "-", "", "plain", (0.0, 500.0), experiment="gate-read", spark=False, at=AT)
    finding = found(gate, [record("klink", 100, seed, experiment="gate-read") for seed in (1, 2, 3)])
    assert finding.verdict == "reproduced" and finding.words()[0].startswith("without Spark: 100.00")
    told = finding.as_json()
    assert told["live"] is None and told["no_spark"]["value"] == 100
    covered = Claim("C", "", "-", "", "none", (0.0, 1.0), field="hit", sim={"metric": "plain", "experiment": "coverage"})
    finding = found(covered, [record("klink", 1, hit=0.9, experiment="coverage")])
    assert finding.words()[0].startswith("simulated: 0.90")


def test_what_a_simulator_was_fitted_to_is_shown_and_does_not_count() -> None:
    claim = replace(CLAIM, sim={"fitted": "this ratio"})
    agrees = found(claim, [*trios(900, 900, 900), *trios(100, 100, 100, kind="sim")])
    assert agrees.verdict == "not reproduced"
    assert "not counted: the simulator was fitted to this ratio" in agrees.words()[1]
    alone = found(replace(claim, metric="none", sim={"fitted": "it", "metric": "ratio"}), trios(100, 100, 100, kind="sim"))
    assert alone.verdict == "not measured"


def test_json_has_the_agreed_keys() -> None:
    findings = judge([CLAIM, Claim("N", "", "", "", "none")], trios(100, 100, 100), NOWHERE)
    first, second = json.loads(json.dumps([finding.as_json() for finding in findings]))
    keys = {"id", "says", "paper", "setting", "live", "no_spark", "sim", "verdict", "stale", "because"}
    assert first.keys() == second.keys() == keys
    assert first["live"] == {
        "value": 0.1, "low": 0.1, "high": 0.1, "n": 3, "commit": "abc1234", "within": True, "width": None,
        "commits_since": None, "stale": None,
    }  # fmt: skip
    assert first["sim"] is None and first["verdict"] == "reproduced" and first["stale"] is None
    assert second["live"] is None and second["verdict"] == "not measured"


def test_verdicts_are_counted() -> None:
    findings = [found(CLAIM, trios(100)), found(CLAIM, trios(100)), found(CLAIM, [])]
    assert tally(findings) == "2 measured once, 1 not measured"
