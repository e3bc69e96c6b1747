"""The claims that ship."""

import pytest

from headway_lab.harness import checkout
from headway_lab.harness.claims import Claim, groups, load
from headway_lab.harness.metrics import METRICS
from headway_lab.harness.verdicts import kinds

CLAIMS = load()


def test_they_are_whole() -> None:
    ids = [claim.id for claim in CLAIMS]
    assert len(set(ids)) == len(ids) and {*(f"K{n}" for n in range(1, 9)), "H1", "H10"} <= set(ids)
    for claim in CLAIMS:
        simulated = (claim.sim or {}).get("metric", claim.metric)
        assert claim.metric in METRICS or (claim.metric == "none" and (claim.reason or simulated in METRICS))
        assert claim.says and claim.paper and claim.setting and len(claim.bounds) == 2


def test_what_is_the_same_by_algebra_is_claimed_once() -> None:
    ids = {claim.id for claim in CLAIMS}
    assert not ids & {"K9", "S2b", "H9", "L1"} and ids >= {"K1", "S2", "K8", "K4"}
    by_id = {claim.id: claim for claim in CLAIMS}
    assert "slowdown" in by_id["K1"].says and "comparisons" in by_id["S2"].says
    assert by_id["K4"].bounds == (0.0, 0.5) and by_id["K4"].sim is not None and by_id["K4"].sim["bounds"] == (0.0, 0.55)


def test_response_ratio_has_the_letter_q() -> None:
    assert [c.id for c in CLAIMS if c.candidate == "response-ratio"] == ["Q1", "Q2", "Q3"]
    assert not any(c.id.startswith("R") and c.candidate == "response-ratio" for c in CLAIMS)


def test_each_names_the_code_that_its_figures_depend_on() -> None:
    for claim in CLAIMS:
        if "live" in kinds(claim) or "no-spark" in kinds(claim):
            assert claim.paths, claim.id
        if "sim" in kinds(claim):
            assert claim.sim is not None and claim.sim["paths"], claim.id
        assert {*claim.paths, *(claim.sim or {}).get("paths", ())} <= groups().keys(), claim.id


@pytest.mark.skipif(checkout.own().root is None, reason="needs the repository")
def test_the_code_that_they_name_is_there() -> None:
    tree = checkout.own()
    assert [glob for globs in groups().values() for glob in globs if not tree.files(glob)] == []


def test_groups_are_written_out_and_globs_stay() -> None:
    claim = Claim("T", "", "", "", "plain", paths=("gates", "gates", "tools/*.py"))
    assert claim.globs == ("src/headway/merge/**", "tools/*.py")


def test_coverage_is_claimed_with_a_width_and_of_all_seeds_together() -> None:
    of_coverage = [claim for claim in CLAIMS if claim.field in ("hit", "covered")]
    assert of_coverage and [c.id for c in of_coverage if not c.width or c.judged != "pooled"] == []


def test_nothing_lost_and_nothing_wrong_is_never_a_median() -> None:
    of_nothing = [c for c in CLAIMS if c.metric == "trouble" or (c.unit == "count" and c.bounds == (0.0, 0.0))]
    assert of_nothing and [claim.id for claim in of_nothing if not claim.guarantee] == []
