"""`headway sim fleet`: the paper's experiments on prediction rings, small."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from headway.cli.app import app
from headway.errors import SettingError
from headway.policy.placement import NearIdeal
from headway_lab.experiments.fleet import cases, command, figures, run
from headway_lab.experiments.fleet.cases import BEGINS_MIN, FleetCase
from headway_lab.harness.claims import load as claims

SMALL = FleetCase(minutes=16, nodes=3, computations=90)


def test_the_paper_s_numbers_of_computations_are_active_before_and_after() -> None:
    for case, before, after in ((FleetCase(), 450, 1_050), (FleetCase(scenario="external"), 1_050, 1_050)):
        load = cases.load(case, seed=1)
        assert len(load) == 2_250
        assert [int((load.active_ms <= at * 60_000).sum()) for at in (BEGINS_MIN - 1, BEGINS_MIN)] == [before, after]
    crowded = np.bincount(cases.at_first(FleetCase())[cases.active_from(FleetCase()) < np.inf])
    assert crowded.tolist() == [150] * 5 + [30] * 10


def test_an_even_placement_fills_the_links_to_19_20ths_and_4_5ths_beside_others() -> None:
    for case, share in ((FleetCase(), 0.95), (FleetCase(scenario="external"), 0.8)):
        load = cases.load(case, seed=1)
        wire = (load.rates(BEGINS_MIN * 60_000.0) * load.wire_bytes).sum() / (case.nodes * cases.LINK)
        assert wire == pytest.approx(share, rel=0.02)
    assert (
        cases.machines(FleetCase(scenario="external")).foreign(BEGINS_MIN * 60_000.0)[0].tolist() == [12.0] * 5 + [0.0] * 10
    )
    assert not cases.machines(FleetCase(scenario="external"), disturbed=False).external


def test_the_program_places_them_evenly_from_the_beginning() -> None:
    placed = run.planned(SMALL, NearIdeal(), seed=1)
    load = cases.load(SMALL, 1)
    wire = np.bincount(placed, weights=load.rates(BEGINS_MIN * 60_000.0) * load.wire_bytes)
    assert wire.max() / wire.mean() < 1.05 and wire.max() < cases.LINK


@pytest.mark.slow
def test_prediction_rings_win_throughput_back_and_lose_no_message() -> None:
    arms = ("never-move", "near-ideal", "prediction-rings")
    never, ideal, rings = (run.simulate(replace(SMALL, minutes=25), arm, 1) for arm in arms)
    assert never["throughput"] < 0.8 * ideal["throughput"] and ideal["throughput"] > 0.98 * ideal["wanted"]
    assert run.recovered(rings["throughput"], never["throughput"], ideal["throughput"]) > 0.7
    assert rings["moves"] > 5 > never["moves"] == ideal["moves"] == 0 and rings["p99_ms"] < never["p99_ms"]
    assert rings["load_sd_end"] < never["load_sd_end"]


def test_the_best_placement_beside_others_leaves_some_on_every_node_and_moves_nothing_else() -> None:
    case = replace(SMALL, scenario="external", nodes=3, computations=60)
    places, first = run.beside(case, seed=1), cases.at_first(case)
    active = cases.active_from(case) <= 0
    counts = np.bincount(places[active], minlength=3)
    assert 0 < counts[0] < counts[1:].min() and abs(counts[1] - counts[2]) <= 1
    assert (places[~active] == first[~active]).all() and (places[first > 0] == first[first > 0]).all()


def test_one_thing_is_changed_at_a_time() -> None:
    ways = {name: run.ARMS[name]().policy for name in ("rings-published", *run.ABLATIONS, "prediction-rings")}
    changed = {
        name: {field for field in ("others", "others_in", "steepest") if getattr(way, field) != getattr(ways[other], field)}
        for name, way, other in (
            ("published-steep", ways["published-steep"], "rings-published"),
            ("multiplied-all-rings", ways["multiplied-all-rings"], "rings-published"),
            ("added-innermost", ways["added-innermost"], "rings-published"),
            ("prediction-rings", ways["prediction-rings"], "added-innermost"),
            ("added-steep", ways["added-steep"], "prediction-rings"),
        )
    }
    assert [len(fields) for fields in changed.values()] == [1] * 5


@pytest.mark.slow
def test_runs_are_kept_drawn_and_not_made_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("variable", "external"):
        monkeypatch.setitem(command.CASES, name, replace(command.CASES[name], nodes=3, computations=30))
    ledger, page = tmp_path / "ledger.jsonl", tmp_path / "fleet.html"
    some = "--scenarios variable,external --arms never-move,near-ideal,prediction-rings --minutes 16 --seeds 1 --jobs 1"
    line = f"sim fleet {some} --out {page} --pictures-to {tmp_path} --ledger {ledger}"
    shown = CliRunner().invoke(app, line.split())
    assert shown.exit_code == 0, shown.output
    records = [json.loads(row) for row in ledger.read_text().splitlines()]
    assert len(records) == 6 and {r["kind"] for r in records} == {"sim"}
    assert any("recovered" in r for r in records if r["policy"] == "prediction-rings")
    assert "prediction-rings" in shown.output and "<html" in page.read_text()
    assert {path.name for path in tmp_path.glob("*.png")} == {"fleet-throughput.png", "fleet-moves.png"}
    again = CliRunner().invoke(app, line.split())
    assert again.exit_code == 0 and len(ledger.read_text().splitlines()) == len(records)


def test_figures_are_drawn_of_what_there_is() -> None:
    setting = cases.setting(FleetCase(rates="variable"))
    series = {f"{name}_series": [1.0] * 16 for name in ("throughput", "p99_ms", "sd_ms", "load_sd", "moves")}
    records = [
        {"policy": arm, "seed": 1, "setting": setting, "throughput": 2.0, "p99_ms": 1.0, "sd_ms": 1.0, "moves": 3, **series}
        for arm in run.ARMS
    ]
    rings = next(r for r in records if r["policy"] == "prediction-rings")
    rings["threshold_series"] = [[6.0, 0.05], [9.0, 0.1]]
    headings = [heading for heading, _, _ in figures.fleet(records)]
    assert any("Fig. 7" in h for h in headings) and any("Fig. 12" in h for h in headings) and figures.fleet([]) == []


def test_the_claims_name_arms_and_settings_that_are_measured() -> None:
    mine = [c for c in claims() if c.sim and c.sim.get("experiment") == run.EXPERIMENT]
    assert len(mine) >= 15
    asked = [cases.setting(case) for case in command.CASES.values()]
    for claim in mine:
        assert {claim.candidate, *claim.baselines} <= run.ARMS.keys()
        assert claim.sim is not None
        for at in claim.sim["at"]:
            assert any(at.items() <= setting.items() for setting in asked), (claim.id, at)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--scenarios snow", "variable, fixed, external"),
        ("--arms snow", "never-move"),
        ("--minutes 5", "minutes"),
        ("--seeds 0", "seeds"),
        ("--crowding -1", "crowding"),
    ],
)
def test_a_wrong_option_is_told_in_one_line(line: str, says: str, tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["sim", "fleet", *line.split(), "--out", str(tmp_path / "x.html")])
    assert shown.exit_code != 0 and isinstance(shown.exception, SettingError) and says in str(shown.exception)
