"""The paper's experiments on slack thresholds, in short."""

import tomllib
from dataclasses import replace
from importlib.resources import files

import pytest

from headway.model.slack import Report
from headway_lab.experiments.slack import figures as slack_figures
from headway_lab.experiments.slack import paper
from headway_lab.harness.metrics import METRICS

SHORT = replace(paper.SCENARIOS["periodic"], seconds=120)


def test_the_tuner_keeps_the_deadline_that_patient_rivals_break_and_is_calmer_than_hasty_ones() -> None:
    found = {name: paper.simulate(SHORT, name, 5) for name in ("static-low", "static-high", "max-timestamp", "sltuner")}
    assert found["sltuner"]["beyond_deadline"] == 0
    assert found["static-high"]["beyond_deadline"] > 1000 and found["max-timestamp"]["beyond_deadline"] > 1000
    assert found["sltuner"]["slack_ready"] < 0.6 * found["static-low"]["slack_ready"]
    assert found["sltuner"]["events"] > 1.05 * found["static-low"]["events"]
    assert found["static-high"]["slack_ready_met"] == found["static-high"]["tuples"]


def test_runs_are_told_and_drawn() -> None:
    records = []
    for name, scenario in paper.SCENARIOS.items():
        short = replace(scenario, seconds=10)
        for who in paper.policies(short):
            if who != "sltuner":
                found = paper.simulate(short, who, 1)
                records.append({"policy": who, "seed": 1, "setting": paper.setting(name), **found})
    drawn = slack_figures.slack(records)
    assert len(drawn) == 12 and "Fig. 12" in drawn[0][0] and "Fig. 13" in drawn[4][0]
    assert {trace.name for trace in drawn[0][2].data} == set(paper.policies(SHORT)) - {"sltuner"}
    assert slack_figures.slack([]) == []


def test_more_seeds_keep_numbers_only() -> None:
    short = replace(SHORT, seconds=5)
    assert "slt_series" in paper.simulate(short, "tcp", 1) and "slt_series" not in paper.simulate(short, "tcp", 2)


def test_models_are_judged_by_later_time_than_they_have_learnt_from() -> None:
    told = [Report("join", float(at), slt, 0.0, 0) for slt in (500.0, 1_000.0) for at in (3, 1, 4, 1, 5, 9, 2, 6)]
    by_time, learnt = paper.earlier_first(told)
    assert sorted(map(repr, by_time)) == sorted(map(repr, told))
    assert 0 < learnt <= len(told) // 2
    assert max(r.at_s for r in by_time[:learnt]) < min(r.at_s for r in by_time[learnt:])
    assert paper.setting("models")["judged_by"] == "later"  # results of the split by chance are not taken for these


@pytest.mark.slow
def test_models_are_judged_by_what_they_have_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paper, "SAMPLES", 300)
    found = {kind: paper.judge_model(kind, 1) for kind in ("gp", "linear")}
    assert 140 <= found["gp"]["trained_on"] <= 150 and all(0 < f["latency_nrmse"] < 1 for f in found.values())
    records = [{"policy": k, "seed": 1, "setting": paper.setting("models"), **f} for k, f in found.items()]
    assert [heading for heading, _, _ in slack_figures.slack(records)] == ["What the models miss (Table 1)"]


def test_every_claim_names_what_the_experiments_write_down() -> None:
    book = tomllib.loads((files("headway_lab.experiments.slack") / "claims.toml").read_text("utf-8"))["claim"]
    assert {c["id"] for c in book} >= {"S3", "S4", "S5"} and len({c["id"] for c in book}) == len(book)
    short = replace(SHORT, seconds=5)
    fields = {*paper.simulate(short, "tcp", 2), "latency_nrmse", "slack_ready_nrmse", "train_s"}
    names = {(name, who) for name, who, _ in paper.tasks([*paper.SCENARIOS, "models"], 1)}
    for claim in (c for c in book if "sim" in c):  # others are measured live
        assert claim["field"] in fields and claim["sim"]["metric"] in METRICS
        for at in claim["at"]:
            assert {(at["scenario"], who) for who in (claim["candidate"], *claim.get("baselines", ()))} <= names
